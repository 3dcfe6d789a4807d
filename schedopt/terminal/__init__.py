"""The terminal: tables on standard output, progress on standard error.

Names from files are never interpreted as markup, emoji codes or control sequences.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table as Rendered
from rich.text import Text

from schedopt.formats import number, percent
from schedopt.instances.errors import printable
from schedopt.solvers.result import gap

if TYPE_CHECKING:
    from schedopt.solvers.stopping import Watch
    from schedopt.tables import Table

out = Console(highlight=False, emoji=False)
if not out.is_terminal and "COLUMNS" not in os.environ:
    out.width = 120


def text(words: str, style: str = "") -> Text:
    """Return text without markup, with control characters as visible escapes."""
    return Text(printable(words), style=style)


def say(words: str, style: str = "") -> None:
    """Print a line of plain text."""
    out.print(text(words, style))


def show(shown: Table, styles: Sequence[str] = ()) -> None:
    """Print a table below its title, without its empty columns."""
    if shown.title:
        say(shown.title, "italic")
    shown, rendered = shown.without_empty_columns(), Rendered()
    for column in shown.columns:
        justify: Any = "right" if column.right else "left"
        rendered.add_column(text(column.title), justify=justify, overflow="fold")
    for i, row in enumerate(shown.texts()):
        rendered.add_row(*map(text, row), style=styles[i] if i < len(styles) else None)
    out.print(rendered)


@contextmanager
def live(what: str) -> Iterator[Watch]:
    """Show the time, the incumbent and the bound of a solver."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, **_on_stderr()) as progress:
        task = progress.add_task(printable(what), total=None)

        def watch(_: float, objective: float | None, bound: float | None) -> None:
            apart = f", gap {percent(gap(objective, bound))}" if objective else ""
            status = f"best {number(objective)}, bound {number(bound)}{apart}"
            progress.update(task, description=printable(f"{what}: {status}"))

        yield watch


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar, which is told the number of finished items and of all."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn(what, markup=False), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, **_on_stderr()) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _on_stderr() -> dict[str, Any]:
    console = Console(stderr=True, highlight=False, emoji=False)
    return {"console": console, "transient": True, "disable": not console.is_terminal}
