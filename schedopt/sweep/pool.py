"""Compute the tasks of a sweep in this process, in several processes, or on a Dask cluster.

Threads hand one task after another to processes or to the cluster, and wait for the outcomes.
"""

from __future__ import annotations

import multiprocessing
from asyncio import CancelledError
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent import futures
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from typing import Any

from schedopt import __version__
from schedopt.instances.errors import InputError, expect, quote
from schedopt.instances.extras import require
from schedopt.instances.options import most_at_once
from schedopt.policies.from_file import load_only
from schedopt.solvers.stopping import ignore_signals, signals_blocked, stoppable
from schedopt.sweep.measure import Task, TaskOutcome, compute, one_line
from schedopt.sweep.rows import Journal, SweepInterrupt

AHEAD = 2  # tasks for each thread of a cluster, so that no worker waits for its next task
LOST = (OSError, CancelledError, futures.CancelledError)  # errors of a lost scheduler

Compute = Callable[[Task], TaskOutcome]


class LostWorkerError(Exception):
    """The process that computes a task died; the message says so."""


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


def compute_tasks(
    tasks: Sequence[Task], jobs: int, cluster: str | None = None, *, patience: float = 30.0
) -> Generator[tuple[Task, TaskOutcome]]:
    """Compute tasks, and yield each with its outcome as it arrives.

    If a process dies, each run of its task is computed once more, on its own.

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
    if not tasks or (cluster is None and jobs == 1):
        yield from ((task, compute(task)) for task in tasks)
        return
    workers = _processes(min(jobs, len(tasks))) if cluster is None else _cluster(cluster, patience)
    with workers as (count, compute_one):
        threads = futures.ThreadPoolExecutor(count)
        try:
            under_way = {threads.submit(compute_one, task): task for task in tasks}
            for future in futures.as_completed(under_way):
                task = under_way[future]
                try:
                    outcome = future.result()
                except LostWorkerError:
                    outcome = _run_by_run(task, compute_one)
                yield task, outcome
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def expect_jobs(jobs: int) -> None:
    """Raise `InputError` about a number of processes below 1, or too large."""
    most = most_at_once()
    expect(1 <= jobs <= most, f"from 1 to {most} processes", jobs, parameter="jobs")


def work(task: Task) -> TaskOutcome:
    """Compute a task in a worker process."""
    if task.sweep.version != __version__:
        why = f"found schedopt {__version__} on a worker; expected {task.sweep.version}"
        return TaskOutcome(rows=[], why=why)
    load_only(task.sweep.policy_files)
    return compute(task)


def _run_by_run(task: Task, compute_one: Compute) -> TaskOutcome:
    """Compute each run of a task on its own; only a run that ends its process has no row."""
    rows: list[Any] = []
    reasons: list[str] = []
    for run in task.runs:
        try:
            outcome = compute_one(replace(task, runs=(run,)))
        except LostWorkerError as lost:
            outcome = TaskOutcome(rows=[], why=f"{lost} ({run.policy})")
        rows += outcome.rows
        reasons += [outcome.why] if outcome.why else []
    return TaskOutcome(rows=rows, why="; ".join(dict.fromkeys(reasons)) or None)


# --- processes of this machine ------------------------------------------------------------------


class _Process:
    """A process that computes one task at a time; it is started when needed."""

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None
        self._killed = False

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, end = context.Pipe()
        process = context.Process(target=_serve, args=(end,))
        with signals_blocked():
            process.start()
        end.close()
        self._process = process
        if self._killed:
            process.kill()

    def compute(self, task: Task | None) -> Any:
        """Return the outcome of a task; of None, which only starts the process, None."""
        if self._process is None:
            self._start()
        try:
            self._pipe.send(task)
            return self._pipe.recv()
        except (EOFError, OSError):
            self._process = None
            raise LostWorkerError("its process died") from None

    def close(self, *, kill: bool) -> None:
        """End the process, which is idle unless it is to be killed."""
        self._killed = kill
        if (process := self._process) is not None:
            if kill:
                process.kill()
            else:
                self._pipe.close()
            process.join()


def _serve(pipe: Connection) -> None:
    """Compute tasks until the other end of the pipe is closed, such as by the parent's death."""
    ignore_signals()  # Ctrl-C is the parent's
    with suppress(EOFError, OSError):
        while True:
            task = pipe.recv()
            pipe.send(None if task is None else work(task))


@contextmanager
def _processes(jobs: int) -> Iterator[tuple[int, Compute]]:
    """Yield the number of processes, and a function that computes a task in one of them."""
    processes = [_Process() for _ in range(jobs)]
    idle = SimpleQueue[_Process]()
    for process in processes:
        idle.put(process)

    def compute_one(task: Task) -> TaskOutcome:
        process = idle.get()
        try:
            outcome: TaskOutcome = process.compute(task)
        finally:
            idle.put(process)
        return outcome

    try:
        processes[0].compute(None)
    except LostWorkerError:
        guard = 'a script must call this under `if __name__ == "__main__":`'
        found = "one that ended before it was ready"
        expected = f"processes that can begin: {guard}"
        raise InputError(expected, found=found, parameter="jobs") from None
    ended = False
    try:
        yield jobs, compute_one
        ended = True
    finally:
        for process in processes:
            process.close(kill=not ended)


# --- a cluster ------------------------------------------------------------------------------------


@contextmanager
def _cluster(address: str, patience: float) -> Iterator[tuple[int, Compute]]:
    """Yield the number of tasks to submit at a time, and a function that computes one by Dask."""
    require("distributed", parameter="cluster")
    distributed = import_module("distributed")
    try:
        client = distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError):
        expected = "the address of a Dask scheduler that answers, such as tcp://host:8786"
        raise InputError(expected, found=quote(address), parameter="cluster") from None

    def compute_one(task: Task) -> TaskOutcome:
        try:  # workers cannot read the files of this machine
            task = replace(task, source=task.source.with_contents())
        except InputError as error:
            return TaskOutcome(rows=[], why=str(error))
        try:
            outcome: TaskOutcome = client.submit(work, task, pure=False).result()
        except distributed.KilledWorker as error:
            raise LostWorkerError(one_line(error)) from None
        except LOST as error:
            raise InputError(
                "a cluster that answers; run again to go on",
                found=f"none any more ({type(error).__name__})",
                parameter="cluster",
            ) from None
        except Exception as error:  # noqa: BLE001  such as a module that the worker lacks
            return TaskOutcome(rows=[], why=one_line(error))
        return outcome

    with client:
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            raise InputError("a cluster with workers", found="none", parameter="cluster") from None
        yield AHEAD * max(1, sum(client.nthreads().values())), compute_one
