"""Points in time and durations as logs write them, a column at a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq.log_files import read_numbers
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.options import Option

if TYPE_CHECKING:
    import polars as pl

_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)", re.ASCII)
_POINT = "a number or a date such as 2024-03-31T02:30:00"


def is_zone(value: object) -> bool:
    """Tell whether a value is the name of a time zone."""
    try:
        return isinstance(value, str) and bool(ZoneInfo(value))
    except (KeyError, ValueError, OSError):
        return False


ZONE = Option(None, "a time zone, such as Europe/Stockholm", is_zone)


def points(column: pl.Series, zone: str | None = None) -> tuple[Floats, bool]:
    """Return numbers, or dates in seconds since 1970, and which; of dates the zone is, or UTC."""
    local = UTC if zone is None else ZoneInfo(zone)

    def seconds(text: str) -> float | None:
        try:
            date = datetime.fromisoformat(text)
            return (date if date.tzinfo else date.replace(tzinfo=local)).timestamp()
        except (ValueError, OverflowError):
            return None

    numbers, dates = read_numbers(column, "line", seconds, _POINT)
    if dates.any() and (mixed := np.isfinite(numbers) & ~dates).any():
        row = int(mixed.argmax())
        place = f"line {row + 2}, column {column.name!r}"
        raise InputError(f"{_POINT}, alike in all rows", found=quote(column[row]), place=place)
    return _finite(numbers), bool(dates.any())


def lengths(column: pl.Series, unit: float = 1.0) -> Floats:
    """Return durations: numbers of a unit, or [[days-]hours:]minutes:seconds."""

    def seconds(text: str) -> float | None:
        if not (found := _ELAPSED.fullmatch(text)):
            return None
        parts = (float(part or 0) for part in found.groups())
        return sum(part * each for part, each in zip(parts, (86400, 3600, 60, 1), strict=True))

    expected = "a number, or [[days-]hours:]minutes:seconds"
    numbers, told = read_numbers(column, "line", seconds, expected)
    return _finite(np.where(told, numbers, numbers * unit))


def _finite(numbers: Floats) -> Floats:
    return np.where(np.isfinite(numbers), numbers, np.nan)
