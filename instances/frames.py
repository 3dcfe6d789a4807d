"""Records as data frames: a row for each item that a record lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from schedopt.instances.extras import need

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@runtime_checkable
class Tabled(Protocol):
    """A record that may hold a table as columns rather than as rows."""

    def table(self) -> pl.DataFrame | None:
        """Return the table, None where it holds none."""


Cell = str | int | float | bool | None
"""What a cell holds; a list within a row is its JSON."""


class Framed:
    """A record that becomes a data frame in one call."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return the listed items as a polars frame, a row for each.

        Of an instance these are its jobs or classes; of a result, what its solution lists: tasks,
        epochs, nights, classes, or the names selected. A field of a field has a dot in its name
        (``groups.team``), and is null where a row lacks it; a list within a row is JSON. A record
        that lists nothing is one row; of a log it is the log's own table, or when its jobs started.
        """
        need("polars", "to_polars")
        import polars as pl

        record = self._framed()
        table = record.table() if isinstance(record, Tabled) else None
        if table is not None:
            return table
        rows = [dict(_cells("", each)) for each in _listed(record)]
        heads = dict.fromkeys(head for row in rows for head in row)
        return pl.DataFrame({head: [row.get(head) for row in rows] for head in heads}, strict=False)

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as a pandas frame; pandas has to be installed."""
        import pandas as pd

        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    def _framed(self) -> object:
        """Return the record whose lists become rows."""
        return self


def _listed(record: object) -> Sequence[object]:
    """Return the listed records of a record, else the record itself."""
    lists = [list(value) for _, value in _fields(record) if isinstance(value, tuple | list)]
    for kind in (msgspec.Struct, str):
        for each in lists:
            if each and isinstance(each[0], kind):
                return [{"name": name} for name in each] if kind is str else each
    return [record]


def _fields(record: object) -> Iterator[tuple[str, object]]:
    if isinstance(record, Mapping):
        yield from record.items()
    elif isinstance(record, msgspec.Struct):
        for key in record.__struct_fields__:
            yield key, getattr(record, key)


def _cells(place: str, value: object) -> Iterator[tuple[str, Cell]]:
    """Yield the cells of a row, by the names of their columns."""
    for key, each in _fields(value):
        head = f"{place}{key}"
        if isinstance(each, Mapping | msgspec.Struct):
            yield from _cells(f"{head}.", each)
        elif isinstance(each, str | int | float | bool) or each is None:
            yield head, each
        elif each is not msgspec.UNSET and not isinstance(each, bytes):
            yield head, msgspec.json.encode(each).decode()
