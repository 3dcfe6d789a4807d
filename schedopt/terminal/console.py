"""The two consoles, and how a table or a line of plain text is put on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from schedopt.instances.errors import printable

if TYPE_CHECKING:  # a verb that prints no table loads none
    from rich.table import Table

    from schedopt.problems.shown import ShownTable

out = Console(highlight=False, emoji=False)
if not out.is_terminal:
    out.width = 120
err = Console(stderr=True, highlight=False, emoji=False)


def text(words: str, style: str = "") -> Text:
    """Return text in which no markup is read and no control character acts."""
    return Text(printable(words), style=style)


def say(words: str, style: str = "") -> None:
    """Print a line of text as it is."""
    out.print(text(words, style))


def show(shown: ShownTable, styles: Sequence[str] = ()) -> None:
    """Print a table."""
    out.print(table(shown, styles))


def table(shown: ShownTable, styles: Sequence[str] = ()) -> Table:
    """Return a table of plain text, its numbers aligned to the right.

    ``styles``: a style for each row; none where there are fewer.
    """
    from rich.table import Table

    rendered = Table(title=text(shown.title) if shown.title else None, title_justify="left")
    for head, right in zip(shown.heads, shown.numeric(), strict=True):
        rendered.add_column(text(head), justify="right" if right else "left", overflow="fold")
    for i, row in enumerate(shown.rows):
        style = styles[i] if i < len(styles) else ""
        rendered.add_row(*(text(cell) for cell in row), style=style or None)
    return rendered
