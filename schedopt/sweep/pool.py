"""Compute the tasks of a sweep in this process, in several processes, or on a Dask cluster.

`concurrent.futures` has the processes and `distributed.Client` the cluster. Both are executors: a
few tasks at a time are submitted, and outcomes are taken as they arrive.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent import futures
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from schedopt import __version__
from schedopt.instances.errors import InputError, expect, printable, quote
from schedopt.instances.extras import require
from schedopt.instances.options import Options, most_at_once
from schedopt.policies.from_file import PolicyFile, load_only
from schedopt.solvers.stopping import ignore_signals, signals_blocked, stoppable
from schedopt.sweep.rows import Journal, SweepInterrupt


class PlannedRun(msgspec.Struct, frozen=True):
    """A run that becomes a row, such as that of one policy on one instance."""

    key: str  # a digest of everything that the row depends on, such as the instance's contents
    policy: str = ""
    seed: int = 0
    options: Options = {}  # of the policy and its reference


@dataclass(frozen=True, kw_only=True)
class Task:
    """The runs on one instance."""

    label: str  # of the instance
    runs: tuple[PlannedRun, ...]  # the rows that are wanted
    policy_files: tuple[PolicyFile, ...] = ()  # the user's own files of policies, which are run
    version: str = __version__  # which workers of a cluster must have

    def rows(self) -> Iterator[Any]:
        """Compute and yield a row for each run."""
        raise NotImplementedError


class TaskOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a task."""

    rows: list[Any]  # of the finished runs
    why: str | None = None  # why the other runs have no rows, in a line


