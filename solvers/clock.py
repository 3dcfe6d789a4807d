"""The clock of time limits, which stops while kernels are compiled: that is not solving."""

import time
from collections.abc import Callable

from schedopt.solvers.stopping import stopped


class CompilingStopwatch:
    """The seconds spent compiling, which may be entered again from within.

    ``tell`` is called when compiling first begins, where somebody asked for it.
    """

    tell: Callable[[], None] | None = None

    def __init__(self) -> None:
        self.spent = 0.0
        self._depth = 0
        self._began = 0.0

    def start(self) -> None:
        """Start, unless it is running already."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def stop(self) -> None:
        """Stop when the outermost entry ends."""
        self._depth -= 1
        if self._depth == 0:
            self.spent += time.perf_counter() - self._began

    def seconds(self) -> float:
        """Return the seconds so far, of what is still running too."""
        return self.spent + (time.perf_counter() - self._began if self._depth else 0.0)

    def note_compiling(self) -> None:
        """Say so once, where somebody asked for it."""
        tell, self.tell = self.tell, None
        if tell:
            tell()


compiling = CompilingStopwatch()
"""Seconds spent compiling or loading kernels in this process; `solvers.machine_code` keeps it."""


def now() -> float:
    """Return seconds since an arbitrary moment, compiling left out."""
    return time.perf_counter() - compiling.seconds()


def expired(until: float) -> bool:
    """Tell whether a moment of `now` has come, or the run was told to end."""
    return now() >= until or stopped()
