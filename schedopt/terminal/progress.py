"""Progress on standard error."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Event, Thread

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from schedopt.formats import number, percent
from schedopt.solvers.result import gap
from schedopt.solvers.stopping import Watch
from schedopt.terminal.console import err, text

Advance = Callable[[int, int], None]  # called with the number of finished items and of all


@dataclass(frozen=True)
class Pace:
    """How often progress is shown.

    Attributes
    ----------
    refresh : float
        Seconds between two updates of a terminal.
    first : float
        Seconds until the first line, if standard error is not a terminal.
    least, most : float
        Least and most seconds between two lines.
    part : float
        Seconds between two lines as a part of the time so far.
    """

    refresh: float = 0.2
    first: float = 1.5
    least: float = 2.0
    most: float = 10.0
    part: float = 0.25


PACE = Pace()


@contextmanager
def live(what: str) -> Iterator[Watch]:
    """Show the progress of a solver; without a terminal, by a line every few seconds."""
    began, status = time.monotonic(), ", starting"

    def line() -> Text:
        return text(f"{what}: {time.monotonic() - began:.0f} s{status}")

    def watch(seconds: float, objective: float | None, bound: float | None) -> None:
        nonlocal status
        apart = f", gap {percent(gap(objective, bound))}" if objective else ""
        status = f", best {number(objective)}, bound {number(bound)}{apart}"

    shown = err.status(line()) if err.is_terminal else None
    over = Event()

    def repeat() -> None:
        wait = PACE.first if shown is None else PACE.refresh
        while not over.wait(wait):
            if shown is not None:
                shown.update(line())
                continue
            err.print(line())
            wait = min(max(PACE.least, PACE.part * (time.monotonic() - began)), PACE.most)

    with shown or nullcontext():
        thread = Thread(target=repeat, daemon=True)
        thread.start()
        try:
            yield watch
        finally:
            over.set()
            thread.join()


@contextmanager
def bar(what: str) -> Iterator[Advance]:
    """Show a progress bar; without a terminal, a line every few seconds."""
    columns = TextColumn(what, markup=False), BarColumn(), MofNCompleteColumn()
    progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    try:
        task, status = progress.add_task(what, total=None), ticking(what)

        def advance(done: int, total: int) -> None:
            progress.start()  # it starts a thread, which must not exist when processes are forked
            progress.update(task, completed=done, total=total)
            if not err.is_terminal:
                status(done, total)

        yield advance
    finally:
        progress.stop()


def ticking(what: str) -> Advance:
    """Return a callback that prints a line of progress every few seconds."""
    said = time.monotonic() - PACE.most + PACE.first

    def advance(done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said > PACE.most:
            said = time.monotonic()
            err.print(text(f"{done:,} of {total:,} {what}"))

    return advance
