"""The clock of time limits, which stops while kernels are compiled."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from schedopt.solvers.stopping import stopped


class CompilingStopwatch:
    """A stopwatch of the time spent compiling; blocks may be nested.

    ``tell``, if set, is called once, when compiling begins.
    """

    tell: Callable[[], None] | None = None

    def __init__(self) -> None:
        self.spent = 0.0
        self._depth = 0
        self._began = 0.0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of a block."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self.spent += time.perf_counter() - self._began

    def seconds(self) -> float:
        """Return the seconds so far."""
        return self.spent + (time.perf_counter() - self._began if self._depth else 0.0)

    def note_compiling(self) -> None:
        """Call ``tell`` once."""
        tell, self.tell = self.tell, None
        if tell:
            tell()


compiling = CompilingStopwatch()
"""Time spent compiling or loading kernels in this process; see `solvers.compiling`."""


def now() -> float:
    """Return seconds since an arbitrary moment, without the time spent compiling."""
    return time.perf_counter() - compiling.seconds()


def expired(until: float) -> bool:
    """Return True if the time ``until``, as `now` counts, has passed, or the run must end."""
    return now() >= until or stopped()
