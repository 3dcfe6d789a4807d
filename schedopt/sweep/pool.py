"""Compute the tasks of a sweep: in this process, in others beside it, or on a Dask cluster."""

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from schedopt import __version__
from schedopt.instances.errors import InputError, expect, quote
from schedopt.instances.extras import require
from schedopt.instances.options import most_at_once
from schedopt.policies.from_file import load_only
from schedopt.solvers.stopping import leave_signals_to_parent, signals_blocked
from schedopt.sweep.measure import Outcome, Task, compute, one_line

MOST_STARTS = 3  # times that a process may die of one task before the task is given up
STARTS = 2  # times that a process is begun that dies before it is ready
READING = 60.0  # seconds more for reading an instance, and for loading and compiling what it needs
GRACE = 60.0  # seconds beyond its time limit before a run that hangs is killed
BATCH_SECONDS = 0.5  # tasks that take less are sent several at a time
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # where there is no other it ends one as well

PATIENCE = 30.0  # seconds to wait for a cluster's scheduler, and for its first worker
LOST = (OSError, TimeoutError, CancelledError, futures.CancelledError)
"""Errors raised where a cluster's scheduler is gone."""

_THREAD = threading.local()
_STARTING = threading.Lock()


def compute_tasks(
    tasks: Sequence[Task], jobs: int, cluster: str | None = None
) -> Generator[tuple[Task, Outcome]]:
    """Compute tasks, and yield each with its outcome as it arrives."""
    if not tasks:
        return
    if cluster is not None:
        yield from _on_cluster(tasks, cluster)
    elif jobs == 1:
        yield from ((task, compute(task)) for task in tasks)
    else:
        yield from _beside(tasks, jobs)


def _beside(tasks: Sequence[Task], jobs: int) -> Generator[tuple[Task, Outcome]]:
    """Compute tasks in local processes, each of which a thread attends to."""
    staff = [Worker() for _ in range(min(jobs, len(tasks)))]
    idle = deque(staff)
    threads = futures.ThreadPoolExecutor(
        len(staff), initializer=lambda: setattr(_THREAD, "worker", idle.pop())
    )
    try:
        yield from _in_batches(lambda batch: threads.submit(work, batch), tasks, 2 * len(staff))
    finally:  # done, interrupted, or no longer wanted
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in staff:
            worker.close()


def work(tasks: Sequence[Task]) -> list[Outcome]:
    """Compute tasks in the process beside this thread."""
    if not hasattr(_THREAD, "worker"):
        _THREAD.worker = Worker()
    return [_THREAD.worker.compute(task) for task in tasks]


def work_on_cluster(tasks: Sequence[Task]) -> list[Outcome]:
    """Compute tasks in a process beside this one, which is a worker of Dask."""
    worker = multiprocessing.current_process()
    if worker.daemon:  # as Dask's nanny has begun it: then Python lets it begin no other
        worker.daemon = False
    return work(tasks)


