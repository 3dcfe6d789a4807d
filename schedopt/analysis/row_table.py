"""The rows of a bench in a notebook: shown as a summary, and as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.analysis.summary import overview, summary
from schedopt.analysis.tables import standings
from schedopt.formats import counted
from schedopt.sweep.rows import Row, to_frame
from schedopt.tables import to_html

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class RowTable(list[Row]):
    """A list of the rows of a bench that is shown as a summary.

    In a notebook it is the summary's tables; `to_polars` and `to_pandas` return a frame.
    """

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a frame of polars: a column for each field, options as JSON."""
        return to_frame(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as a pandas frame; pandas has to be installed."""
        import pandas as pd

        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    def __repr__(self) -> str:
        """Return how many rows there are of what; `list(rows)` shows each."""
        about = (f"; {of.problem}: {counted(of.instances, 'instance')}" for of in overview(self))
        return f"<{counted(len(self), 'row')}{''.join(about)}>"

    def _repr_html_(self) -> str:
        tables = standings(summary(self), overview(self))
        return "\n".join(to_html(shown, caption=True) for _, shown in tables)
