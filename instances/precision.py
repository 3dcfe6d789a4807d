"""Numbers that no double holds as written; they are refused wherever they stand.

A number is read as a double, and stands for the shortest decimal that reads back as that double. Of
one of up to 15 digits that is the decimal that was written, and so it is of whatever a program
writes that prints doubles to be read back, as this one does. Of any other it may be another number:
9007199254740993 would be 9007199254740992, and 1e-400 would be 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING

from schedopt.instances.errors import InputError, shown

if TYPE_CHECKING:
    import polars as pl

EXPECTED = "a number that a double holds as it is written, as it does any of up to 15 digits"
WHOLE = 2**53
"""All whole numbers up to this are exact as doubles."""
_KINDS = bytes(
    ord("0")
    if chr(byte).isascii() and chr(byte).isdigit()
    else {"e": 101, "E": 101, "-": 45}.get(chr(byte), 32)
    for byte in range(256)
)
"""Every digit as 0, e and E as e, the minus as it is, and all else as a space."""

_WHOLES = bytes(48 if 48 <= byte < 58 else 46 if byte == 46 else 32 for byte in range(256))
"""Every digit as 0, the point as it is, and all else as a space."""

_TINY, _NUMBER = r"[eE]-\d{3}", r"^[+-]?[\d.]+([eE][+-]?\d+)?$"


def may_lose(data: bytes) -> bool:
    """Tell quickly whether a text may have a number that no double holds; False is certain."""
    plain = data.translate(_KINDS, b".")
    return b"0" * 16 in plain or b"0e-000" in plain


def may_lose_whole(data: bytes) -> bool:
    """Tell the same of a text in which all fractions are printed doubles."""
    return b" " + b"0" * 16 in data.translate(_WHOLES)


def held(written: str) -> bool:
    """Tell whether a double holds a number as written; True for text and infinity."""
    try:
        value = float(written)
    except ValueError:
        return True
    return repr(value) == written or not isfinite(value) or _same(written, value)


def _same(written: str, value: float) -> bool:
    from decimal import Decimal, InvalidOperation

    try:
        return Decimal(written) == Decimal(repr(value))
    except InvalidOperation:  # an exponent of twenty digits
        return False


def first_lost(texts: Iterable[str | None]) -> int | None:
    """Return the position of the first text that is a number which a double does not hold."""
    return next((at for at, text in enumerate(texts) if text and not held(text)), None)


def lost_cell(column: pl.Series) -> int | None:
    """Return the row of the first number of a column, or of its texts, that no double holds."""
    import polars as pl

    if column.dtype.is_float():
        return None
    if column.dtype.is_integer():
        long = column.cast(pl.Float64).abs() >= WHOLE
    else:
        column = column.cast(pl.String).str.strip_chars()
        long = (column.str.len_bytes() > 15) | column.str.contains(_TINY)
        long &= column.str.contains(_NUMBER)
    rows = long.fill_null(False).arg_true()
    at = first_lost(column.gather(rows).cast(pl.String).to_list())
    return None if at is None else int(rows[at])


def check_cells(data: bytes, numbers: Iterable[str]) -> None:
    """Raise `InputError` about a number in some columns of a CSV that a double does not hold."""
    import polars as pl

    if not may_lose(data):
        return
    table = pl.read_csv(BytesIO(data), infer_schema=False)
    for title in numbers:
        if title in table.columns and (row := lost_cell(table[title])) is not None:
            place = f"row {row + 1}, column {title!r}"
            raise InputError(EXPECTED, found=table[title][row], place=place)


def expect_held(number: float | str, place: str = "") -> None:
    """Raise `InputError` about a text, or a whole number of Python, that a double does not hold."""
    if isinstance(number, str):
        fine = held(number)
    else:
        fine = isinstance(number, float) or -WHOLE <= number <= WHOLE or held(str(number))
    if not fine:
        raise InputError(EXPECTED, found=shown(number).strip("'"), place=place)