def _in_batches(
    submit: Callable[[list[Task]], "futures.Future[list[Outcome]]"],
    tasks: Sequence[Task],
    most: int,
) -> Generator[tuple[Task, Outcome]]:
    """Submit tasks, at most so many batches at a time, and yield what comes of them."""
    waiting = deque(tasks)
    running: dict[futures.Future[list[Outcome]], tuple[list[Task], float]] = {}
    size = 1
    while waiting or running:
        while waiting and len(running) < most:
            some = min(size, 1 + len(waiting) // most)
            batch = [waiting.popleft() for _ in range(some)]
            running[submit(batch)] = batch, time.monotonic()
        done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
        for future in done:
            batch, began = running.pop(future)
            try:
                yield from zip(batch, future.result(), strict=True)
            except (InputError, *LOST):
                raise
            except Exception as error:  # noqa: BLE001  a cluster's worker that keeps dying
                yield from ((task, Outcome(rows=[], why=one_line(error))) for task in batch)
            size = min(64, 2 * size) if time.monotonic() - began < BATCH_SECONDS else 1


class Worker:
    """A process that computes tasks; a new one takes its place where it dies or hangs."""

    def __init__(self) -> None:
        self._pool: futures.ProcessPoolExecutor | None = None
        self._process = 0  # of the pool, while it lives
        self._closed = False

    def compute(self, task: Task) -> Outcome:
        """Compute a task; of one whose process dies or hangs each run on its own."""
        limit, seconds = task.sweep.time_limit, None
        if limit is not None:
            seconds = READING + (limit + GRACE) * (1 + len(task.runs))
        why = f"the worker was killed on every attempt ({MOST_STARTS})"
        for _ in range(MOST_STARTS):
            try:
                return self._future(task).result(seconds)
            except futures.TimeoutError:
                self._kill()
                why = f"its process was ended {GRACE:g} s after each limit, at {seconds:g} s"
                break
            except BrokenProcessPool:
                self._process = 0  # there is nobody to kill
                self._kill()
        if len(task.runs) < 2:
            return Outcome(rows=[], why=f"{why} ({task.runs[0].policy})")
        parts = [self.compute(replace(task, runs=(run,))) for run in task.runs]
        reasons = dict.fromkeys(part.why for part in parts if part.why)
        return Outcome(
            rows=[row for part in parts for row in part.rows], why="; ".join(reasons) or None
        )

    def _future(self, task: Task) -> "futures.Future[Outcome]":
        """Return what the process computes of a task, started if need be."""
        pool = self._pool or self._start(STARTS)
        return pool.submit(_compute, task)

    def _start(self, tries: int) -> futures.ProcessPoolExecutor:
        """Start the process; `InputError` if it dies before it is ready, so many times."""
        with _STARTING, signals_blocked():  # starting is not for several threads at once
            if self._closed:
                raise futures.CancelledError
            spawn = multiprocessing.get_context("spawn")
            self._pool = pool = futures.ProcessPoolExecutor(1, spawn, _begin)
            began = pool.submit(os.getpid)
        try:
            self._process = began.result()
        except BrokenProcessPool:
            self._kill()
            if tries > 1:  # somebody may have killed it
                return self._start(tries - 1)
            expected = "processes that can begin: a script must call this under "
            raise InputError(
                f'{expected}`if __name__ == "__main__":`',
                found="one that ended before it was ready",
                parameter="jobs",
            ) from None
        return pool

    def _kill(self) -> None:
        """End the process, if there is one and it has not died."""
        pool, self._pool = self._pool, None
        if pool is not None:
            if self._process:
                os.kill(self._process, KILL)
            pool.shutdown()
        self._process = 0

    def close(self) -> None:
        """End the process for good."""
        with _STARTING:
            self._closed = True
            self._kill()


def _begin() -> None:
    """Begin a worker's process, which ends when its parent does."""
    leave_signals_to_parent()  # Ctrl-C is the parent's
    parent = multiprocessing.parent_process()

    def follow() -> None:
        parent.join()  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _compute(task: Task) -> Outcome:
    """Compute a task in a worker's process."""
    load_only(task.sweep.policy_files)
    try:
        return compute(task)
    finally:
        sys.stdout.flush()


def expect_jobs(jobs: int) -> None:
    """Refuse too many processes or none; exit where a process still imports what spawned it."""
    most = most_at_once()
    expect(1 <= jobs <= most, f"from 1 to {most} processes", jobs, parameter="jobs")
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


def _on_cluster(tasks: Sequence[Task], address: str) -> Generator[tuple[Task, Outcome]]:
    """Compute tasks on a Dask cluster, and yield outcomes as they arrive."""
    require("distributed", parameter="cluster")
    distributed = import_module("distributed")
    try:
        _expect_scheduler(address)
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError):
        expected = "the address of a Dask scheduler that answers, such as tcp://host:8786"
        raise InputError(expected, found=quote(address), parameter="cluster") from None
    try:
        with client:
            most, executor = 2 * _count_threads(client), client.get_executor(pure=False)
            yield from _in_batches(
                lambda batch: executor.submit(
                    work_on_cluster, [_with_contents(one) for one in batch]
                ),
                tasks,
                most,
            )
    except LOST as error:
        raise InputError(
            "a cluster that answers; run again to go on",
            found=f"none any more ({type(error).__name__})",
            parameter="cluster",
        ) from None


def _expect_scheduler(address: str) -> None:
    """Check that the scheduler answers: a client without one would leave a thread behind."""
    parts = urlsplit(address)
    if parts.hostname is None or parts.port is None:
        raise ValueError
    socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE).close()


def release() -> str:
    """Return the version of schedopt that a cluster's machine has."""
    return __version__


def _count_threads(client: Any) -> int:
    """Return the number of threads of the workers, each of which must have this version."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise InputError("a cluster with workers", found="none", parameter="cluster") from None
    expected = f"schedopt {__version__} on every worker"
    try:
        versions = set(client.run(release).values())
    except Exception as error:  # noqa: BLE001  what a worker lacks comes back as whatever it raised
        raise InputError(expected, found=quote(str(error)), parameter="cluster") from None
    if versions != {__version__}:
        raise InputError(expected, found=", ".join(sorted(versions)), parameter="cluster")
    return max(1, sum(map(int, client.nthreads().values())))


def _with_contents(task: Task) -> Task:
    """Return a task with what its files hold, which no worker sees."""
    try:
        return replace(task, source=task.source.with_contents())
    except InputError:  # which the worker will say
        return task
