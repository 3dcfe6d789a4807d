"""Processes that compute instances, and are replaced where they are lost or hang."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import msgspec

from policies.from_file import load_only
from schedopt.sweep.measure import Begun, Done, Failed, Finished, Outcome, Step, Task, steps
from schedopt.sweep.rows import Row

MOST_STARTS = 3
"""A step whose process ends unasked as often as this is given up."""

KILLED = f"killed on every attempt ({MOST_STARTS})"

READING = 120.0
"""Seconds more for reading an instance, and for loading and compiling what it needs."""
PATIENCE = 5.0
"""Seconds for a process without work to end by itself."""

_SPAWN = multiprocessing.get_context("spawn")
_STARTING = threading.Lock()
_STEPS: msgspec.json.Decoder[list[Step]] = msgspec.json.Decoder(list[Step])


class WorkerError(Exception):
    """A worker was closed while it worked."""


class Worker:
    """A process that computes one instance after the other.

    It is started when it is first needed. Where it dies, the step is tried again in a new one;
    where it dies of the same step again and again, or takes too long over it, it goes on without
    that step, whose row says so.
    """

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._line: Connection | None = None
        self._closed = self._busy = False

    def compute(self, task: Task, grace: float | None) -> Outcome:
        """Do a task, however often it takes.

        Parameters
        ----------
        task : Task
        grace : float or None
            Seconds beyond the time limit after which a step is ended; None, and where there is no
            time limit: never.

        Raises
        ------
        WorkerError
            If the worker is closed meanwhile.
        """
        self._busy = True
        try:
            return self._compute(task, grace)
        finally:
            self._busy = False

    def _compute(self, task: Task, grace: float | None) -> Outcome:
        limit = None if grace is None or task.time_limit is None else task.time_limit + grace
        done: dict[str, Row] = {}
        losses: Counter[str] = Counter()
        while True:
            last, late = self._follow(task, limit, done)
            if isinstance(last, Finished | Failed):
                why = last.why if isinstance(last, Failed) else None
                return Outcome(rows=list(done.values()), why=why)
            self.release()
            if self._closed:
                raise WorkerError
            losses[_name(last)] += 1
            if late or losses[_name(last)] == MOST_STARTS:
                ended = f"the worker was {KILLED}"
                if late and (last is None or last.warming):
                    ended = "it took too long to read, or to get ready"
                elif late:
                    ended = f"its process was ended after {limit:g} s, the time limit and the grace"
                if last is None:
                    why = f"{task.source.label}: {ended}"
                    return Outcome(rows=list(done.values()), why=why)
                task = _without(task, last, done, ended, limit if late else None)
            task = replace(task, runs=tuple(run for run in task.runs if run.key not in done))

    def _follow(
        self, task: Task, limit: float | None, done: dict[str, Row]
    ) -> tuple[Begun | Failed | Finished | None, bool]:
        """Have the process do a task; return the last step heard of, and whether it took too long.

        None is no step: the process reads, or goes from one to the next. What is heard in between
        goes to ``done``.
        """
        last: Begun | None = None
        try:
            line = self._ready()
            line.send(task)
            while True:
                # Reading and loading are no solver's time.
                more = READING if last is None or last.warming else 0.0
                if limit is not None and not line.poll(limit + more):
                    return last, True
                for step in _STEPS.decode(line.recv_bytes()):
                    if isinstance(step, Finished | Failed):
                        return step, False
                    last = step if isinstance(step, Begun) else None
                    if isinstance(step, Done):
                        done[step.row.key] = step.row
        except (EOFError, OSError):  # the process is no more
            return last, False

    def _ready(self) -> Connection:
        """Return the line to the process, which is started if there is none."""
        if self._line is not None:
            return self._line
        with _STARTING:  # starting is not for several threads at once
            if self._closed:
                raise EOFError
            ours, theirs = _SPAWN.Pipe()
            process = _SPAWN.Process(target=_serve, args=(theirs,), daemon=True)
            process.start()
            theirs.close()  # only so does the end of the process end the line
            self._process, self._line = process, ours
        ours.recv_bytes()  # it has imported what it needs: that is not an instance's time
        return ours

    def dismiss(self) -> None:
        """Tell the process that there is no more work: then it ends by itself."""
        if self._line is not None:
            self._line.close()

    def release(self) -> None:
        """End the process, and give back what it holds."""
        self.dismiss()
        if self._process is not None:
            self._process.join(0 if self._busy else PATIENCE)
            self._process.kill()
            self._process.join()
        self._process = self._line = None

    def close(self) -> None:
        """End the process for good; a task that it is at ends with `WorkerError`."""
        with _STARTING:
            self._closed = True
            if self._busy and self._process is not None:
                self._process.kill()


def _name(step: Begun | None) -> str:
    """Return what tells a step from the others."""
    if step is None:
        return ""
    return str(step.reference) if step.row is None else step.row.key


def _without(
    task: Task, last: Begun, done: dict[str, Row], ended: str, seconds: float | None
) -> Task:
    """Return a task without the step that never ends, which its rows say.

    Parameters
    ----------
    task : Task
    last : Begun
        The step.
    done : dict
        The rows, by key: the step's own is added where it is a run.
    ended : str
        How it ended.
    seconds : float or None
        How long it took where that was too long; None where its process died of it.
    """
    if last.row is None:
        return replace(
            task, lost={**(task.lost or {}), str(last.reference): f"no reference: {ended}"}
        )
    done[last.row.key] = msgspec.structs.replace(
        last.row,
        termination="error" if seconds is None else "time-limit",
        seconds=seconds or 0.0,
        message=ended,
    )
    return task


def _serve(line: Connection) -> None:
    """Do tasks as they come, and tell each step.

    Telling takes as long as a tiny instance, so that what has ended is told with what begins next,
    and that a policy is being loaded, only where it is.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    line.send_bytes(b"ready")
    loaded: set[tuple[str, str]] = set()
    while True:
        try:
            task = line.recv()
        except EOFError:
            sys.stdout.flush()
            os._exit(0)  # taking down an interpreter full of compiled code would take longer
        load_only(task.policy_files)
        told: list[Step] = []
        for step in steps(task):
            if isinstance(step, Begun) and step.warming and step.row is not None:
                policy = (step.row.problem, step.row.policy)
                if policy in loaded:
                    continue
                loaded.add(policy)
            told.append(step)
            if not isinstance(step, Done):  # after which the next comes at once
                line.send_bytes(msgspec.json.encode(told))
                told.clear()


def local(
    tasks: Sequence[Task], workers: int, grace: float | None
) -> Iterator[tuple[Task, Outcome]]:
    """Do tasks in processes of this machine, and yield each outcome as it is known."""
    staff = [Worker() for _ in range(min(workers, len(tasks)))]
    free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    for worker in staff:
        free.put(worker)

    def attempt(task: Task) -> Outcome:
        worker = free.get()
        try:
            return worker.compute(task, grace)
        finally:
            free.put(worker)

    try:
        with ThreadPoolExecutor(len(staff)) as threads:
            running = {threads.submit(attempt, task): task for task in tasks}
            try:
                for future in as_completed(running):
                    yield running[future], future.result()
            finally:  # done, interrupted, or no longer wanted
                for future in running:
                    future.cancel()
                for worker in staff:
                    worker.close()
    finally:
        for worker in staff:  # all of them first: they end at the same time
            worker.dismiss()
        for worker in staff:
            worker.release()
