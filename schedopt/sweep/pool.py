"""Compute the tasks of a sweep in this process, in several processes, or on a Dask cluster.

Processes and clusters are both executors of `concurrent.futures`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlsplit

from schedopt import __version__
from schedopt.instances.errors import InputError, expect, quote
from schedopt.instances.extras import require
from schedopt.instances.options import most_at_once
from schedopt.policies.from_file import load_only
from schedopt.solvers.stopping import ignore_signals, signals_blocked
from schedopt.sweep.measure import Task, TaskOutcome, compute, one_line

AHEAD = 2  # tasks submitted for each process, so that no process waits for its next task
LOST = (OSError, TimeoutError, CancelledError, futures.CancelledError)
"""Errors of a lost scheduler."""

Submitted = Generator[tuple[Task, "futures.Future[TaskOutcome]"]]


def compute_tasks(
    tasks: Sequence[Task], jobs: int, cluster: str | None = None, *, patience: float = 30.0
) -> Generator[tuple[Task, TaskOutcome]]:
    """Compute tasks, and yield each with its outcome as it arrives.

    Parameters
    ----------
    tasks : sequence of Task
    jobs : int
        Processes; one computes in this process.
    cluster : str, optional
        The address of a Dask scheduler, whose workers compute instead.
    patience : float
        Seconds to wait for the scheduler, and for its first worker.
    """
    if cluster is not None and tasks:
        yield from _on_cluster(tasks, cluster, patience)
    elif jobs == 1:
        yield from ((task, compute(task)) for task in tasks)
    elif tasks:
        yield from _in_processes(tasks, min(jobs, len(tasks)))


def expect_jobs(jobs: int) -> None:
    """Raise `InputError` about a number of processes below 1, or too large."""
    most = most_at_once()
    expect(1 <= jobs <= most, f"from 1 to {most} processes", jobs, parameter="jobs")


def work(task: Task) -> TaskOutcome:
    """Compute a task in a worker process."""
    load_only(task.sweep.policy_files)
    try:
        return compute(task)
    finally:
        sys.stdout.flush()


def _submitted(
    submit: Callable[[Task], futures.Future[TaskOutcome]], waiting: deque[Task], most: int
) -> Submitted:
    """Submit tasks, a limited number at a time, and yield each when it ends or its worker dies."""
    running: dict[futures.Future[TaskOutcome], Task] = {}
    broken = False
    while running or (waiting and not broken):
        while waiting and len(running) < most and not broken:
            try:
                future = submit(waiting[0])
            except BrokenProcessPool:
                broken = True
            else:
                running[future] = waiting.popleft()
        done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
        for future in done:
            broken |= isinstance(future.exception(), BrokenProcessPool)
            yield running.pop(future), future


def _by_runs(task: Task, compute_one: Callable[[Task], TaskOutcome], why: str) -> TaskOutcome:
    """Compute the runs of a task one by one after its worker died; one run fails with ``why``."""
    if len(task.runs) < 2:
        return TaskOutcome(rows=[], why=f"{why} ({task.runs[0].policy})")
    parts = [compute_one(replace(task, runs=(run,))) for run in task.runs]
    reasons = dict.fromkeys(part.why for part in parts if part.why)
    rows = [row for part in parts for row in part.rows]
    return TaskOutcome(rows=rows, why="; ".join(reasons) or None)


def _in_processes(tasks: Sequence[Task], jobs: int) -> Generator[tuple[Task, TaskOutcome]]:
    """Compute tasks in processes; if one dies, compute the tasks under way one at a time."""
    waiting = deque(tasks)
    while waiting:
        suspects = []
        with _processes(jobs) as submit:
            for task, future in _submitted(submit, waiting, AHEAD * jobs):
                if isinstance(future.exception(), BrokenProcessPool):
                    suspects.append(task)
                else:
                    yield task, future.result()
        for task in suspects:
            yield task, _alone(task)


def _alone(task: Task) -> TaskOutcome:
    """Compute a task in a separate process; if it dies, compute each run separately."""
    with _processes(1) as submit, suppress(BrokenProcessPool):
        return submit(task).result()
    return _by_runs(task, _alone, "its process died")


@contextmanager
def _processes(jobs: int) -> Iterator[Callable[[Task], futures.Future[TaskOutcome]]]:
    """Yield a function that submits tasks to processes, which end with this process."""
    context = multiprocessing.get_context("spawn")
    lifeline, end = context.Pipe(duplex=False)
    executor = futures.ProcessPoolExecutor(jobs, context, _begin, (lifeline,))

    def submit(task: Task) -> futures.Future[TaskOutcome]:
        with signals_blocked():  # a process may begin
            return executor.submit(work, task)

    try:
        began = _first_of(executor)
        yield submit
        if began.exception():
            how = 'a script must call this under `if __name__ == "__main__":`'
            found = "one that ended before it was ready"
            raise InputError(f"processes that can begin: {how}", found=found, parameter="jobs")
    finally:
        end.close()
        executor.shutdown(cancel_futures=True)
        lifeline.close()


def _first_of(executor: futures.Executor) -> futures.Future[int]:
    """Start the first process; exit if this is a worker that imports its caller's script."""
    try:
        with signals_blocked():
            return executor.submit(os.getpid)
    except RuntimeError as error:
        if "bootstrapping" in str(error):
            raise SystemExit(1) from None
        raise


