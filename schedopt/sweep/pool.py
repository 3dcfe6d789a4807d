"""Compute the tasks of a sweep: in this process, in others beside it, or on a Dask cluster."""

import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from asyncio import CancelledError
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from importlib import import_module
from multiprocessing.sharedctypes import RawArray
from typing import Any
from urllib.parse import urlsplit

from schedopt import __version__
from schedopt.instances.errors import InputError, shown
from schedopt.instances.extras import need
from schedopt.policies.from_file import load_only
from schedopt.solvers.stopping import blocked, ignored
from schedopt.sweep.measure import Outcome, Phase, Task, compute, one_line

MOST_STARTS = 3  # times that a process may die of one step before the step is given up
READING = 120.0  # seconds more for reading an instance, and for loading and compiling what it needs
LOOK = 0.05  # seconds between two looks at the time limit of a step
ORPHANED = 1.0  # seconds between two looks at who the parent is
BATCH_SECONDS = 0.5  # seconds that a batch of tasks is meant to take

Group = list[tuple[Task, Outcome]]  # tasks that are done, each with its outcome
Timed = tuple[list[Outcome], float]  # the outcomes of a batch, and its seconds

PROCESS, CLOSED = 3, 4  # where the step that a worker shares has its process, and whether it ends
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # where there is no other it ends one as well

PATIENCE = 30.0  # seconds to wait for a cluster's scheduler, and for its first worker
LOST = (OSError, TimeoutError, CancelledError, futures.CancelledError)
"""Errors raised where a cluster's scheduler is gone."""

_MINE = threading.local()
_STARTING = threading.Lock()


class WorkerError(Exception):
    """A worker was closed during its work."""


class PolicyInterruptedError(Exception):
    """A policy was interrupted in a worker, or raised as if it had been."""


def computed(
    tasks: Sequence[Task], jobs: int, grace: float | None = None, cluster: str | None = None
) -> Generator[Group]:
    """Compute tasks, and yield outcomes as they arrive."""
    if not tasks:
        return
    if cluster is not None:
        yield from _on_cluster(tasks, cluster, grace)
    elif jobs == 1 and (grace is None or tasks[0].time_limit is None):
        yield from _here(tasks)
    else:
        yield from _beside(tasks, jobs, grace)


def _here(tasks: Sequence[Task]) -> Generator[Group]:
    try:
        for i, task in enumerate(tasks):
            yield [(task, compute(task))]
            if i == 0:
                gc.freeze()  # rescanning what is loaded would take a fifteenth of the time
    finally:
        gc.unfreeze()


def _beside(tasks: Sequence[Task], jobs: int, grace: float | None) -> Generator[Group]:
    """Compute tasks in local processes, each of which a thread attends to."""
    staff = [Worker() for _ in range(min(jobs, len(tasks)))]
    idle = deque(staff)
    threads = futures.ThreadPoolExecutor(
        len(staff), initializer=lambda: setattr(_MINE, "worker", idle.pop())
    )
    yield []
    try:
        yield from in_batches(
            lambda batch: threads.submit(work, batch, grace), tasks, 2 * len(staff)
        )
    except PolicyInterruptedError:
        raise KeyboardInterrupt from None
    finally:  # done, interrupted, or no longer wanted
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in staff:
            worker.close()


def work(tasks: Sequence[Task], grace: float | None) -> Timed:
    """Compute tasks in the process beside this thread; return outcomes and seconds."""
    began = time.monotonic()
    multiprocessing.current_process().daemon = False  # or it may have no process beside it
    if not hasattr(_MINE, "worker"):
        _MINE.worker = Worker()
    outcomes = [_MINE.worker.compute(task, grace) for task in tasks]
    return outcomes, time.monotonic() - began


