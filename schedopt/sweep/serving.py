"""The worker's side of a sweep: it does tasks and reports outcomes."""

import gc
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from typing import Generic

import msgspec

from schedopt.policies.from_file import load_only
from schedopt.solvers.stopping import ignored
from schedopt.sweep.journal import Keyed, R
from schedopt.sweep.measure import Begun, Done, Outcome, Step, Task, outcome, steps

TOLD = 0.02  # seconds between reports; a process that dies loses no more work than that
ORPHANED = 1.0  # seconds between two looks at who the parent is
LONG = 0.2  # seconds after which the rest of what came together is left to others
INTERRUPTED = 130  # exit status of a worker whose policy was interrupted, or raised that


class Reply(msgspec.Struct, Generic[R], frozen=True):
    """The outcome of the next of several tasks, and whether the others stay undone."""

    outcomes: list[Outcome[R]]
    over: bool = False


def serve(line: Connection) -> None:
    """Do tasks as they come down a line: one, of which each step is told, or several."""
    ignored()  # Ctrl-C is the parent's
    parent = multiprocessing.parent_process()

    def follow() -> None:
        # A worker forked later holds the other end of our sentinel too, and may be at work.
        while parent is not None and not wait([parent.sentinel], ORPHANED):
            if os.getppid() != parent.pid:
                break
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    line.send_bytes(b"ready")
    gc.freeze()  # loaded objects stay: rescanning them costs time
    loaded: set[tuple[str, str]] = set()
    while True:
        try:
            task = line.recv()
        except EOFError:
            sys.stdout.flush()
            os._exit(0)  # taking down an interpreter full of compiled code would take longer
        try:
            if isinstance(task, tuple):
                _do_all(line, task)
            else:
                _do_in_steps(line, task, loaded)
        except KeyboardInterrupt:  # a policy's own: signals are the parent's
            os._exit(INTERRUPTED)


def _do_all(line: Connection, tasks: Sequence[Task]) -> None:
    began = told = time.monotonic()
    done: list[Outcome[Keyed]] = []
    for task in tasks:
        load_only(task.policy_files)
        done.append(outcome(task))
        now = time.monotonic()
        if task is tasks[-1] or now - began >= LONG:
            break
        if now - told >= TOLD:
            line.send_bytes(msgspec.json.encode(Reply(done)))
            told = now
            done.clear()
    line.send_bytes(msgspec.json.encode(Reply(done, over=True)))


def _do_in_steps(line: Connection, task: Task, loaded: set[tuple[str, str]]) -> None:
    """Do a task, and tell each step."""
    load_only(task.policy_files)
    told: list[Step[Keyed]] = []
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
