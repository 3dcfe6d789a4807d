"""The two consoles, and how a table or a line of plain text is put on them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from schedopt.instances.errors import printable

if TYPE_CHECKING:  # a verb that prints no table loads none
    from rich.table import Table as Rendered

    from schedopt.tables import Table


out = Console(highlight=False, emoji=False)
if not out.is_terminal and "COLUMNS" not in os.environ:
    out.width = 120
err = Console(stderr=True, highlight=False, emoji=False)
LONGEST = 40  # longest word that a table never breaks while there is room


def text(words: str, style: str = "") -> Text:
    """Return text in which no markup is read and no control character acts."""
    return Text(printable(words), style=style)


def say(words: str, style: str = "") -> None:
    """Print a line of text as it is."""
    out.print(text(words, style))


def show(shown: Table, styles: Sequence[str] = ()) -> None:
    """Print a table."""
    out.print(table(shown, styles))


def table(shown: Table, styles: Sequence[str] = ()) -> Rendered:
    """Return a table without its empty columns, whose numbers are aligned to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Rendered

    shown = shown.without_empty_columns()
    rendered = Rendered(title=text(shown.title) if shown.title else None, title_justify="left")
    narrowest, rows = 1, shown.texts()
    for column, texts in zip(shown.columns, zip(*rows, strict=True), strict=True):
        cells = [printable(cell) for cell in (column.title, *texts)]
        longest = max(len(word) for cell in cells for word in (cell.split() or [""]))
        narrowest += longest + 3
        rendered.add_column(
            text(column.title),
            justify="right" if column.right else "left",
            overflow="fold",
            min_width=longest if longest <= LONGEST else None,
            no_wrap=not any(" " in cell for cell in cells) and longest <= LONGEST,
        )
    if narrowest > out.width:
        rendered.box, rendered.padding, rendered.pad_edge = SIMPLE_HEAD, (0, 1, 0, 0), False
    if narrowest - len(shown.columns) >= out.width:  # then words break: nothing is cut off
        for drawn in rendered.columns:
            drawn.min_width, drawn.no_wrap = None, False
    for i, row in enumerate(rows):
        style = styles[i] if i < len(styles) else ""
        rendered.add_row(*map(text, row), style=style or None)
    return rendered
