"""Points in time and durations as logs write them, a column at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.options import Option

if TYPE_CHECKING:
    import polars as pl

UNKNOWN = ("", "unknown", "none", "n/a", "null", "nan", "unlimited", "partition_limit", "invalid")
"""What logs write where there is no time."""
_LENGTH = r"^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$"


def _is_zone(value: object) -> bool:
    from zoneinfo import ZoneInfo

    try:
        return isinstance(value, str) and bool(ZoneInfo(value))
    except (KeyError, ValueError, OSError):
        return False


ZONE = Option(None, "a time zone, such as Europe/Stockholm", _is_zone)


class Times(NamedTuple):
    """A column of points in time.

    Attributes
    ----------
    seconds : ndarray of float, shape (rows,)
        Since 1970, or as the log counts where it has numbers; NaN is unknown.
    dates : bool
        Whether they were dates.
    skipped, twice : ndarray of bool, shape (rows,)
        Which fell into the hour that a clock skips in spring, and into that which it has twice.
    """

    seconds: Floats
    dates: bool
    skipped: NDArray[np.bool_]
    twice: NDArray[np.bool_]

    def notes(self, what: str) -> list[str]:
        """Say what the clock's changes did to them."""
        said = []
        if count := int(self.skipped.sum()):
            words = "in an hour that the clock skips in spring, taken to be the hour after"
            said.append(f"{count} {what} {words}")
        if count := int(self.twice.sum()):
            words = "in an hour that the clock has twice in autumn, taken to be its first"
            said.append(f"{count} {what} {words}")
        return said


def points(texts: pl.Series, lines: NDArray[np.int64], zone: str | None = None) -> Times:
    """Read points in time: numbers, or dates such as 2024-03-31T02:30:00, perhaps with an offset.

    Parameters
    ----------
    texts : Series of str
    lines : ndarray of int, shape (rows,)
        Each row's line, for messages.
    zone : str, optional
        The zone of dates that have no offset of their own; UTC if left out.

    Raises
    ------
    InputError
        If a text is neither: with its line.
    """
    import polars as pl

    plain, known = _plain(texts)
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
    if bad.any():
        neither = bad & numbers.is_null()  # where numbers and dates are mixed, numbers are wrong
        bad = neither if neither.any() else bad
        raise _wrong(plain, bad, lines, "a number or a date such as 2024-03-31T02:30:00")
    skipped, twice = none, none
    utc = local.dt.replace_time_zone("UTC")
    if zone is not None:
        utc, skipped, twice = _zoned(local, zone)
    stamps = utc.zip_with(utc.is_not_null(), offset)
    seconds = stamps.dt.epoch("us").cast(pl.Float64) / 1e6
    return Times(_seconds(seconds, known), True, skipped, twice)


def _zoned(local: pl.Series, zone: str) -> tuple[pl.Series, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return local times in UTC, and which the clock skipped, and which it had twice."""

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
    """Read durations: numbers of a unit, or [[days-]hours:]minutes:seconds.

    Raises
    ------
    InputError
        If a text is neither: with its line.
    """
    import polars as pl

    plain, known = _plain(texts)
    numbers = plain.cast(pl.Float64, strict=False)
    parts = [
        plain.str.extract(_LENGTH, group).cast(pl.Float64, strict=False) for group in (1, 2, 3, 4)
    ]
    read = parts[3]
    for part, seconds in zip(parts[:3], (86400.0, 3600.0, 60.0), strict=True):
        read = read + part.fill_null(0.0) * seconds
    bad = numbers.is_null() & read.is_null() & known
    if bad.any():
        neither = bad & numbers.is_null()  # where numbers and dates are mixed, numbers are wrong
        bad = neither if neither.any() else bad
        raise _wrong(plain, bad, lines, "a number, or [[days-]hours:]minutes:seconds")
    return _seconds((numbers * unit).zip_with(numbers.is_not_null(), read), known)


def _plain(texts: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return texts without spaces around them, and which of them say something."""
    plain = texts.fill_null("").str.strip_chars()
    return plain, ~plain.str.to_lowercase().is_in(UNKNOWN)


def _seconds(values: pl.Series, known: pl.Series) -> Floats:
    numbers = values.fill_null(float("nan")).to_numpy(writable=True)
    numbers[~known.to_numpy() | ~np.isfinite(numbers)] = np.nan
    return numbers


def _wrong(texts: pl.Series, bad: pl.Series, lines: NDArray[np.int64], expected: str) -> InputError:
    first, count = int(bad.arg_max() or 0), int(bad.sum())
    more = f", and {count - 1} more like it" if count > 1 else ""
    place = f"line {lines[first]}, column {texts.name!r}"
    return InputError(expected, found=shown(texts[first]) + more, place=place)
