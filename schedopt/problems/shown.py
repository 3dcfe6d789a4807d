"""What a row has to say about a result, as data that a terminal or a page renders."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

Line = tuple[str, str]  # what is said, such as ``threshold``, and the value in words


Value = float | str | None  # what a cell is sorted by; None comes last

NUMERIC = re.compile(r"[-–+±<>\d.,%]+( (of|to) [-+<>\d.,%]+| (µs|ms|s|min|h))?")
"""A number, a share, an interval, a count of a count, a time: such columns align to the right."""


class ShownTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of plain text; whoever renders it escapes it."""

    title: str
    heads: tuple[str, ...]  # a heading for each column
    rows: tuple[tuple[str, ...], ...]  # each as long as ``heads``
    # What sorts each cell, where that is not its text; for each row, or for none.
    values: tuple[tuple[Value, ...], ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.heads) for row in self.rows):
            raise ValueError(f"{self.title}: a row and the headings differ in length")

    def numeric(self) -> list[bool]:
        """Tell of each column whether numbers stand in it, and nothing else."""
        columns = ([row[i] for row in self.rows if row[i]] for i in range(len(self.heads)))
        return [bool(cells) and all(map(NUMERIC.fullmatch, cells)) for cells in columns]

    def filled(self) -> ShownTable:
        """Return the table without the columns in which nothing stands."""
        kept = [i for i in range(len(self.heads)) if any(row[i] for row in self.rows)]
        return ShownTable(
            title=self.title,
            heads=tuple(self.heads[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in self.rows),
        )


Lines = Iterator[Line]
Tables = Iterator[ShownTable]
