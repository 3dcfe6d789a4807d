"""Tables and lines of plain text on standard output and standard error."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

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


def table(shown: Table, styles: Sequence[str] = ()) -> Rendered:
    """Return a table for a console, without its title and empty columns."""
    from rich.table import Table as Rendered

    shown, rendered = shown.without_empty_columns(), Rendered()
    for column in shown.columns:
        justify: Literal["left", "right"] = "right" if column.right else "left"
        rendered.add_column(text(column.title), justify=justify, overflow="fold")
    for i, row in enumerate(shown.texts()):
        style = styles[i] if i < len(styles) else ""
        rendered.add_row(*map(text, row), style=style or None)
    return rendered
