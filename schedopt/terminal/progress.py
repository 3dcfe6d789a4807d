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


def _pace(seconds: float = 3.0) -> Callable[[], bool]:
    """Return a function that is True if so many seconds have passed since it was last True."""
    last = time.monotonic()

    def is_due() -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last < seconds:
            return False
        last = now
        return True

    return is_due


@contextmanager
def live(what: str) -> Iterator[Watch]:
    """Show the time, the incumbent and the bound of a solver; without a terminal, some lines."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    is_due, began = _pace(), time.monotonic()
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(printable(what), total=None)

        def watch(_: float, objective: float | None, bound: float | None) -> None:
            apart = f", gap {percent(gap(objective, bound))}" if objective else ""
            status = f"best {number(objective)}, bound {number(bound)}{apart}"
            progress.update(task, description=printable(f"{what}: {status}"))
            if not err.is_terminal and is_due():
                err.print(text(f"{what}: {time.monotonic() - began:.0f} s, {status}"))

        yield watch


@contextmanager
def bar(what: str) -> Iterator[Advance]:
    """Show a progress bar; without a terminal, a line every few seconds."""
    columns = TextColumn(what, markup=False), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task, line = progress.add_task(what, total=None), ticking(what)

        def advance(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)
            if not err.is_terminal:
                line(done, total)

        yield advance


def ticking(what: str) -> Advance:
    """Return a callback that prints a line of progress every few seconds."""
    is_due = _pace()

    def advance(done: int, total: int) -> None:
        if is_due():
            err.print(text(f"{done:,} of {total:,} {what}"))

    return advance
