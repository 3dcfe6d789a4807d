r"""Tables: CSV, Parquet, pandas and polars frames with declared columns, and writing of CSV.

Every cell is converted to the text that a person would write, so that all sources have one reader.
Messages name the line of a CSV or the row of another table.

Spreadsheets treat a cell that begins with ``=``, ``+``, ``-`` or ``@`` as a formula, also after
spaces and in full-width characters. Such a text is written with a leading apostrophe, and so is a
text that begins with an apostrophe; reading removes it. Control characters are written as codes
such as ``\x1b``. (Source: OWASP, "CSV Injection".)
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from io import BytesIO, StringIO
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from schedopt.instances.errors import InputError, at_place, pick_name, printable, quote, raise_all
from schedopt.instances.extras import require
from schedopt.instances.files import MOST_TABLE, check_size, read_bytes
from schedopt.instances.times import comma

if TYPE_CHECKING:
    import polars as pl


# --- declared columns -------------------------------------------------------------------------

MOST_WHOLE = 10**9
EMPTY = "an empty cell"


@dataclass(frozen=True)
class Column:
    """The declaration of a column.

    ``kind`` is one of `KINDS`, the name of a method of the table's clock such as ``length``, or a
    function that parses a cell.
    """

    name: str  # its title
    kind: str | Callable[[str], Any] = "text"
    least: float | None = 0  # the smallest valid number
    needed: bool = False  # whether empty cells are errors


class TextRow:
    """A row of a table: its place and its cells by title; missing columns are empty.

    ``titles`` are names of columns for messages, where they differ from those of the table.
    ``errors`` collects the errors of cells; without it the first error is raised.
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
        self.place, self.cells, self._at, self._clock = place, cells, at, clock
        self._titles, self.errors = titles or {}, errors
        self.is_wrong = False

    def text(self, title: str) -> str:
        """Return the text of a cell."""
        return self.cells[self._at[title]] if title in self._at else ""

    def value(self, column: Column) -> Any:
        """Return the parsed value of a cell, None if empty; `InputError` names row and column."""
        text, kind = self.text(column.name), column.kind
        if not text and not column.needed:
            return None
        try:
            if not isinstance(kind, str):
                return kind(text)
            if kind in KINDS:
                return KINDS[kind](text, column)
            return getattr(self._clock, kind)(text)
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
        return InputError(expected, found=quote(text) if text else EMPTY, place=self.where(title))

    def refuse(self, error: InputError) -> None:
        """Collect an error of this row, or raise it if errors are not collected."""
        self.is_wrong = True
        if self.errors is None:
            raise error
        self.errors.append(error)


def _text(text: str, column: Column) -> str:
    if not text:
        raise InputError(f"a {column.name}")
    return text


def _number(text: str, column: Column) -> float:
    value = nan
    with suppress(ValueError):
        value = float(text)
    if not isfinite(value) or (column.least is not None and value < column.least):
        words = "a finite number" + ("" if column.least is None else f" >= {column.least}")
        raise InputError(words + comma(text), found=quote(text))
    return value


def _whole(text: str, column: Column) -> int:
    with suppress(ValueError):
        value = float(text)
        if value.is_integer() and (column.least or 0) <= value <= MOST_WHOLE:
            return int(value)
    raise InputError(f"a whole number from {column.least} to {MOST_WHOLE:,}", found=quote(text))


