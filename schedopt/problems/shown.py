"""What a row has to say about a result, as data that a terminal or a page renders."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

Line = tuple[str, str]
"""What is said, such as ``threshold``, and the value in words."""


class ShownTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of plain text; whoever renders it escapes it.

    Attributes
    ----------
    title : str
    heads : tuple of str
        A heading for each column.
    rows : tuple of tuple of str
        Each as long as ``heads``.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.heads) for row in self.rows):
            raise ValueError(f"{self.title}: a row and the headings differ in length")

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
