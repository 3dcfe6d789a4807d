"""Progress on standard error, while something runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from schedopt.formats import number, percent
from schedopt.solvers.result import Watch, gap
from schedopt.terminal.console import err, text

Advance = Callable[[int, int], None]  # called with how many are done and how many there are
EVERY = 10.0  # seconds between two lines where standard error is no terminal


@contextmanager
def live(what: str) -> Iterator[Watch | None]:
    """Show incumbent, bound and gap while a solver runs; nothing without a terminal."""
    if not err.is_terminal:
        yield None
        return
    with err.status(text(f"{what}: starting")) as status:

        def watch(seconds: float, objective: float | None, bound: float | None) -> None:
            status.update(
                text(
                    f"{what}: {seconds:.1f} s, best {number(objective)}, "
                    f"bound {number(bound)}, gap {percent(gap(objective, bound))}"
                )
            )

        yield watch


@contextmanager
def bar(what: str) -> Iterator[Advance]:
    """Show a progress bar; without a terminal, a line now and then."""
    columns = (
        TextColumn(what, markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    try:
        task, told = progress.add_task(what, total=None), ticking(what)

        def advance(done: int, total: int) -> None:
            progress.start()  # a thread: until then this process may be copied
            progress.update(task, completed=done, total=total)
            if not err.is_terminal:
                told(done, total)

        yield advance
    finally:
        progress.stop()


def ticking(what: str) -> Advance:
    """Return a callback that prints a line of progress now and then."""
    said = time.monotonic()

    def advance(done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said > EVERY:
            said = time.monotonic()
            err.print(text(f"{done:,} of {total:,} {what}"))

    return advance
