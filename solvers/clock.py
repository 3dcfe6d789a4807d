"""The clock of time limits: it stands still while kernels are compiled, which is not solving."""

import time
from collections.abc import Callable


class Stopwatch:
    """The seconds spent in something that may be entered again from within."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._depth = 0
        self._began = 0.0

    def start(self) -> None:
        """Start, unless it runs already."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def stop(self) -> None:
        """Stop, where this ends what was entered first."""
        self._depth -= 1
        if self._depth == 0:
            self.spent += time.perf_counter() - self._began

    def seconds(self) -> float:
        """Return the seconds so far, those of what still runs among them."""
        running = time.perf_counter() - self._began if self._depth else 0.0
        return self.spent + running


class Compiling(Stopwatch):
    """The same for compiling; ``tell`` is called when that begins for the first time."""

    tell: Callable[[], None] | None = None

    def begun(self) -> None:
        """Say so once, where somebody asked for it."""
        tell, self.tell = self.tell, None
        if tell:
            tell()


compiling = Compiling()
"""What kernels took to be compiled, or loaded, in this process; `solvers.machine_code` keeps it."""


def now() -> float:
    """Return seconds from an arbitrary moment on, without those of compiling."""
    return time.perf_counter() - compiling.seconds()
