"""Tables (CSV, Parquet, Excel, a frame of pandas or polars) as cells of text.

Every cell becomes the text that a person would write: so one reader takes them all, and messages
name the line of a CSV or the row of another table.
"""

from __future__ import annotations

import csv
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from html import escape
from io import BytesIO, StringIO
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from schedopt.instances.csv_text import guarded
from schedopt.instances.errors import InputError, decoded, shown
from schedopt.instances.extras import need
from schedopt.instances.files import check_rows, read_bytes

if TYPE_CHECKING:
    import polars as pl


def read_parquet(data: bytes, cell: int = 8) -> pl.DataFrame:
    """Read a table of cells of so many bytes; `InputError` if it is damaged or too large."""
    need("polars")
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    try:
        with _quietly():
            columns = len(pl.read_parquet_schema(BytesIO(data)))
            rows = pl.scan_parquet(BytesIO(data)).select(pl.len()).collect().item()
            check_rows(rows, max(1, columns) * cell)
            table = pl.read_parquet(BytesIO(data))
        texts = [name for name, kind in table.schema.items() if kind == pl.String]
        check_rows(sum(int(table[name].str.len_bytes().sum()) for name in texts), 1)
    except (PolarsError, PanicException) as error:
        raise InputError("a table in Parquet", found=shown(str(error))) from None
    return table


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep the trace of a panic in polars from standard error."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


ENDING = ".xlsx"
LONGEST = 32_767  # characters in a cell; spreadsheets open no workbook with more
_STRANGE = (
    BadZipFile,
    zlib.error,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    SyntaxError,
    OSError,
    IndexError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
)
"""What the reader raises where a workbook is damaged; SyntaxError is that of XML."""

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DOCUMENTS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_RELATED = (
    f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{_DOCUMENTS}/{{}}" Target="{{}}"/></Relationships>'
)
_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
        "</Types>"
    ),
    "_rels/.rels": _RELATED.format("officeDocument", "xl/workbook.xml"),
    "xl/workbook.xml": (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_DOCUMENTS}"><sheets>'
        '<sheet name="table" sheetId="1" r:id="r1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": _RELATED.format("worksheet", "worksheets/sheet1.xml"),
}
_SHEET = f'<worksheet xmlns="{_MAIN}"><sheetData>{{}}</sheetData></worksheet>'


class Sheet(NamedTuple):
    """A sheet's titles and its rows, which are as long."""

    columns: list[str]
    rows: list[Sequence[object]]

    def iter_rows(self) -> Iterable[Sequence[object]]:
        """Return the rows, as a frame does."""
        return self.rows


def read_sheet(data: bytes) -> Sheet:
    """Read the first sheet; `InputError` if there is none, or a row is longer than the titles."""
    need("openpyxl")
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with ZipFile(BytesIO(data)) as packed:
            check_rows(sum(part.file_size for part in packed.infolist()), 8)
        book = load_workbook(BytesIO(data), read_only=True, data_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # some programs write wrong ones
        found = [_trimmed(row) for row in sheet.iter_rows(values_only=True)]
    except InputError:
        raise
    except (*_STRANGE, InvalidFileException) as error:
        expected = "a workbook of Excel (.xlsx) with a sheet"
        raise InputError(expected, found=shown(str(error))) from None
    titles = [] if not found else ["" if title is None else str(title) for title in found[0]]
    for number, row in enumerate(found[1:], 2):
        if len(row) > len(titles):
            expected = f"as many cells as the first row has titles, {len(titles)}"
            raise InputError(expected, found=f"{len(row)}", place=f"row {number}")
    return Sheet(titles, [(*row, *[None] * (len(titles) - len(row))) for row in found[1:]])


def _trimmed(row: Sequence[object]) -> Sequence[object]:
    """Return a row without the empty cells at its end, of which a sheet has any number."""
    length = next((i for i in range(len(row), 0, -1) if row[i - 1] not in (None, "")), 0)
    return row[:length]


def as_csv(data: bytes) -> bytes:
    """Return the first sheet of a workbook that we wrote as the CSV that it would have been."""
    sheet, text = read_sheet(data), StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(sheet.columns)
    for row in sheet.rows:
        table.writerow(str(cell).lower() if isinstance(cell, bool) else cell for cell in row)
    return text.getvalue().encode()


def written(columns: Mapping[str, Iterable[str | float | None]]) -> bytes:
    """Return columns by title as a workbook; texts are escaped as in the cells of a CSV."""
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    cells = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
    parts = _PARTS | {"xl/worksheets/sheet1.xml": _SHEET.format(cells)}
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as book:
        for name, text in parts.items():
            whole = f'<?xml version="1.0" encoding="UTF-8"?>{text}'
            book.writestr(ZipInfo(name), whole, ZIP_DEFLATED)  # without a date: same bytes
    return packed.getvalue()


def _cell(value: object) -> str:
    if value is None or value == "":
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{value:d}</v></c>'
    if isinstance(value, int | float) and isfinite(value):
        return f"<c><v>{value!r}</v></c>"
    text = escape(guarded(str(value)), quote=False).replace("\r", "&#13;")
    if len(text) > LONGEST:
        return "<c/>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


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


CELL = 64  # bytes that a cell of text takes
Frame = PandasFrame | PolarsFrame
Source = str | Path | Frame  # where a table is: a file, or a frame in memory


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


def plain_csv(data: bytes) -> bytes:
    """Return a CSV of any delimiter and ends of lines with commas and line feeds."""
    text = StringIO(newline="")
    rows = (row for _, row in _lines(decoded(data), strip=False))
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _lines(text: str, *, strip: bool = True) -> Iterator[tuple[int, list[str]]]:
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
            yield started, [cell.strip() for cell in row] if strip else row
        started = reader.line_num + 1
