"""How a worker starts: as a fork of this process where no other thread runs, else afresh."""

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from weakref import WeakSet

from schedopt.instances.errors import InputError
from schedopt.solvers.stopping import blocked

TRIAL = 2.0  # seconds that a copy has to end at once

_SPAWN = multiprocessing.get_context("spawn")
_THREADS = Path("/proc/self/task")
HELD: WeakSet[Any] = WeakSet()
"""Descriptors that a fork must close: our ends of the workers' pipes, journals' locks."""


def began(
    serve: Callable[[Connection], None], *, copied: bool = False
) -> tuple[BaseProcess, Connection]:
    """Start a process that serves one end of a pipe, and return it with the other end."""
    context = multiprocessing.get_context("fork") if copied else _SPAWN
    ours, theirs = context.Pipe()
    HELD.add(ours)
    process: BaseProcess = context.Process(target=serve, args=(theirs,), daemon=True)
    with warnings.catch_warnings(), blocked():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: there are none
        process.start()
    theirs.close()  # only so does the end of the process end the line
    return process, ours


def _let_go() -> None:
    for held in list(HELD):
        held.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


def may_be_copied() -> bool:
    """Tell whether this process may be forked: no other thread works in it.

    A copy has no thread but the one that made it, and what others had locked stays locked in it for
    ever. So none may be there: none of Python's, and none of an engine's. Those of BLAS are no
    hindrance, since it ends them itself before every copy and starts new ones when it needs them.
    For that a first copy is made, which ends at once; then the threads of this process are counted.
    """
    if not sys.platform.startswith("linux") or not _THREADS.is_dir():
        return False  # elsewhere what the system itself has loaded does not stand it
    if threading.current_thread() is not threading.main_thread() or threading.active_count() > 1:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            copy = os.fork()
    except OSError:  # there is no room for another like it
        return False
    if copy == 0:
        os._exit(0)
    return _ends(copy) and _alone()


def _ends(child: int) -> bool:
    """Wait until a copy has ended; end it where it does not by itself."""
    until = time.monotonic() + TRIAL
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _alone() -> bool:
    """Tell whether this process has one thread, once those that end are gone."""
    for _ in range(20):
        if len(os.listdir(_THREADS)) == 1:  # noqa: PTH208  nothing but the number is needed
            return True
        time.sleep(0.0005)
    return False


def unready(process: BaseProcess, seconds: float) -> InputError | None:
    """Return why a process ended before it was ready; None where somebody killed it."""
    process.join(seconds)
    if process.exitcode is None or process.exitcode < 0:
        return None
    return InputError(
        'processes that can begin: a script must call this under `if __name__ == "__main__":`',
        found=f"one that ended before it was ready, with exit status {process.exitcode}",
        place="jobs",
    )


def leave_if_begun_by_ourselves() -> None:
    """Exit if this process is still importing the script that spawned it."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)
