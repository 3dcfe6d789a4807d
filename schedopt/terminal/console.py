"""Tables and lines of plain text on standard output and standard error."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from schedopt.instances.errors import printable

if TYPE_CHECKING:  # a verb that prints no table loads none
    from rich.table import Table as Rendered

    from schedopt.tables import Column, Table


out = Console(highlight=False, emoji=False)
if not out.is_terminal and "COLUMNS" not in os.environ:
    out.width = 120
err = Console(stderr=True, highlight=False, emoji=False)


def text(words: str, style: str = "") -> Text:
    """Return text without markup, with control characters as visible escapes."""
    return Text(printable(words), style=style)


def say(words: str, style: str = "") -> None:
    """Print a line of plain text."""
    out.print(text(words, style))


def show(shown: Table, styles: Sequence[str] = ()) -> None:
    """Print a table below its title."""
    if shown.title:
        say(shown.title, "italic")
    out.print(table(shown, styles))


def table(
    shown: Table,
    styles: Sequence[str] = (),
    *,
    longest: int = 40,  # characters of the longest word that is not broken if there is room
) -> Rendered:
    """Return a table for a console, without its title and empty columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Rendered

    shown = shown.without_empty_columns()
    rendered = Rendered()
    rows = shown.texts()
    cells = [
        [printable(cell) for cell in (column.title, *texts)]
        for column, texts in zip(shown.columns, zip(*rows, strict=True), strict=True)
    ]
    least = [
        min(longest, max(map(cell_len, ("", *column.title.split(), *_pieces(column, texts)))))
        for column, (_, *texts) in zip(shown.columns, cells, strict=True)
    ]
    frame = 3 * len(cells) + 1
    if sum(least) + frame > out.width:
        rendered.box, rendered.padding = SIMPLE_HEAD, 0
        frame = len(cells) + 1
    for column, width in zip(shown.columns, _widths(cells, least, out.width - frame), strict=True):
        rendered.add_column(
            text(column.title),
            justify="right" if column.right else "left",
            overflow="fold",
            width=width,
        )
    for i, row in enumerate(rows):
        style = styles[i] if i < len(styles) else ""
        rendered.add_row(*map(text, row), style=style or None)
    return rendered


def _pieces(column: Column, texts: Sequence[str]) -> list[str]:
    """Return the parts of cells that are not broken: words, or numbers with their units."""
    return list(texts) if column.right else [word for cell in texts for word in cell.split()]


def _widths(columns: Sequence[Sequence[str]], least: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns that together fit, if possible with their least widths.

    Wide columns are cut to one common width. Rich's own choice may cut off the last columns.
    """
    widest = [max(map(cell_len, cells)) for cells in columns]
    if sum(least) > room:
        least = [1] * len(columns)

    def at(common: int) -> list[int]:
        return [min(max(common, low), high) for low, high in zip(least, widest, strict=True)]

    limits = range(min(max(widest, default=1), max(room, 1)), 1, -1)
    return at(next((common for common in limits if sum(at(common)) <= room), 1))
