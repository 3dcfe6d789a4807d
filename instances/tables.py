"""Reading of tables (CSV, Parquet, pandas and polars frames) with declared columns.

Every cell is converted to the text that a person would write, so that all sources have one reader.
Messages name the line of a CSV or the row of another table. A `Column` declares what a column
holds.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from schedopt.instances.errors import InputError, at_place, decode_utf8, quote, raise_all
from schedopt.instances.extras import require
from schedopt.instances.files import check_rows, read_bytes
from schedopt.instances.naming import pick_name
from schedopt.instances.options import is_number
from schedopt.instances.times import NUMBER, comma

if TYPE_CHECKING:
    import polars as pl


# --- declared columns -------------------------------------------------------------------------

MOST_WHOLE = 10**9
EMPTY = "an empty cell"


@dataclass(frozen=True)
class Column:
    """The declaration of a column.

    Attributes
    ----------
    name : str
        Its title.
    kind : str or callable
        One of `KINDS`, the name of a method of the table's clock such as ``length``, or a function
        that parses a cell.
    least : float, optional
        The smallest valid number.
    needed : bool
        Whether empty cells are errors.
    """

    name: str
    kind: str | Callable[[str], Any] = "text"
    least: float | None = 0
    needed: bool = False


class TextRow:
    """A row of a table: its place and its cells by title; missing columns are empty.

    Parameters
    ----------
    titles : mapping, optional
        Names for columns in messages, where they differ from the table's titles.
    errors : list of InputError, optional
        Collects the errors of cells; without it the first error is raised.
    """

    def __init__(
        self,
        place: str,
        cells: Sequence[str],
        at: Mapping[str, int],
        clock: Any = None,
        *,
        titles: Mapping[str, str] | None = None,
        errors: list[InputError] | None = None,
    ) -> None:
        self.place, self._cells, self._at, self._clock = place, cells, at, clock
        self._titles, self.errors = titles or {}, errors
        self.is_wrong = False

    def text(self, title: str) -> str:
        """Return the text of a cell."""
        return self._cells[self._at[title]] if title in self._at else ""

    def cell(self, position: int) -> str:
        """Return the text of a cell by position, for columns without a declaration."""
        return self._cells[position]

    def value(self, column: Column) -> Any:
        """Return the parsed value of a cell, None if empty; `InputError` names row and column."""
        text = self.text(column.name)
        if not text and not column.needed:
            return None
        try:
            if not isinstance(column.kind, str):
                return column.kind(text)
            if column.kind in KINDS:
                return KINDS[column.kind](text, column)
            return getattr(self._clock, column.kind)(text)
        except InputError as error:
            error.found = error.found if text else EMPTY
            self.refuse(error.within(self.where(column.name)))
        return None

    def where(self, title: str) -> str:
        """Return the place of a cell for messages."""
        return f"{self.place}, column {self._titles.get(title, title)!r}"

    def wrong(self, title: str, expected: str) -> InputError:
        """Return an error about a cell."""
        text = self.text(title)
        found = quote(text) if text else EMPTY
        return InputError(expected, found=found, place=self.where(title))

    def refuse(self, error: InputError) -> None:
        """Collect an error of this row, or raise it if errors are not collected."""
        self.is_wrong = True
        if self.errors is None:
            raise error
        self.errors.append(error)


def _text(text: str, column: Column) -> str:
    if not text:
        raise InputError(f"a {column.name}", found=EMPTY)
    return text


def _names(text: str, column: Column) -> tuple[str, ...]:
    return tuple(map(str.strip, text.split(";")))


def _number(text: str, column: Column) -> float:
    """Return a finite number with a decimal point; Python's other spellings are refused."""
    value = float(text) if NUMBER.fullmatch(text) else float("nan")
    if not is_number(value) or (column.least is not None and value < column.least):
        words = "a finite number" + ("" if column.least is None else f" >= {column.least}")
        raise InputError(words + comma(text), found=quote(text) if text else EMPTY)
    return value


def _whole(text: str, column: Column) -> int:
    value = float(text) if NUMBER.fullmatch(text) else float("nan")
    if not (value.is_integer() and (column.least or 0) <= value <= MOST_WHOLE):
        expected = f"a whole number from {column.least} to {MOST_WHOLE:,}"
        raise InputError(expected, found=quote(text) if text else EMPTY)
    return int(value)


