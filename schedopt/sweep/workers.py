"""Processes that compute instances, and are replaced where they are lost or hang."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any

import msgspec

from schedopt.sweep import starting
from schedopt.sweep.journal import Keyed
from schedopt.sweep.measure import Begun, Done, Failed, Finished, Outcome, Step, Task, warm
from schedopt.sweep.serving import INTERRUPTED, serve

MOST_STARTS = 3  # times that a process may die of one step before the step is given up

KILLED = f"killed on every attempt ({MOST_STARTS})"
ALLOWED = "the time limit and the grace"

READING = 120.0  # seconds more for reading an instance, and for loading and compiling what it needs
PATIENCE = 5.0  # seconds for a process without work to end by itself
Group = list[tuple[Task, Outcome[Any]]]  # tasks that are done, each with what became of it

_STARTING = threading.Lock()


@cache
def _decoder(row: Any) -> msgspec.json.Decoder[list[Step[Keyed]]]:
    """Return the decoder of a worker's reports on a task that makes such rows."""
    return msgspec.json.Decoder(list[Step[row]])


class WorkerError(Exception):
    """A worker was closed during its work."""


class PolicyInterruptedError(Exception):
    """A policy was interrupted in a worker, or raised as if it had been."""


class Worker:
    """A process that computes instances; a new one takes its place where it dies or hangs."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._line: Connection | None = None
        self._closed = self._heard = False

    def compute(self, task: Task, grace: float | None) -> Outcome[Keyed]:
        """Do a task step by step, starting its process again as often as it dies or hangs."""
        limit = _limit(task, grace)
        done: dict[str, Keyed] = {}
        losses: Counter[str] = Counter()
        while True:
            last, late = self._follow(task, limit, done)
            if isinstance(last, Finished | Failed):
                why = last.why if isinstance(last, Failed) else None
                return Outcome(rows=list(done.values()), why=why)
            self._lost()
            name = "" if last is None else str(last.row.key if last.row else last.reference)
            losses[name] += 1
            if late or losses[name] == MOST_STARTS:
                ended = f"the worker was {KILLED}"
                if late and (last is None or last.warming):
                    ended = "it took too long to read, or to get ready"
                elif late:
                    ended = f"its process was ended after {limit:g} s, {ALLOWED}"
                if last is None:
                    why = f"{task.source.label}: {ended}"
                    return Outcome(rows=list(done.values()), why=why)
                task = _without(task, last, done, ended, limit if late else None)
            task = replace(task, runs=tuple(run for run in task.runs if run.key not in done))

    def _lost(self) -> None:
        process = self._process
        if process is not None:
            process.kill()  # where it hangs
        self.release()
        if process is not None and process.exitcode == INTERRUPTED:
            raise PolicyInterruptedError
        if self._closed:
            raise WorkerError from None

    def _follow(
        self, task: Task, limit: float | None, done: dict[str, Keyed]
    ) -> tuple[Begun | Failed | Finished | None, bool]:
        """Have the process do a task; return the last step, and whether it took too long."""
        last: Begun | None = None
        try:
            line = self._ready()
            line.send(task)
            while True:
                # Reading and loading are no solver's time.
                more = READING if last is None or last.warming else 0.0
                if limit is not None and not line.poll(limit + more):
                    return last, True
                for step in _decoder(task.made).decode(line.recv_bytes()):
                    if isinstance(step, Finished | Failed):
                        return step, False
                    last = step if isinstance(step, Begun) else None
                    if isinstance(step, Done):
                        done[step.row.key] = step.row
        except (EOFError, OSError):  # the process is no more
            return last, False

    def _ready(self) -> Connection:
        """Return the line to the process, which is started if there is none."""
        if self._closed:
            raise EOFError
        self.begin()
        assert self._line is not None  # noqa: S101  for type checkers
        assert self._process is not None  # noqa: S101
        if not self._heard:
            try:
                self._line.recv_bytes()  # imports do not count as an instance's time
            except EOFError:
                why = starting.unready(self._process, PATIENCE)
                raise why or EOFError from None
            self._heard = True
        return self._line

    def begin(self, *, copied: bool = False) -> None:
        """Start the process, if there is none, perhaps as a copy of this one."""
        if self._line is not None:
            return
        with _STARTING:  # starting is not for several threads at once
            if self._closed:
                raise EOFError
            self._process, self._line = starting.began(serve, copied=copied)
            self._heard = False

    def dismiss(self) -> None:
        """Tell the process that there is no more work: then it ends by itself."""
        if self._line is not None:
            self._line.close()

    def release(self) -> None:
        """End the process, and give back what it holds."""
        self.dismiss()
        if self._process is not None:
            self._process.join(PATIENCE)
            self._process.kill()
            self._process.join()
        self._process = self._line = None

    def close(self) -> None:
        """End the process for good; a task that it is at ends with `WorkerError`."""
        with _STARTING:
            self._closed = True
            if self._process is not None:
                self._process.kill()


def _without(
    task: Task, last: Begun, done: dict[str, Keyed], ended: str, seconds: float | None
) -> Task:
    """Return a task without a step that never ends; the row of a run says how it ended."""
    if last.row is None:
        lost = {**(task.lost or {}), str(last.reference): f"no reference: {ended}"}
        return replace(task, lost=lost)
    done[last.row.key] = msgspec.structs.replace(
        last.row,
        termination="error" if seconds is None else "time-limit",
        seconds=seconds or 0.0,
        message=ended,
    )
    return task


def local(tasks: Sequence[Task], workers: int, grace: float | None) -> Iterator[Group]:
    """Do tasks in local processes, and yield outcomes as they arrive."""
    staff = [Worker() for _ in range(min(workers, len(tasks)))]
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in staff:
        idle.put(worker)

    def done(task: Task) -> Group:
        worker = idle.get()
        try:
            return [(task, worker.compute(task, grace))]
        finally:
            idle.put(worker)

    try:
        _copy(staff, tasks)
        yield []
        with ThreadPoolExecutor(len(staff)) as threads:
            try:
                for future in as_completed([threads.submit(done, task) for task in tasks]):
                    yield future.result()
            except BaseException as error:  # interrupted, or no longer wanted
                threads.shutdown(wait=False, cancel_futures=True)
                for worker in staff:
                    worker.close()
                if isinstance(error, PolicyInterruptedError):
                    raise KeyboardInterrupt from None
                raise
    finally:
        for worker in staff:  # all of them first: they end at the same time
            worker.dismiss()
        for worker in staff:
            worker.release()


def _copy(staff: Sequence[Worker], tasks: Sequence[Task]) -> None:
    """Begin workers as copies of this process, unless users' policies were run in it."""
    if any(task.policy_files for task in tasks) or not starting.may_be_copied():
        return
    for problem in dict.fromkeys(task.problem for task in tasks):
        with suppress(Exception):  # a worker will say so
            warm(problem)
    if starting.may_be_copied():
        for worker in staff:
            with suppress(OSError):  # no room for that many: it begins anew when it is needed
                worker.begin(copied=True)


def _limit(task: Task, grace: float | None) -> float | None:
    """Return the seconds after which a step is ended, None where none is."""
    return None if grace is None or task.time_limit is None else task.time_limit + grace
