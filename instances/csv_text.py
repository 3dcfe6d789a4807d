"""Text in the cells of a CSV that we write: a spreadsheet shows it, and computes nothing from it.

A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return is a formula to a
spreadsheet, and may start programs. Such a text is written with an apostrophe before it, and so is
one that begins with an apostrophe itself: reading takes the apostrophe off again.

Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
_BARE, _GUARDED = r"^[=+\-@\t\r']", r"^'[=+\-@\t\r']"


def guarded(text: str) -> str:
    """Return a text as a cell holds it."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def unguarded(cell: str) -> str:
    """Return the text of a cell."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def guarded_columns(table: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """Return a table whose columns of text are as cells hold them."""
    import polars as pl

    return table.with_columns(
        pl.when(pl.col(name).str.contains(_BARE))
        .then(pl.concat_str(pl.lit("'"), pl.col(name)))
        .otherwise(pl.col(name))
        .alias(name)
        for name in columns
    )


def unguarded_columns(table: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """Return a table whose columns of text are those of cells."""
    import polars as pl

    return table.with_columns(
        pl.when(pl.col(name).str.contains(_GUARDED))
        .then(pl.col(name).str.slice(1))
        .otherwise(pl.col(name))
        .alias(name)
        for name in columns
    )