KINDS: Mapping[str, Callable[[str, Column], Any]] = {
    "text": _text,
    "names": _names,
    "number": _number,
    "whole": _whole,
}
"""How a cell of each kind is read; names have semicolons between."""


# --- the reader -------------------------------------------------------------------------------


@runtime_checkable
class Frame(Protocol):
    """The interface of pandas and polars frames."""

    @property
    def columns(self) -> Iterable[object]:
        """The titles."""


CELL = 64  # bytes that a cell of text takes
Source = str | Path | Frame  # where a table is: a file, or a frame in memory


@dataclass(frozen=True)
class TextTable:
    """A table of texts: titles, rows, and each row's place for messages, such as ``line 1``."""

    head: str
    titles: list[str]
    rows: list[tuple[str, list[str]]]
    delimiter: str = ","
    encoding: str = "UTF-8"

    @classmethod
    def read(cls, source: Source) -> TextTable:
        """Read a CSV, Parquet file or frame.

        Raises
        ------
        InputError
            If it cannot be read.
        """
        if not isinstance(source, str | Path):
            if hasattr(source, "iter_rows"):
                return _of_rows(source.columns, source.iter_rows())
            if hasattr(source, "itertuples"):
                return _of_rows(source.columns, source.itertuples(index=False, name=None))
            expected = "a path, or a frame of pandas or polars"
            raise InputError(expected, found=type(source).__name__)
        name = Path(source).name.lower()
        if name.endswith((".xlsx", ".xls", ".ods")):
            expected = "a table saved as CSV or Parquet"
            raise InputError(expected, found="a workbook", file=str(source))
        data = read_bytes(source)
        if name.removesuffix(".gz").endswith(".parquet"):
            frame = read_parquet(data, CELL)
            return _of_rows(frame.columns, frame.iter_rows())
        return read_csv(data)

    def positions(self, spelled: Callable[[str], str] = str) -> dict[str, int]:
        """Return the position of each column by its title, normalized by ``spelled``."""
        at: dict[str, int] = {}
        for i, title in enumerate(map(spelled, self.titles)):
            if not title and not any(row[i] for _, row in self.rows):
                continue  # what a spreadsheet writes after the last column
            if not title:
                place = f"{self.head}, cell {i + 1}"
                raise InputError("a title for each column", found="none", place=place)
            if title in at:
                raise InputError("each column once", found=f"{title!r} twice", place=self.head)
            at[title] = i
        return at

    def declared(
        self, columns: Iterable[Column], what: str, clock: Any = None, *, others: bool = False
    ) -> list[TextRow]:
        """Return the rows of declared columns.

        Parameters
        ----------
        columns : iterable of Column
            The declarations.
        what : str
            The kind of table, for messages.
        clock : object, optional
            Its methods parse columns of times.
        others : bool
            Whether other columns are allowed.

        Raises
        ------
        InputError
            If a needed column is missing or a column is unknown, or with all invalid cells.
        """
        at, by_name = self.positions(), {column.name: column for column in columns}
        for column in by_name.values():
            if column.needed and column.name not in at:
                expected = f"a column {column.name!r} of {what}"
                raise InputError(expected, found=", ".join(self.titles), place=self.head)
        for title in () if others else at:
            with at_place(self.head):
                pick_name(title, by_name, f"a column of {what}")
        errors: list[InputError] = []
        rows = [TextRow(place, cells, at, clock, errors=errors) for place, cells in self.rows]
        for row in rows:
            for column in by_name.values():
                if column.name in at:
                    row.value(column)
            row.errors = None  # cells that are read later raise
        raise_all(errors)
        return rows


def _of_rows(titles: Iterable[object], rows: Iterable[Sequence[object]]) -> TextTable:
    """Return a table of rows numbered from 1; empty rows are left out."""
    cells = [(f"row {number}", list(map(_written, row))) for number, row in enumerate(rows, 1)]
    named = [str(title).strip() for title in titles]
    return TextTable("columns", named, [row for row in cells if any(row[1])])


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


