"""Times as people write them, in one unit: durations with units, clock times, ISO stamps.

A duration is a plain number, taken in the table's unit; or numbers with units (``90m``, ``1.5h``,
``1h 30m``, ``2d``, ``45s``); or hours, minutes and seconds (``1:30:00``). A point in time is a
time of day (``06:00``, ``06:00:30``), the first such after the start; or a duration of the first
two sorts after the start; or a date and time of ISO 8601 (``2026-11-23T06:00``, perhaps with an
offset such as ``+01:00`` or ``Z``). Times of day and dates need to know the start, and dates one
with a date. A stamp without an offset is read off a clock that nobody moves: give offsets where
one is put back or forward in the night.

Tasks have a short notation: ``12x0.5h; 1x2h`` is a stage of twelve tasks, then one of one. A
semicolon ends a stage. A stage is one or more parts joined by ``+`` or a comma: ``12x0.5h`` is
twelve tasks of half an hour, ``2h`` is one task of two hours. ``×`` and ``*`` do for ``x``.
"""

import re
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from fractions import Fraction
from math import isfinite
from zoneinfo import ZoneInfo

from schedopt.instances.decimals import EXPECTED as HELD
from schedopt.instances.decimals import as_written, expect_held
from schedopt.instances.dssp.jobs import History, Lognormal, Stages
from schedopt.instances.errors import InputError, shown
from schedopt.instances.times import (
    LENGTH,
    NUMBER,
    SECONDS,
    SPELLED,
    WORDS,
    Dates,
    comma,
    dated,
    seconds_of,
)

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?", re.ASCII)
POINT = f"{LENGTH}, 06:00 (a time of day) or 2026-11-23T06:00"
DAY = 86400
TONIGHT = "tonight "  # before a time of day: that of today, where this machine is


