"""Times in files: durations (``90m``, ``1.5h``, ``1h 30m``, ``2d``, ``1:30:00``) and clock times.

The time 0 of a file has an offset from UTC and may have a time zone, as in RFC 9557:
``2026-10-24T20:00+02:00[Europe/Berlin]``. With a zone, later times account for daylight saving
time. If the start has no offset, the zone determines it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from schedopt.instances.errors import InputError, expect, quote

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}  # seconds in each unit
WORDS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}  # what units are called

SPELLED = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}
"""How people write units."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""A number with a decimal point; nothing else that Python would take."""
_COMMA = re.compile(r"[+-]?\d+,\d+[a-z]*", re.ASCII)
_PART = re.compile(r"(\d+\.?\d*|\.\d+)\s*([a-zA-Z]+)\s*", re.ASCII)
_HMS = re.compile(r"(?:(\d{1,6})-)?(\d{1,6}):([0-5]\d):([0-5]\d(?:\.\d+)?)", re.ASCII)
LENGTH = "a finite number >= 0, or a time such as 90m, 1.5h or 1:30:00"
MOST = 60  # characters of a time: more would make whole numbers of thousands of digits


def comma(text: str) -> str:
    """Return a hint for a message if a number has a decimal comma, else an empty text."""
    return ", with a decimal point" if _COMMA.fullmatch(text) else ""


def seconds_of(text: str) -> Fraction | None:
    """Return the seconds of a duration such as ``1h 30m`` or ``1:30:00``; None if it is not one."""
    if len(text) > MOST:
        return None
    if match := _HMS.fullmatch(text):
        days, hours, minutes, seconds = (Fraction(part or 0) for part in match.groups())
        return 86400 * days + 3600 * hours + 60 * minutes + seconds
    total, at, seen = Fraction(0), 0, list[str]()
    while at < len(text):
        match = _PART.match(text, at)
        unit = SPELLED.get(match[2].lower()) if match else None
        if match is None or unit is None:
            return None
        total += Fraction(match[1]) * SECONDS[unit]
        seen.append(unit)
        at = match.end()
    descending = sorted(set(seen), key=SECONDS.__getitem__, reverse=True)
    return total if seen and seen == descending else None


_ZONED = re.compile(r"(.+)\[([A-Za-z0-9_+/-]+)\]", re.ASCII)
EXPECTED = (
    "an ISO time with its zone, such as 2026-11-22T20:00+01:00 or 2026-11-22T20:00[Europe/Berlin]"
)


@contextmanager
def expect_calendar_date(what: object) -> Iterator[None]:
    """Turn an error of the calendar in the block into an `InputError` about ``what``."""
    try:
        yield
    except (OverflowError, ValueError, OSError):
        expected = "times by the clock from the year 1 to the year 9999"
        raise InputError(expected, found=str(what)) from None


def moment_of(seconds: float, zone: tzinfo) -> datetime:
    """Return the date and time of a Unix time; `InputError` if no calendar date exists."""
    with expect_calendar_date(f"{seconds:g} seconds after 1970"):
        return datetime.fromtimestamp(seconds, zone)


def local_zone() -> tzinfo:
    """Return the time zone of this machine, or its current UTC offset if the zone has no name."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name:
        name = os.path.realpath("/etc/localtime").rpartition("/zoneinfo/")[2]
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return datetime.now().astimezone().tzinfo or UTC


def in_zone(at: datetime, zone: tzinfo | None) -> datetime:
    """Return a clock time in a zone, the earlier of two; `InputError` if clocks skip it."""
    with expect_calendar_date(at.isoformat()):
        moment = at.replace(tzinfo=zone)
        exists = zone is None or moment.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == at
    if not exists:
        expected = f"a time that exists: clocks in {zone} are put forward past it on {at.date()}"
        raise InputError(expected, found=quote(f"{at:%H:%M}"))
    return moment


@dataclass(frozen=True)
class Dates:
    """The clock time of time 0, and the seconds in a unit of time."""

    start: datetime
    unit: int = 1

    @classmethod
    def of(cls, text: str, unit: int = 1) -> Dates:
        """Parse the clock time of time 0; `InputError` if it has neither an offset nor a zone."""
        match = _ZONED.fullmatch(text)
        try:
            at = datetime.fromisoformat(match[1] if match else text)
            zone = ZoneInfo(match[2]) if match else None
        except (ValueError, OSError, ZoneInfoNotFoundError):
            raise InputError(EXPECTED, found=quote(text)) from None
        if zone is None and at.tzinfo is None:
            raise InputError(EXPECTED, found=quote(text))
        if zone is None:
            return cls(at, unit)
        if at.tzinfo is None:
            return cls(in_zone(at, zone), unit)
        with expect_calendar_date(text):
            local = at.astimezone(zone)
        expected = f"the zone's own offset, {local.isoformat()[-6:]} then"
        expect(local.utcoffset() == at.utcoffset(), expected, text)
        return cls(local, unit)

    def at(self, time: float) -> datetime:
        """Return the clock time of a time, in the start's zone."""
        with expect_calendar_date(f"{time:g} times {self.unit} s after {self.start.isoformat()}"):
            moment = self.start.astimezone(UTC) + timedelta(seconds=time * self.unit)
            return moment.astimezone(self.start.tzinfo)

    def since(self, moment: datetime) -> float:
        """Return a moment in units of time after the start."""
        with expect_calendar_date(moment.isoformat()):
            return (moment.astimezone(UTC) - self.start.astimezone(UTC)).total_seconds() / self.unit

    def clock(self, time: float) -> str:
        """Return a time in ISO format with its offset, to the nearest second."""
        return (self.at(time + 0.5 / self.unit)).isoformat(timespec="seconds")
