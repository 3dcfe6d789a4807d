"""The rows of a bench as people use them in a notebook: shown, and as a data frame."""

from __future__ import annotations

from html import escape
from io import BytesIO
from typing import TYPE_CHECKING

from schedopt.analysis.summary import overview, summary
from schedopt.analysis.tables import standings
from schedopt.formats import counted
from schedopt.instances.frames import Framed
from schedopt.problems.shown import ShownTable
from schedopt.sweep.rows import Row, table

if TYPE_CHECKING:
    import polars as pl


class RowTable(Framed, list[Row]):
    """A list of the rows of a bench that shows what they say, not each of them.

    In a notebook it is the summary's tables; `to_polars` and `to_pandas` return a frame.
    """

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a frame of polars: a column for each field, options as JSON."""
        import polars as pl

        return pl.read_parquet(BytesIO(table(self, ".parquet")))

    def __repr__(self) -> str:
        """Return how many rows there are of what; `list(rows)` shows each."""
        about = (f"; {of.problem}: {counted(of.instances, 'instance')}" for of in overview(self))
        return f"<{counted(len(self), 'row')}{''.join(about)}>"

    def _repr_html_(self) -> str:
        return "\n".join(html(shown) for _, shown in standings(summary(self), overview(self)))


def html(shown: ShownTable) -> str:
    """Return a table as HTML, every cell escaped."""
    heads = "".join(f"<th>{escape(head)}</th>" for head in shown.heads)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in shown.rows
    )
    caption = f"<caption>{escape(shown.title)}</caption>"
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table>"