def read_csv(data: bytes) -> TextTable:
    """Read a CSV, with the delimiter that its header or a first line ``sep=;`` implies.

    Text that is not UTF-8 is read as UTF-16 if it has a byte order mark, else as cp1252.

    Raises
    ------
    InputError
        With the line.
    """
    text, encoding = _decoded(data)
    lines = _lines(text)
    first, titles = next(lines, (0, []))
    if not titles:
        raise InputError("a header with a title for each column")
    rows = [(f"line {number}", row) for number, row in lines]
    expected = f"{len(titles)} cells, as in the header"
    raise_all(
        [
            InputError(expected, found=f"{len(row)}", place=place)
            for place, row in rows
            if len(row) != len(titles)
        ]
    )
    return TextTable(f"line {first}", titles, rows, _delimiter(text)[0], encoding)


def _decoded(data: bytes) -> tuple[str, str]:
    """Return the text and its encoding."""
    try:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16"), "UTF-16"
        return data.decode("utf-8"), "UTF-8"
    except UnicodeDecodeError:
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:
            text = "\0"
    return (decode_utf8(data), "") if "\0" in text else (text, "cp1252")


def plain_csv(data: bytes) -> bytes:
    """Return a CSV with commas as delimiters and line feeds as line ends."""
    text = StringIO(newline="")
    rows = (row for _, row in _lines(_decoded(data)[0], strip=False))
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


_SEPARATOR = re.compile(r"[\r\n]*\"?sep=([,;\t|])\"?[,;\t| ]*\r?\n", re.IGNORECASE)
"""The first line with which Excel names the delimiter."""


def delimiter_of(header: str) -> str:
    """Return the delimiter of a CSV: the candidate that its header contains most often."""
    return max(",;\t|", key=re.sub(r'"[^"]*"', "", header).count)


def _delimiter(text: str) -> tuple[str, int]:
    """Return the delimiter of a CSV, and the length of a first line that only declares it."""
    if match := _SEPARATOR.match(text):
        return match[1], match.end()
    return delimiter_of(text.lstrip("\r\n").split("\n", 1)[0]), 0


def _lines(text: str, *, strip: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Yield the header and each nonblank row with its line number."""
    delimiter, first = _delimiter(text)
    reader = csv.reader(io.StringIO(text[first:], newline=""), delimiter=delimiter, strict=True)
    before = text.count("\n", 0, first)
    started = 1 + before
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            line = reader.line_num + before
            raise InputError("CSV", found=str(error), place=f"line {line}") from None
        if any(cell.strip() for cell in row):
            yield started, [cell.strip() for cell in row] if strip else row
        started = reader.line_num + 1 + before


def read_frame(data: bytes) -> pl.DataFrame:
    """Read a CSV of any delimiter into a polars frame of texts; fast for millions of rows."""
    require("polars")
    import polars as pl
    from polars.exceptions import PolarsError

    head = data.lstrip(b"\r\n").split(b"\n", 1)[0].decode("utf-8", "replace")
    delimiter = delimiter_of(head)
    try:
        table = pl.read_csv(
            BytesIO(data), separator=delimiter, infer_schema=False, encoding="utf8-lossy"
        )
        return table.rename({title: title.strip() for title in table.columns})
    except PolarsError as error:
        read_csv(data)  # which names the line
        raise InputError("a table in CSV", found=str(error).splitlines()[0]) from None


def expect_cells(data: bytes) -> None:
    """Raise `InputError` at the first row whose number of cells differs from the header's.

    polars itself would fill short rows with empty cells.
    """
    text, _ = _decoded(data)
    if '"' in text:
        rows = ((line, len(cells)) for line, cells in _lines(text))
    else:
        delimiter, lines = _delimiter(text)[0], enumerate(text.split("\n"), 1)
        rows = ((line, row.count(delimiter) + 1) for line, row in lines if row.strip())
    _, columns = next(rows, (0, 0))
    for line, cells in rows:
        if cells != columns:
            found = f"{cells}" + ": the line is cut" * (cells < columns)
            expected = f"{columns} cells, as in the header"
            raise InputError(expected, found=found, place=f"line {line}")


def read_parquet(data: bytes, cell: int = 8) -> pl.DataFrame:
    """Read a Parquet table; `InputError` if it is damaged or larger than memory allows.

    ``cell`` is the number of bytes that a cell takes in memory.
    """
    require("polars")
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    try:
        columns = len(pl.read_parquet_schema(BytesIO(data)))
        rows = pl.scan_parquet(BytesIO(data)).select(pl.len()).collect().item()
        check_rows(rows, max(1, columns) * cell)
        return pl.read_parquet(BytesIO(data))
    except (PolarsError, PanicException) as error:
        raise InputError("a table in Parquet", found=quote(str(error))) from None