def in_batches(
    submit: Callable[[list[Task]], "futures.Future[Timed]"], tasks: Sequence[Task], most: int
) -> Generator[Group]:
    """Submit batches of half a second, at most so many at a time, and yield what comes of them."""
    waiting = deque(tasks)
    running: dict[futures.Future[Timed], list[Task]] = {}
    size = 1
    while waiting or running:
        while waiting and len(running) < most:
            some = min(size, 1 + len(waiting) // most)
            batch = [waiting.popleft() for _ in range(some)]
            running[submit(batch)] = batch
        done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
        for future in done:
            batch = running.pop(future)
            error = future.exception()
            if error is None:
                outcomes, seconds = future.result()
                size = max(1, min(2 * size, int(BATCH_SECONDS * len(batch) / (seconds + 1e-6))))
                yield list(zip(batch, outcomes, strict=True))
            elif isinstance(error, InputError | PolicyInterruptedError | OSError | CancelledError):
                raise error
            elif len(batch) > 1:  # one of them is to blame, and only it
                waiting.extendleft(batch)
                size = 1
            else:
                yield [(batch[0], Outcome(rows=[], why=one_line(error)))]


class Worker:
    """A process that computes tasks; a new one takes its place where it dies or hangs."""

    def __init__(self) -> None:
        self._pool: futures.ProcessPoolExecutor | None = None
        self._step: Any = None  # shared: run, phase, when time is over, `PROCESS`, `CLOSED`
        self._closed = self._began = False

    def compute(self, task: Task, grace: float | None) -> Outcome:
        """Compute a task, again without the step of which its process has died or hangs."""
        limit = None if grace is None or task.time_limit is None else task.time_limit + grace
        deaths: Counter[str] = Counter()
        while True:
            outcome, late = self._attempt(task, limit)
            if outcome is not None:
                return outcome
            run, phase = int(self._step[0]), Phase(int(self._step[1]))
            self._kill()
            name = "" if phase is Phase.READING else task.step(run, phase)
            deaths[name] += 1
            if not late and deaths[name] < MOST_STARTS:
                continue
            if not (late or self._began):
                raise _no_beginning()
            if not late:
                ended = f"the worker was killed on every attempt ({MOST_STARTS})"
            elif phase in (Phase.READING, Phase.WARMING):
                ended = "it took too long to read, or to get ready"
            else:
                ended = f"its process was ended after {limit:g} s, the time limit and the grace"
            if phase is Phase.READING:
                return Outcome(rows=[], why=f"{task.source.label}: {ended}")
            lost = {**task.lost, name: (ended, limit if late else None)}
            task = replace(task, lost=lost)

    def _attempt(self, task: Task, limit: float | None) -> tuple[Outcome | None, bool]:
        """Have the process compute a task; return no outcome where it died, or was late."""
        with _STARTING, blocked():  # starting is not for several threads at once
            if self._closed:
                raise WorkerError
            if self._pool is None:
                self._step = RawArray("d", 5)
                spawn = multiprocessing.get_context("spawn")
                given = (self._step, os.getpid())
                self._pool = futures.ProcessPoolExecutor(1, spawn, _begin, given)
            self._step[:3] = 0, Phase.READING, _ending(limit, Phase.READING)
            future = self._pool.submit(_compute, task, limit)
        while True:
            try:
                return future.result(None if limit is None else LOOK), False
            except futures.TimeoutError:
                if time.monotonic() > self._step[2]:
                    return None, True
            except BrokenProcessPool:
                self._began = self._began or self._step[PROCESS] != 0
                self._step[PROCESS] = 0  # there is nobody to kill
                return None, False

    def _kill(self) -> None:
        """End the process, if there is one and it has not died."""
        pool, self._pool = self._pool, None
        if pool is not None:
            self._step[CLOSED] = 1
            if process := int(self._step[PROCESS]):
                os.kill(process, KILL)
            pool.shutdown()

    def close(self) -> None:
        """End the process for good; a task that it is at ends with `WorkerError`."""
        with _STARTING:
            self._closed = True
            self._kill()


_SHARED: list[Any] = []  # in a worker's process: the step that it is at


def _begin(step: Any, parent: int) -> None:
    """Begin a worker's process, which ends when its parent does."""
    ignored()  # Ctrl-C is the parent's

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHANED)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    step[PROCESS] = os.getpid()
    _SHARED.append(step)
    gc.freeze()  # loaded objects stay: rescanning them costs time


def _compute(task: Task, limit: float | None) -> Outcome:
    """Compute a task in a worker's process."""
    (step,) = _SHARED
    if step[CLOSED]:
        os._exit(1)

    def begin(run: int, phase: Phase) -> None:
        step[:3] = run, phase, _ending(limit, phase)

    load_only(task.policy_files)
    try:
        return compute(task, begin)
    except KeyboardInterrupt:  # a policy's own: signals are the parent's
        raise PolicyInterruptedError from None
    finally:
        sys.stdout.flush()


def _ending(limit: float | None, phase: Phase) -> float:
    """Return when a step is to be ended, by the clock that all processes share."""
    if limit is None:
        return float("inf")
    more = READING if phase in (Phase.READING, Phase.WARMING) else 0.0
    return time.monotonic() + limit + more


def _no_beginning() -> InputError:
    return InputError(
        'processes that can begin: a script must call this under `if __name__ == "__main__":`',
        found="one that ended before it was ready",
        place="jobs",
    )


def leave_if_begun_by_ourselves() -> None:
    """Exit if this process is still importing the script that spawned it."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


def _on_cluster(tasks: Sequence[Task], address: str, grace: float | None) -> Generator[Group]:
    """Compute tasks on a Dask cluster, and yield outcomes as they arrive."""
    need("distributed", "--cluster")
    distributed = import_module("distributed")
    wrong = InputError(
        "the address of a Dask scheduler that answers, such as tcp://host:8786",
        found=shown(address),
        place="--cluster",
    )
    try:
        _knock(address)
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError):
        raise wrong from None
    try:
        with client:
            most = 2 * _workforce(client)
            yield from _through(client, tasks, grace, most)
    except PolicyInterruptedError:
        raise KeyboardInterrupt from None
    except LOST as error:
        raise InputError(
            "a cluster that answers; run again to go on",
            found=f"none any more ({type(error).__name__})",
            place="--cluster",
        ) from None


def _knock(address: str) -> None:
    """Check that the scheduler answers: a client without one would leave a thread behind."""
    parts = urlsplit(address)
    if parts.hostname is None or parts.port is None:
        raise ValueError
    socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE).close()


def release() -> str:
    """Return the version of schedopt that a cluster's machine has."""
    return __version__


def _workforce(client: Any) -> int:
    """Check that every worker has this version, and return the number of threads."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise InputError("a cluster with workers", found="none", place="--cluster") from None
    try:
        found = client.run(release)
    except Exception as error:  # noqa: BLE001  what a worker lacks comes back as whatever it raised
        raise InputError(
            "workers that have schedopt installed", found=shown(str(error)), place="--cluster"
        ) from None
    for worker, version in found.items():
        if version != __version__:
            raise InputError(
                f"schedopt {__version__} on every worker",
                found=f"{version} on {worker}",
                place="--cluster",
            )
    return max(1, sum(map(int, client.nthreads().values())))


def _through(
    client: Any, tasks: Sequence[Task], grace: float | None, most: int
) -> Generator[Group]:
    executor = client.get_executor(pure=False)
    yield from in_batches(
        lambda batch: executor.submit(work, list(map(_packed, batch)), grace), tasks, most
    )


def _packed(task: Task) -> Task:
    """Return a task with what its files hold, which no worker sees."""
    try:
        return replace(task, source=task.source.packed())
    except InputError:  # which the worker will say
        return task
