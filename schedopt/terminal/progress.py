"""Progress on standard error."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from schedopt.formats import number, percent
from schedopt.instances.errors import printable
from schedopt.solvers.result import gap
from schedopt.solvers.stopping import Watch
from schedopt.terminal.console import err, text

Advance = Callable[[int, int], None]  # called with the number of finished items and of all


class Pace:
    """Decides when the next line of progress is due, if standard error is not a terminal.

    Parameters
    ----------
    first : float
        Seconds until the first line.
    least, most : float
        Least and most seconds between two lines.
    part : float
        Seconds between two lines as a part of the time so far.
    """

    def __init__(
        self, first: float = 1.5, least: float = 2.0, most: float = 10.0, part: float = 0.25
    ) -> None:
        self.least, self.most, self.part = least, most, part
        self.began = time.monotonic()
        self._next = self.began + first

    def is_due(self) -> bool:
        """Return True if a line is due, and then wait for the next one."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + min(max(self.least, self.part * (now - self.began)), self.most)
        return True


@contextmanager
def live(what: str) -> Iterator[Watch]:
    """Show the time, the incumbent and the bound of a solver."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    pace, is_terminal = Pace(), err.is_terminal
    with Progress(*columns, console=err, transient=True, disable=not is_terminal) as progress:
        task = progress.add_task(printable(what), total=None)

        def watch(_: float, objective: float | None, bound: float | None) -> None:
            apart = f", gap {percent(gap(objective, bound))}" if objective else ""
            status = f"best {number(objective)}, bound {number(bound)}{apart}"
            if is_terminal:
                progress.update(task, description=printable(f"{what}: {status}"))
            elif pace.is_due():
                seconds = time.monotonic() - pace.began  # of all stages
                err.print(text(f"{what}: {seconds:.0f} s, {status}"))

        yield watch


@contextmanager
def bar(what: str) -> Iterator[Advance]:
    """Show a progress bar; without a terminal, a line every few seconds."""
    columns = TextColumn(what, markup=False), BarColumn(), MofNCompleteColumn()
    progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    try:
        task, line = progress.add_task(what, total=None), ticking(what)

        def advance(done: int, total: int) -> None:
            progress.start()  # it starts a thread, which must not exist when processes are forked
            progress.update(task, completed=done, total=total)
            if not err.is_terminal:
                line(done, total)

        yield advance
    finally:
        progress.stop()


def ticking(what: str) -> Advance:
    """Return a callback that prints a line of progress every few seconds."""
    pace = Pace()

    def advance(done: int, total: int) -> None:
        if pace.is_due():
            err.print(text(f"{done:,} of {total:,} {what}"))

    return advance