KINDS: Mapping[str, Callable[[str, Column], Any]] = {
    "text": _text,
    "names": lambda text, _: tuple(map(str.strip, text.split(";"))),
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
        """Read a CSV, Parquet file or frame; `InputError` if it cannot be read."""
        if isinstance(source, str | Path):
            name = Path(source).name.lower()
            if name.endswith((".xlsx", ".xls", ".ods")):
                expected = "a table saved as CSV or Parquet"
                raise InputError(expected, found="a workbook", file=str(source))
            data = read_bytes(source)
            if not name.removesuffix(".gz").endswith(".parquet"):
                return read_csv(data)
            source = read_parquet(data)
        frame: Any = source
        if hasattr(frame, "iter_rows"):
            rows = frame.iter_rows()
        elif hasattr(frame, "itertuples"):
            rows = frame.itertuples(index=False, name=None)
        else:
            expected = "a path, or a frame of pandas or polars"
            raise InputError(expected, found=type(frame).__name__)
        cells = [(f"row {number}", list(map(_written, row))) for number, row in enumerate(rows, 1)]
        titles = [str(title).strip() for title in frame.columns]
        return cls("columns", titles, [row for row in cells if any(row[1])])

    def positions(self) -> dict[str, int]:
        """Return the position of each column by its title."""
        at: dict[str, int] = {}
        for i, title in enumerate(self.titles):
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
        """Return the rows of declared columns; `InputError` with all invalid cells.

        ``what`` is the kind of table, for messages. The methods of ``clock`` parse columns of
        times. Other columns are refused unless ``others`` is true.
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

    def frame(self) -> pl.DataFrame:
        """Return a polars frame of texts without escapes; empty cells are null."""
        require("polars")
        import polars as pl

        at = self.positions()
        cells = ([unescape_cell(row[i]) or None for _, row in self.rows] for i in at.values())
        return pl.DataFrame(dict(zip(at, cells, strict=True)), dict.fromkeys(at, pl.String))


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


_SEPARATOR = re.compile(r"[\r\n]*\"?sep=([,;\t|])\"?[,;\t| ]*\r?\n", re.IGNORECASE)
"""The first line with which Excel names the delimiter."""


def read_csv(data: bytes, *, strip: bool = True) -> TextTable:
    """Read a CSV, with the delimiter that its header or a first line ``sep=;`` implies.

    Text that is not UTF-8 is read as UTF-16 if it has a byte order mark, else as cp1252. Cells
    lose spaces at their ends unless ``strip`` is false. `InputError` names the line.
    """
    text, encoding = _decoded(data)
    if match := _SEPARATOR.match(text):
        delimiter, start = match[1], match.end()
    else:
        header = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").partition("\n")[0])
        delimiter, start = max(",;\t|", key=header.count), 0
    before, number = text.count("\n", 0, start), 0
    reader = csv.reader(StringIO(text[start:], newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[str, list[str]]] = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                rows.append((f"line {before + number + 1}", cells if strip else row))
            number = reader.line_num
    except csv.Error as error:
        place = f"line {before + reader.line_num}"
        raise InputError("CSV", found=str(error), place=place) from None
    if not rows:
        raise InputError("a header with a title for each column")
    head, titles = rows.pop(0)
    expected = f"{len(titles)} cells, as in the header"
    wrong = [(place, len(row)) for place, row in rows if len(row) != len(titles)]
    raise_all([InputError(expected, found=f"{count}", place=place) for place, count in wrong])
    return TextTable(head, titles, rows, delimiter, encoding)


def _decoded(data: bytes) -> tuple[str, str]:
    """Return the text and its encoding."""
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("UTF-16",) if is_wide else ("UTF-8", "cp1252"):
        with suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            if "\0" not in text:
                return text, encoding
    raise InputError("a table of text in UTF-8", found="bytes that are not")


def read_parquet(data: bytes) -> pl.DataFrame:
    """Read a Parquet table; `InputError` if it is damaged or larger than memory allows."""
    require("polars")
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    try:
        table = pl.scan_parquet(BytesIO(data))
        cells = len(table.collect_schema()) * table.select(pl.len()).collect().item()
        check_size(8 * cells, MOST_TABLE)
        return table.collect()
    except (PolarsError, PanicException) as error:
        raise InputError("a table in Parquet", found=quote(str(error))) from None


# --- writing ----------------------------------------------------------------------------------

_FORMULA = re.compile("[\\s\u200b\u2060\ufeff]*[=+\\-@'\uff1d\uff0b\uff0d\uff20]")


def escape_cell(text: str) -> str:
    """Return the text of a CSV cell, escaped."""
    return f"'{printable(text)}" if _FORMULA.match(text) else printable(text)


def unescape_cell(cell: str) -> str:
    """Return the original text of an escaped CSV cell."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell, 1) else cell


def as_csv(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV text with escaped cells; None becomes an empty cell."""
    text = StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(map(escape_cell, heads))
    for row in rows:
        table.writerow(escape_cell(cell) if isinstance(cell, str) else cell for cell in row)
    return text.getvalue()
