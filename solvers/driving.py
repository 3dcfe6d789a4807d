"""The one loop that drives a search of our own: advance it, watch it, stop it in time."""

import platform
from functools import cache
from typing import Protocol

import numpy as np

from schedopt.solvers.clock import now
from schedopt.solvers.result import NOISE, Termination, gap
from schedopt.solvers.running import Run
from schedopt.solvers.stopping import stopped

STEP = 0.1
"""Seconds between two looks at the clock, and between two chances for Ctrl-C."""


class Search(Protocol):
    """A search that works in short steps and can be interrupted between them."""

    @property
    def value(self) -> float | None:
        """The best objective so far."""

    @property
    def bound(self) -> float | None:
        """The best valid bound so far."""

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether there is nothing left to do."""


@cache
def version() -> str:
    """Return the version of what compiles the searches, numba, and of Python."""
    from importlib.metadata import version as installed

    from schedopt.solvers.compiling import COMPILES

    python = f"Python {platform.python_version()}"
    return f"numba {installed('numba')}, {python}" if COMPILES else python


def plain_version() -> str:
    """Return the version of what searches without compiled code run on."""
    return f"numpy {np.__version__}, Python {platform.python_version()}"


def drive(search: Search, run: Run, *, noise: float = NOISE) -> tuple[Termination, str]:
    """Advance a search until it is done, near enough, out of time or memory, or interrupted.

    Returns why it stopped, and an error message or an empty one: ``optimal`` where the gap is
    closed as far as was asked, or where the search ended without a solution or a bound to compare;
    ``completed`` where it ended with a gap. ``noise`` is the relative gap that counts as none, 0
    for a search without rounding.
    """
    limits = run.limits
    try:
        while True:
            spent = now() - run.began
            left = STEP if limits.time_limit is None else min(STEP, limits.time_limit - spent)
            done = search.advance(max(left, 0.0))
            spent = now() - run.began
            value, bound = search.value, search.bound
            run.note(value, bound)
            if limits.watch:
                limits.watch(spent, value, bound)
            distance = gap(value, bound)
            if distance is not None and distance <= max(limits.gap, noise):
                return "optimal", ""
            if done:
                return "optimal" if distance is None else "completed", ""
            if stopped():
                return "interrupted", ""
            if limits.time_limit is not None and spent >= limits.time_limit:
                return "time-limit", ""
    except KeyboardInterrupt:
        return "interrupted", ""
    except MemoryError as error:
        return "error", str(error)
