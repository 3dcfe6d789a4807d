"""Stops the clock of time limits while numba compiles or loads a kernel."""

from functools import cache

from numba.core import event

from schedopt.solvers.clock import compiling


class _ClockPause(event.Listener):
    """Holds the clock of time limits while numba compiles, loads or stores."""

    def on_start(self, event: object) -> None:
        compiling.start()

    def on_end(self, event: object) -> None:
        compiling.stop()


class _CompilingNotice(event.Listener):
    """Reports that code is compiled that is not in the cache."""

    def on_start(self, event: object) -> None:
        compiling.note_compiling()

    def on_end(self, event: object) -> None:
        pass


@cache
def stop_clock_while_compiling() -> None:
    """Register the listeners, once for each process."""
    event.register("numba:compiler_lock", _ClockPause())
    event.register("numba:compile", _CompilingNotice())
