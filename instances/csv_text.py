r"""Escaping of text in CSV cells, so that no spreadsheet runs a cell as a formula.

Spreadsheets treat a cell that begins with ``=``, ``+``, ``-`` or ``@`` as a formula, also after
spaces and in full-width characters. Such a text is written with a leading apostrophe, and so is a
text that begins with an apostrophe. Control characters are written as codes such as ``\x1b``, and a
backslash that could be mistaken for such a code as ``\x5c``. Reading reverses both.

Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from schedopt.instances.errors import ACTING

if TYPE_CHECKING:
    import polars as pl

_FORMULA = re.compile("[\\s\u200b\u2060\ufeff]*[=+\\-@'\uff1d\uff0b\uff0d\uff20]")
_CODE = "x(?:[01][0-9a-f]|7f|[89][0-9a-f]|5c)|u(?:200[ef]|202[89a-e]|206[6-9]|d[89a-f][0-9a-f]{2})"
_ESCAPED = re.compile(rf"\\(?:{_CODE})")
_UNSAFE = re.compile(rf"\\(?={_CODE}|{ACTING})|{ACTING}")


def escape_cell(text: str) -> str:
    """Return the text of a CSV cell, escaped."""
    safe = _UNSAFE.sub(_escape_code, text)
    return f"'{safe}" if _FORMULA.match(text) or _FORMULA.match(safe) else safe


def unescape_cell(cell: str) -> str:
    """Return the original text of an escaped CSV cell."""
    plain = _ESCAPED.sub(lambda found: chr(int(found[0][2:], 16)), cell)
    return plain[1:] if cell.startswith("'") and _FORMULA.match(plain, 1) else plain


def _escape_code(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def as_csv(heads: Iterable[str], rows: Iterable[Iterable[object]], end: str = "\n") -> str:
    """Return rows as CSV text with escaped cells; None becomes an empty cell."""
    text = StringIO(newline="")
    table = csv.writer(text, lineterminator=end)
    table.writerow(map(escape_cell, heads))
    for row in rows:
        table.writerow(escape_cell(cell) if isinstance(cell, str) else cell for cell in row)
    return text.getvalue()


def change_columns(
    table: pl.DataFrame, columns: Sequence[str], change: Callable[[str], str]
) -> pl.DataFrame:
    """Return a table whose text columns ``columns`` are changed, by `escape_cell` for example."""
    import polars as pl

    return table.with_columns(pl.col(columns).map_elements(change, return_dtype=pl.String))
