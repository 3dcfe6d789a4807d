"""How records look: a summary at a prompt and in a notebook, a data frame of what is listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, ClassVar

import msgspec

from schedopt.instances.encoding import to_json
from schedopt.instances.extras import need

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


Cell = str | int | float | bool | None  # what a cell holds; a list within a row is its JSON


class Framed:
    """A record that becomes a data frame in one call."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return the listed items as a polars frame, a row for each.

        Of an instance these are its jobs or classes, of a log the log's own table; of a result what
        its solution lists. A field of a field has a dot in its name (``groups.team``), and is null
        where a row lacks it; a list within a row is JSON.
        """
        need("polars", "to_polars")
        import polars as pl

        record = self._framed()
        columns: pl.DataFrame | None = getattr(record, "table", lambda: None)()
        if columns is not None:
            return columns
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
            yield head, to_json(each).decode()


class Shown(Framed):
    """A record that is shown by its kind, its name and its size."""

    __slots__ = ()
    __struct_fields__: ClassVar[tuple[str, ...]]
    __struct_config__: ClassVar[msgspec.structs.StructConfig]

    def __repr__(self) -> str:
        """Return its kind and name, its numbers, and how long its lists are."""
        facts = [
            f"{value} {key}" if counted else f"{key} {value}"
            for key, value, counted in self._facts()
        ]
        name = str(getattr(self, "name", ""))[:MOST_NAME]
        return f"<{self.__struct_config__.tag} {name!r}: {', '.join(facts)}>"

    def _repr_html_(self) -> str:
        """Return the same as a table."""
        name = (f"{self.__struct_config__.tag}", str(getattr(self, "name", ""))[:MOST_NAME])
        return table([name, *((key, value) for key, value, _ in self._facts())])

    def _facts(self) -> Iterator[tuple[str, str, bool]]:
        for key in self.__struct_fields__:
            value = getattr(self, key)
            if isinstance(value, tuple | list | Mapping):
                if value:
                    yield key, f"{len(value):,}", True
            elif isinstance(value, int | float) and not isinstance(value, bool):
                yield key, f"{value:,.10g}", False


MOST_NAME = 60


def table(facts: Iterable[tuple[str, str]]) -> str:
    """Return names and values as a table of HTML, every cell escaped."""
    rows = (f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in facts)
    return f"<table><tbody>{''.join(rows)}</tbody></table>"