@dataclass
class Clock:
    """Reads times into one unit (s, m, h or d), from a start: a stamp, a time of day, or none."""

    unit: str = "s"
    start: datetime | time | None = None
    zone: tzinfo | None = None  # of stamps that have none
    plain: set[str] = field(default_factory=set)  # columns in which times were plain numbers
    told: set[str] = field(default_factory=set)  # those in which they were more than that

    def length(self, text: str, column: str) -> float:
        """Return a duration, in the unit; `InputError` if it is none."""
        value = self._length(text, column)
        if value is None:
            raise InputError(LENGTH + comma(text), found=shown(text) if text else "an empty cell")
        return value

    def point(self, text: str, column: str) -> float:
        """Return a point in time, in units after the start; below 0 where a stamp is before it."""
        if (at := _time_of_day(text)) is not None:
            self.told.add(column)
            return self._units(self._after(at, text))
        if _STAMP.fullmatch(text):
            self.told.add(column)
            return self._units(self._since(_parse_stamp(text), text))
        value = self._length(text, column)
        if value is not None:
            return value
        raise InputError(POINT, found=shown(text) if text else "an empty cell")

    def end(self, text: str, column: str) -> float:
        """Return a point in time as `point` does, a time of day the first after the start."""
        value = self.point(text, column)
        return value if value or not _TIME.fullmatch(text) else self._units(Fraction(DAY))

    def tasks(self, text: str, column: str) -> Stages:
        """Return the stages of a cell such as ``12x0.5h; 1x2h``."""
        del column
        return stages_of(text, self)

    def spread(self, text: str, column: str) -> float | Lognormal | History:
        """Return by which run times differ from planned ones: a number, or a distribution."""
        sigma, ratios = text.removeprefix("lognormal "), text.removeprefix("scenarios ")
        if sigma != text and NUMBER.fullmatch(sigma):
            return Lognormal(sigma=float(sigma))
        parts = [part.strip() for part in ratios.split(";")]
        if not all(map(NUMBER.fullmatch, parts)):
            raise InputError(SPREAD + comma(text), found=shown(text))
        if len(parts) > 1 or ratios != text:
            return History(ratios=tuple(map(float, parts)), joint=ratios != text)
        expect_held(text)
        if not 0 <= float(text) < 1:
            raise InputError(SPREAD, found=shown(text))
        return float(text)

    @property
    def words(self) -> str:
        """What times are, such as ``seconds after 20:00``."""
        if self.start is None:
            return WORDS[self.unit]
        spec = "seconds" if self.start.second else "minutes"
        return f"{WORDS[self.unit]} after {self.start.isoformat(timespec=spec)}"

    def _length(self, text: str, column: str) -> float | None:
        if NUMBER.fullmatch(text):
            value = float(text)
            self.plain.add(column)
            expect_held(text)
            return value if isfinite(value) and value >= 0 else None
        seconds = seconds_of(text)
        if seconds is None:
            return None
        self.told.add(column)
        return self._units(seconds)

    def _units(self, seconds: Fraction) -> float:
        return float(seconds / SECONDS[self.unit])

    def _after(self, at: time, text: str) -> Fraction:
        if self.start is None:
            start = "`convert --option start=2026-11-22T20:00+01:00`"
            expected = f"a number or a duration; or a start with its date, as {start} sets it"
            raise InputError(expected, found=f"the time of day {shown(text)}")
        if isinstance(self.start, datetime) and isinstance(self.start.tzinfo, ZoneInfo):
            return as_written(
                _next_time_of_day(Dates(self.start), at)
            )  # clocks may be put back before
        return Fraction((_since_midnight(at) - _since_midnight(self.start)) % DAY)

    def _since(self, stamp: datetime, text: str) -> Fraction:
        if not isinstance(self.start, datetime):
            dated = "`convert --option start=2026-11-22T20:00`"
            expected = f"a time of day or a duration; or a start with a date, as {dated} sets it"
            raise InputError(expected, found=shown(text))
        stamp = stamp if stamp.tzinfo else stamp.replace(tzinfo=self.zone)
        if (stamp.tzinfo is None) != (self.start.tzinfo is None):
            has = f"an offset, as in {shown(text + self.start.isoformat()[-6:])}"
            has = has if self.start.tzinfo else "no offset, as the start"
            raise InputError(f"a stamp with {has}", found=shown(text))
        return Fraction((stamp - self.start) // timedelta(microseconds=1), 10**6)


def start_of(text: str) -> datetime | time:
    """Return a start that is given as a time of day or a stamp; `InputError` if it is neither."""
    if text.startswith(TONIGHT) and (at := _time_of_day(text.removeprefix(TONIGHT).strip())):
        return datetime.combine(date.today(), at).astimezone()
    if (at := _time_of_day(text)) is not None:
        return at
    if text.endswith("]"):
        return Dates.of(text).start
    if _STAMP.fullmatch(text):
        return _parse_stamp(text)
    raise InputError("a time of day such as 20:00, or 2026-11-22T20:00", found=shown(text))


def dates_of(start: str, unit: str) -> Dates:
    """Return when times of a file are by the clock; `InputError` if its start is none."""
    return Dates.of(start, SECONDS[SPELLED[unit]])


def time_of(text: str, unit: str, dates: Dates | None) -> float:
    """Return a point in time in a file's unit; a time of day is the first from the start on."""
    at = _time_of_day(text)
    if at is None or dates is None:
        return Clock(SPELLED[unit], dates.start if dates else None).point(text, "time")
    return _next_time_of_day(dates, at)


def _next_time_of_day(dates: Dates, at: time) -> float:
    """Return when a time of day is first, from the start on."""
    with dated(f"{at} after {dates.start.isoformat()}"):
        day = dates.start.date() + timedelta(days=at < dates.start.time())
    return dates.since(datetime.combine(day, at, dates.start.tzinfo))


def _time_of_day(text: str) -> time | None:
    if not (found := _TIME.fullmatch(text)):
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return time(hours, minutes, seconds)


def _since_midnight(at: datetime | time) -> int:
    return 3600 * at.hour + 60 * at.minute + at.second


def _parse_stamp(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InputError("a date and time such as 2026-11-23T06:00", found=shown(text)) from None


# --- tasks --------------------------------------------------------------------------------------

MOST_TASKS = 1_000_000  # tasks of one job: more are a slip of the finger
EXPECTED = "stages such as 12x0.5h; 1x2h (or, with a column 'task_time', how many tasks there are)"
SPREAD = "a number from 0 to below 1, or such as lognormal 0.5, or ratios such as 0.9;1.1;1.6"
_TASKS = re.compile(r"(\d+)\s*[xX×*]\s*(.+)", re.ASCII)


def stages_of(text: str, clock: Clock) -> Stages:
    """Return the stages of a job, whose lengths a clock reads; `InputError` with the wrong part."""
    if re.fullmatch(r"\d+", text):
        raise InputError(EXPECTED, found=shown(text))
    written = text.removesuffix(";")
    made: list[tuple[float, ...]] = []
    room = MOST_TASKS
    for stage in written.split(";"):
        tasks: list[float] = []
        for part in re.split(r"[+,]", stage):
            count, length = _task_lengths(part.strip(), clock, room)
            room -= count
            tasks += [length] * count
        made.append(tuple(tasks))
    return tuple(made)


def _task_lengths(text: str, clock: Clock, room: int) -> tuple[int, float]:
    found = _TASKS.fullmatch(text)
    digits, length = found.groups() if found else ("1", text)
    if len(digits) > 7 or not 1 <= int(digits) <= room:
        raise InputError(f"from 1 to {room} tasks", found=shown(text))
    try:
        return int(digits), clock.length(length.strip(), "tasks")
    except InputError as error:
        if error.expected == HELD:
            raise
        raise InputError(EXPECTED, found=shown(text) if text else "an empty part") from None
