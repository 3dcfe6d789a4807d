"""Tables (CSV, Parquet, Excel, a frame of pandas or polars) as cells of text.

Every cell becomes the text that a person would write: so one reader takes them all, and messages
name the line of a CSV or the row of another table.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Protocol, runtime_checkable

from schedopt.instances.errors import InputError, decoded
from schedopt.instances.excel import ENDING, read_sheet
from schedopt.instances.files import check_rows, read_bytes
from schedopt.instances.parquet import read_parquet


class _Titled(Protocol):
    @property
    def columns(self) -> Iterable[object]:
        """The titles."""


@runtime_checkable
class PandasFrame(_Titled, Protocol):
    """The methods of a pandas frame that are used."""

    def itertuples(self, index: bool = ..., name: str | None = ...) -> Iterable[Sequence[object]]:
        """Yield the rows."""


@runtime_checkable
class PolarsFrame(_Titled, Protocol):
    """The methods of a polars frame that are used."""

    def iter_rows(self) -> Iterable[Sequence[object]]:
        """Yield the rows."""


CELL = 64
"""Bytes that a cell of text takes."""

Frame = PandasFrame | PolarsFrame
Source = str | Path | Frame
"""Where a table is: a file, or a frame in memory."""


@dataclass(frozen=True)
class Cells:
    """A table of text: titles and rows, and what messages call their places, as ``line 1``."""

    head: str
    titles: list[str]
    rows: list[tuple[str, list[str]]]

    @classmethod
    def of(cls, source: Source) -> Cells:
        """Read CSV in UTF-8, Parquet, Excel's first sheet or a frame; or raise `InputError`."""
        if not isinstance(source, str | Path):
            return _of_frame(source)
        data = read_bytes(source)
        if Path(source).name.lower().removesuffix(".gz").endswith(".parquet"):
            return _of_frame(read_parquet(data, CELL))
        if Path(source).name.lower().endswith(ENDING):
            return _of_frame(read_sheet(data), first=2)
        return csv_cells(data)

    def positions(self, spelled: Callable[[str], str]) -> dict[str, int]:
        """Return the position of each column as ``spelled``; each has a title of its own."""
        at: dict[str, int] = {}
        for i, column in enumerate(map(spelled, self.titles)):
            if not column:
                place = f"{self.head}, cell {i + 1}"
                raise InputError("a title for each column", found="none", place=place)
            if column in at:
                raise InputError("each column once", found=f"{column!r} twice", place=self.head)
            at[column] = i
        return at


def _of_frame(frame: Frame, first: int = 1) -> Cells:
    """Read a frame whose first row has this number."""
    if isinstance(frame, PolarsFrame):
        rows = frame.iter_rows()
    elif isinstance(frame, PandasFrame):
        rows = frame.itertuples(index=False, name=None)
    else:
        raise InputError("a path, or a frame of pandas or polars", found=type(frame).__name__)
    cells = [
        (f"row {number}", [_written(value) for value in row])
        for number, row in enumerate(rows, first)
    ]
    titles = [str(title).strip() for title in frame.columns]
    return Cells("columns", titles, [row for row in cells if any(row[1])])


def _written(value: object) -> str:
    """Return a value as a person would write it; empty if it is missing."""
    if value is None or value != value or str(value) == "<NA>":  # noqa: PLR0124  NaN and NaT
        return ""
    if isinstance(value, timedelta):
        seconds = Fraction(value // timedelta(microseconds=1), 10**6)
        return f"{float(seconds)!r}s".replace(".0s", "s")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))
    return str(value).strip()


def csv_cells(data: bytes) -> Cells:
    """Read a CSV, whose delimiter its header tells; `InputError` names the line."""
    lines = _lines(decoded(data))
    first, titles = next(lines, (0, []))
    check_rows(data.count(b"\n"), CELL * len(titles))
    if not titles:
        raise InputError("a header with a title for each column")
    rows = []
    for number, row in lines:
        if len(row) != len(titles):
            expected = f"{len(titles)} cells, as in the header"
            raise InputError(expected, found=f"{len(row)}", place=f"line {number}")
        rows.append((f"line {number}", row))
    return Cells(f"line {first}", titles, rows)


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the header, then each row that is not blank, with its number of line."""
    header = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").split("\n", 1)[0])
    delimiter = max(",;\t|", key=header.count)  # the one that it holds most, outside of quotes
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    started = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError("CSV", found=str(error), place=f"line {reader.line_num}") from None
        if any(cell.strip() for cell in row):
            yield started, [cell.strip() for cell in row]
        started = reader.line_num + 1
