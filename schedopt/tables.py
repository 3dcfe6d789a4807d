"""A table for terminals, pages and files.

A column formats its values. Rows have the unformatted values, by which pages sort and which files
keep with all digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import Any, NamedTuple

from schedopt import formats
from schedopt.instances.errors import printable


class Cell(NamedTuple):
    """A value with its own display text, such as ``3 of 4``."""

    text: str
    value: float | str | None  # the sort key on a page and the cell in a file; None comes last


Value = float | str | Cell | None  # a text is not formatted; None is an empty cell


@dataclass(frozen=True)
class Column:
    """A column: its heading, the format of its values, and whether it is right-aligned."""

    title: str
    write: Callable[[Any], str] = str
    right: bool = True


# Kinds of columns, which are made from their titles.

text = partial(Column, right=False)
number = partial(Column, write=formats.number)  # six significant digits
count = partial(Column, write="{:,}".format)  # whole numbers
percent = partial(Column, write=formats.percent)  # fractions, with two decimals
share = partial(Column, write="{:.1%}".format)  # shares, with one decimal
flag = partial(Column, write=lambda value: "yes" if value else "no", right=False)
duration = partial(Column, write=formats.duration)  # seconds, each in h, min, s, ms or µs


@dataclass(frozen=True)
class Table:
    """A table of unformatted, unescaped values.

    Attributes
    ----------
    title : str
    columns : tuple of Column
    rows : tuple of tuple
        Each as long as ``columns``, with a number, a text, a `Cell`, or None for an empty cell.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(cls, title: str, columns: Iterable[Column], rows: Iterable[Iterable[Value]]) -> Table:
        """Return a table from iterables of columns and rows."""
        return cls(title, tuple(columns), tuple(map(tuple, rows)))

    @property
    def heads(self) -> tuple[str, ...]:
        """The heading of each column."""
        return tuple(column.title for column in self.columns)

    def texts(self) -> list[tuple[str, ...]]:
        """Return the rows as formatted texts."""
        return [tuple(map(_text, self.columns, row)) for row in self.rows]

    def without_empty_columns(self) -> Table:
        """Return the table without its empty columns."""
        kept = [i for i, texts in enumerate(zip(*self.texts(), strict=True)) if any(texts)]
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in kept), rows=rows)


def _text(column: Column, value: Value) -> str:
    if isinstance(value, Cell):
        return value.text
    return "" if value is None else value if isinstance(value, str) else column.write(value)


# HTML.

STAMP = re.compile(r"(\d{4}-\d\d-\d\dT)(\d\d:\d\d[\d:.+-]*)")
HALVES = r'<span class="time">\1</span><wbr><span class="time">\2</span>'
"""An ISO time that can only be broken between the date and the time of day."""


def plain(text: str) -> str:
    """Return text escaped for HTML, with control characters as visible escapes."""
    return escape(printable(text), quote=True)


def to_html(
    table: Table,
    terms: Mapping[str, str] | None = None,
    *,
    caption: bool = False,
) -> str:
    """Return a table as HTML; ``terms`` are definitions of headings, shown as tooltips."""
    sides = ["" if column.right else ' class="text"' for column in table.columns]
    heads = "".join(
        f'<th{side} scope="col" title="{plain((terms or {}).get(head, ""))}">{plain(head or " ")}'
        "</th>"
        for head, side in zip(table.heads, sides, strict=True)
    )
    lines = (
        f"<tr>{''.join(map(_html_cell, sides, texts, row))}</tr>\n"
        for texts, row in zip(table.texts(), table.rows, strict=True)
    )
    title = f"<caption><span>{plain(table.title)}</span></caption>" if caption else ""
    return (
        f'<table class="sortable">{title}\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{''.join(lines)}</tbody></table>"
    )


def _html_cell(side: str, text: str, value: Value) -> str:
    held = value.value if isinstance(value, Cell) else value
    sorts = "" if held is None else plain(str(held))
    shown = STAMP.sub(HALVES, plain(text))
    return f'<td{side} data-value="{sorts}"><span class="name">{shown}</span></td>'
