"""Workbooks of Excel: the first sheet is a table, its first row the titles."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO, StringIO
from math import isfinite
from typing import NamedTuple
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from schedopt.instances.csv_text import guarded
from schedopt.instances.errors import InputError, shown
from schedopt.instances.extras import need
from schedopt.instances.files import check_rows

ENDING = ".xlsx"
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
    text = escape(guarded(str(value)), {"\r": "&#13;"})
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