def finish_tasks(
    tasks: Sequence[Task],
    journal: Journal,
    jobs: int,
    cluster: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[tuple[Task, str]]:
    """Compute the runs that have no row yet, and store their rows.

    Returns the tasks that failed, each with the reason. An interruption raises `SweepInterrupt`
    with the rows that are done.
    """
    left = [replace(t, runs=tuple(run for run in t.runs if run.key not in journal)) for t in tasks]
    todo = [task for task in left if task.runs]
    failed = []
    try:
        with stoppable(), closing(compute_tasks(todo, jobs, cluster)) as outcomes:
            for done, (task, outcome) in enumerate(outcomes, len(tasks) - len(todo) + 1):
                journal.extend(outcome.rows)
                if progress:
                    progress(done, len(tasks))
                if outcome.why:
                    failed.append((task, outcome.why))
    except KeyboardInterrupt:
        raise SweepInterrupt(journal.finish()) from None
    return failed


Submit = Callable[[Task], "futures.Future[TaskOutcome]"]
Workers = Callable[[], AbstractContextManager[tuple[int, Submit]]]
"""Starts workers: the number of tasks to submit at a time, and what submits one."""


def compute_tasks(
    tasks: Sequence[Task], jobs: int, cluster: str | None = None, *, patience: float = 30.0
) -> Generator[tuple[Task, TaskOutcome]]:
    """Compute tasks, and yield each with its outcome as it arrives.

    If a process dies, each run of the tasks that it may have had is computed once more, on its own.
    With one process, tasks are computed in this one. ``patience`` is in seconds, for the scheduler
    of a cluster and for its first worker.
    """
    if not tasks or (cluster is None and jobs == 1):
        yield from ((task, compute(task)) for task in tasks)
        return
    workers = partial(_processes, min(jobs, len(tasks)))
    if cluster is not None:
        workers = partial(_cluster, cluster, patience)
    left = deque(tasks)
    while left:
        suspects: list[Task] = []
        with workers() as (most, submit):
            under_way: dict[futures.Future[TaskOutcome], Task] = {}
            while under_way or (left and not suspects):
                while left and not suspects and len(under_way) < most:
                    task = left.popleft()
                    under_way[submit(task)] = task
                done, _ = futures.wait(under_way, return_when=futures.FIRST_COMPLETED)
                for future in done:
                    task = under_way.pop(future)
                    try:
                        yield task, _outcome(future)
                    except futures.BrokenExecutor:
                        suspects.append(task)
        for task in suspects:
            yield task, _run_by_run(task, workers)


def _run_by_run(task: Task, workers: Workers) -> TaskOutcome:
    """Compute one run of a task after another; only a run that ends its process has no row."""
    rows: list[Any] = []
    reasons: list[str] = []
    runs = deque(task.runs)
    while runs:
        with suppress(futures.BrokenExecutor), workers() as (_, submit):
            while runs:
                run = runs.popleft()
                reasons.append(f"its process died ({run.policy})")
                outcome = _outcome(submit(replace(task, runs=(run,))))
                reasons.pop()
                rows += outcome.rows
                reasons += [outcome.why] if outcome.why else []
    return TaskOutcome(rows=rows, why="; ".join(dict.fromkeys(reasons)) or None)


def _outcome(future: futures.Future[TaskOutcome]) -> TaskOutcome:
    """Return the outcome of a submitted task; `BrokenExecutor` if its process died."""
    try:
        return future.result()
    except futures.BrokenExecutor:
        raise
    except (OSError, futures.CancelledError) as error:
        expected, found = "a cluster that answers; run again to go on", type(error).__name__
        raise InputError(expected, found=f"none any more ({found})", parameter="cluster") from None
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise futures.BrokenExecutor from error
        return TaskOutcome(rows=[], why=one_line(error))  # such as a module that the worker lacks


def compute(task: Task) -> TaskOutcome:
    """Compute a task in this process; the outcome contains errors as text."""
    rows: list[Any] = []
    try:
        rows.extend(task.rows())  # keeps the rows before an error
    except Exception as error:  # noqa: BLE001  one instance must not end the others
        return TaskOutcome(rows=rows, why=one_line(error))
    return TaskOutcome(rows=rows)


def work(task: Task) -> TaskOutcome:
    """Compute a task in a worker process."""
    if task.version != __version__:
        why = f"found schedopt {__version__} on a worker; expected {task.version}"
        return TaskOutcome(rows=[], why=why)
    load_only(task.policy_files)
    return compute(task)


def one_line(error: BaseException) -> str:
    """Return an exception as one line."""
    if isinstance(error, InputError):
        return str(error)
    words = printable(str(error))
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def expect_jobs(jobs: int) -> None:
    """Raise `InputError` about a number of processes below 1, or too large."""
    most = most_at_once()
    expect(1 <= jobs <= most, f"from 1 to {most} processes", jobs, parameter="jobs")


@contextmanager
def _processes(jobs: int) -> Iterator[tuple[int, Submit]]:
    """Start processes of this machine, which end when the block or this process ends."""
    context = multiprocessing.get_context("spawn")
    alive, held = context.Pipe(duplex=False)
    executor = futures.ProcessPoolExecutor(jobs, context, _begin, (alive,))

    def submit(task: Task | None) -> futures.Future[Any]:
        with signals_blocked():  # it may start a process
            return executor.submit(work, task) if task else executor.submit(os.getpid)

    try:
        try:
            submit(None).result()
        except futures.BrokenExecutor:
            guard = 'a script must call this under `if __name__ == "__main__":`'
            found = "one that ended before it was ready"
            expected = f"processes that can begin: {guard}"
            raise InputError(expected, found=found, parameter="jobs") from None
        yield jobs, submit
    finally:
        held.close()  # ends tasks that are still computed, such as at Ctrl-C
        executor.shutdown(cancel_futures=True)
        alive.close()


def _begin(alive: Connection) -> None:
    """Prepare a process: it ends when the other end of the pipe is closed."""
    ignore_signals()  # Ctrl-C is the parent's
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()


def _end_with(alive: Connection) -> None:
    with suppress(EOFError, OSError):
        alive.recv()
    os._exit(1)


@contextmanager
def _cluster(address: str, patience: float) -> Iterator[tuple[int, Submit]]:
    """Connect to a Dask cluster."""
    require("distributed", parameter="cluster")
    distributed = import_module("distributed")
    try:
        client = distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError):
        expected = "the address of a Dask scheduler that answers, such as tcp://host:8786"
        raise InputError(expected, found=quote(address), parameter="cluster") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            raise InputError("a cluster with workers", found="none", parameter="cluster") from None
        threads = max(1, sum(client.nthreads().values()))
        # Two tasks for each thread, so that no worker waits for its next one.
        yield 2 * threads, partial(client.get_executor(pure=False).submit, work)