def _begin(lifeline: Connection) -> None:
    """Initialize a worker process, which ends when the other end of its lifeline is closed."""
    ignore_signals()  # Ctrl-C is the parent's

    def follow() -> None:
        with suppress(EOFError, OSError):
            lifeline.recv_bytes()
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    threading.Thread(target=follow, daemon=True).start()


def _on_cluster(
    tasks: Sequence[Task], address: str, patience: float
) -> Generator[tuple[Task, TaskOutcome]]:
    """Compute tasks on a Dask cluster; a task that kills its workers is computed run by run."""
    require("distributed", parameter="cluster")
    distributed = import_module("distributed")
    try:
        _expect_scheduler(address, patience)
        client = distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, TimeoutError, ValueError):
        expected = "the address of a Dask scheduler that answers, such as tcp://host:8786"
        raise InputError(expected, found=quote(address), parameter="cluster") from None

    def submit(task: Task) -> futures.Future[TaskOutcome]:
        future: futures.Future[TaskOutcome] = executor.submit(work, _with_contents(task))
        return future

    def compute_one(task: Task) -> TaskOutcome:
        try:
            return submit(task).result()
        except distributed.KilledWorker as error:
            return _by_runs(task, compute_one, one_line(error))

    try:
        with client:
            executor, threads = client.get_executor(pure=False), _count_threads(client, patience)
            for task, future in _submitted(submit, deque(tasks), AHEAD * threads):
                error = future.exception()
                if isinstance(error, LOST):
                    raise error
                if isinstance(error, distributed.KilledWorker):
                    yield task, _by_runs(task, compute_one, one_line(error))
                elif error is not None:
                    yield task, TaskOutcome(rows=[], why=one_line(error))
                else:
                    yield task, future.result()
    except LOST as error:
        raise InputError(
            "a cluster that answers; run again to go on",
            found=f"none any more ({type(error).__name__})",
            parameter="cluster",
        ) from None


def _expect_scheduler(address: str, patience: float) -> None:
    """Raise an error if the scheduler does not answer; a client would leave a thread behind."""
    parts = urlsplit(address)
    if parts.hostname is None or parts.port is None:
        raise ValueError
    socket.create_connection((parts.hostname, parts.port), timeout=patience).close()


def release() -> str:
    """Return the version of schedopt on a machine of a cluster."""
    return __version__


def _count_threads(client: Any, patience: float) -> int:
    """Return the number of threads of all workers; `InputError` if a version differs."""
    try:
        client.wait_for_workers(1, timeout=patience)
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
    """Return a task with the contents of its files, which workers cannot read."""
    try:
        return replace(task, source=task.source.with_contents())
    except InputError:  # which the worker reports
        return task
