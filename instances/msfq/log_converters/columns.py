"""Points in time and durations as logs write them, a column at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import EXPECTED as HELD
from schedopt.instances.decimals import lost_cell
from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq.log_files import first_of
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.options import Option

if TYPE_CHECKING:
    import polars as pl

UNKNOWN = ("", "unknown", "none", "n/a", "null", "nan", "unlimited", "partition_limit", "invalid")
"""How logs write an unknown time."""
_LENGTH = r"^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$"


def is_zone(value: object) -> bool:
    """Tell whether a value is the name of a time zone."""
    from zoneinfo import ZoneInfo

    try:
        return isinstance(value, str) and bool(ZoneInfo(value))
    except (KeyError, ValueError, OSError):
        return False


ZONE = Option(None, "a time zone, such as Europe/Stockholm", is_zone)


class Times(NamedTuple):
    """Points in time (since 1970 if ``dates``), and those that clock changes affect."""

    seconds: Floats
    dates: bool
    skipped: NDArray[np.bool_]
    twice: NDArray[np.bool_]

    def notes(self) -> list[str]:
        """Yield notes on submit times that clock changes affected."""
        said = {
            "in an hour that the clock skips in spring, taken to be the hour after": self.skipped,
            "in an hour that the clock has twice in autumn, taken to be its first": self.twice,
        }
        return [f"{rows.sum()} submit times {words}" for words, rows in said.items() if rows.any()]

    def since_first(self, clock: str, notes: list[str]) -> tuple[Floats, float | None]:
        """Return dates as times since the first, and that; numbers as they are, and None."""
        if not self.dates:
            return self.seconds, None
        zero = float(np.nanmin(self.seconds)) if np.isfinite(self.seconds).any() else 0.0
        notes.append(f"times shifted: 0 is {np.datetime64(int(zero), 's')} {clock}")
        return self.seconds - zero, zero


def points(texts: pl.Series, lines: NDArray[np.int64], zone: str | None = None) -> Times:
    """Read numbers, or dates such as 2024-03-31T02:30:00, without an offset in a zone or UTC."""
    import polars as pl

    plain, known = _stripped(texts, lines)
    none = np.zeros(len(texts), dtype=np.bool_)
    numbers = plain.cast(pl.Float64, strict=False)
    if (numbers.is_not_null() | ~known).all():
        return Times(_seconds(numbers, known), False, none, none)
    iso = plain.str.to_uppercase().str.replace(" ", "T", literal=True)
    local = iso.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us")
    offset = iso.str.replace(r"Z$", "+00:00").str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.f%#z", strict=False, time_unit="us", time_zone="UTC"
    )
    bad = local.is_null() & offset.is_null() & known
    _refuse_bad_text(plain, bad, numbers, lines, "a number or a date such as 2024-03-31T02:30:00")
    skipped, twice = none, none
    utc = local.dt.replace_time_zone("UTC")
    if zone is not None:
        utc, skipped, twice = _to_utc(local, zone)
    stamps = utc.zip_with(utc.is_not_null(), offset)
    seconds = stamps.dt.epoch("us").cast(pl.Float64) / 1e6
    return Times(_seconds(seconds, known), True, skipped, twice)


def _to_utc(local: pl.Series, zone: str) -> tuple[pl.Series, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return local times in UTC, and those that a clock change skipped or repeated."""

    def placed(times: pl.Series, which: Literal["earliest", "latest"]) -> pl.Series:
        there = times.dt.replace_time_zone(zone, ambiguous=which, non_existent="null")
        return there.dt.convert_time_zone("UTC")

    first = placed(local, "earliest")
    skipped = first.is_null() & local.is_not_null()
    later = placed(local.dt.offset_by("1h"), "earliest")
    twice = (first != placed(local, "latest")).fill_null(False)
    # An hour on from a time that there is not: what the clock showed then.
    return first.zip_with(~skipped, later), skipped.to_numpy(), twice.to_numpy()


def lengths(texts: pl.Series, lines: NDArray[np.int64], unit: float = 1.0) -> Floats:
    """Read durations: numbers of a unit, or [[days-]hours:]minutes:seconds."""
    import polars as pl

    plain, known = _stripped(texts, lines)
    numbers = plain.cast(pl.Float64, strict=False)
    parts = [
        plain.str.extract(_LENGTH, group).cast(pl.Float64, strict=False) for group in (1, 2, 3, 4)
    ]
    read = parts[3]
    for part, seconds in zip(parts[:3], (86400.0, 3600.0, 60.0), strict=True):
        read = read + part.fill_null(0.0) * seconds
    bad = numbers.is_null() & read.is_null() & known
    _refuse_bad_text(plain, bad, numbers, lines, "a number, or [[days-]hours:]minutes:seconds")
    return _seconds((numbers * unit).zip_with(numbers.is_not_null(), read), known)


def _stripped(texts: pl.Series, lines: NDArray[np.int64]) -> tuple[pl.Series, pl.Series]:
    """Return stripped texts, and which are not empty."""
    plain = texts.fill_null("").str.strip_chars()
    if (lost := lost_cell(plain)) is not None:
        place = f"line {lines[lost]}, column {texts.name!r}"
        raise InputError(HELD, found=shown(plain[lost]), place=place)
    return plain, ~plain.str.to_lowercase().is_in(UNKNOWN)


def _seconds(values: pl.Series, known: pl.Series) -> Floats:
    numbers = values.fill_null(float("nan")).to_numpy(writable=True)
    numbers[~known.to_numpy() | ~np.isfinite(numbers)] = np.nan
    return numbers


def _refuse_bad_text(
    texts: pl.Series, bad: pl.Series, numbers: pl.Series, lines: NDArray[np.int64], expected: str
) -> None:
    """Raise `InputError` if a text is bad."""
    if bad.any():
        neither = bad & numbers.is_null()  # where numbers and others are mixed, numbers are wrong
        first, found = first_of(texts, neither if neither.any() else bad)
        raise InputError(expected, found=found, place=f"line {lines[first]}, column {texts.name!r}")
