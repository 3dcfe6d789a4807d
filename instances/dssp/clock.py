"""Parsing of times as people write them: durations with units, times of day, dates.

- Durations: a plain number in the table's unit; numbers with units (``90m``, ``1.5h``, ``1h 30m``,
  ``2d``, ``45s``); or hours, minutes and seconds (``1:30:00``), optionally after days
  (``2-01:30:00``).
- Points in time: a time of day (``06:00``, ``06:00:30``), which is the first one after the start; a
  plain number or a duration with units, counted from the start; or a date and time
  (``2026-11-23T06:00``, ``23.11.2026 06:00``), optionally with an offset such as ``+01:00`` or
  ``Z``; without an offset it is by the start's clock.

Times of day need a start, and dates a start with a date. A start without an offset or a zone is in
the time zone of this machine.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from math import isfinite

from schedopt.instances import times
from schedopt.instances.dssp.jobs import Lognormal, Stages
from schedopt.instances.errors import InputError, quote
from schedopt.instances.options import AS_OPTIONS, OptionNames

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?=\s|$)", re.ASCII)
_PAIR = re.compile(r"\d{1,2}:[0-5]\d", re.ASCII)
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?", re.ASCII)
POINT = f"{times.LENGTH}, 06:00 (a time of day) or 2026-11-23T06:00"
TONIGHT = "tonight "  # before a time of day: that of today, where this machine is
ANY_DAY = date(2000, 1, 1)  # of a start that is a time of day alone


@dataclass
class Clock:
    """Parser of times, into one unit (s, m, h or d) and relative to an optional start."""

    unit: str = "s"
    start: datetime | None = None
    has_date: bool = True  # whether the start is more than a time of day
    told: bool = False  # whether some time was more than a plain number
    names: OptionNames = AS_OPTIONS  # how messages name the start

    @classmethod
    def of(cls, unit: str, start: str | None, names: OptionNames = AS_OPTIONS) -> "Clock":
        """Return the parser for a start given as a date and time, or as a time of day.

        `InputError` if the start is neither.
        """
        text = (start or "").strip()
        if start is None:
            return cls(unit, names=names)
        if (at := _time_of_day(text.removeprefix(TONIGHT).strip())) is not None:
            if text.startswith(TONIGHT):
                tonight = datetime.combine(date.today(), at)
                return cls(unit, times.in_zone(tonight, times.local_zone()), names=names)
            return cls(unit, datetime.combine(ANY_DAY, at), has_date=False, names=names)
        if text.endswith("]"):
            return cls(unit, times.Dates.of(text).start, names=names)
        if _STAMP.fullmatch(text):
            stamp = _parse_stamp(text)
            zoned = stamp if stamp.tzinfo else times.in_zone(stamp, times.local_zone())
            return cls(unit, zoned, names=names)
        raise InputError("a time of day such as 20:00, or 2026-11-22T20:00", found=quote(start))

    def length(self, text: str) -> float:
        """Return a duration in the clock's unit.

        `InputError` if the text is not a duration.
        """
        if (value := self._length(text)) is None:
            expected = times.LENGTH + times.comma(text)
            if _PAIR.fullmatch(text):
                expected = f"0:{text} for minutes and seconds, or {text}:00 for hours and minutes"
            raise InputError(expected, found=quote(text) if text else "an empty cell")
        return value

    def point(self, text: str) -> float:
        """Return a point in time in units after the start; it is negative before the start."""
        if (at := _time_of_day(text)) is not None:
            if self.start is None:
                example = self.names.example("start", "2026-11-22T20:00+01:00")
                expected = f"a number or a duration; or a start with its date, as {example} sets it"
                raise InputError(expected, found=f"the time of day {quote(text)}")
            return self._since(_next_time_of_day(self.start, at), self.start)
        dated = _DOTTED.sub(lambda m: f"{m[3]}-{m[2]:0>2}-{m[1]:0>2}", text)
        if _STAMP.fullmatch(dated):
            return self._since_date(dated)
        if (value := self._length(text)) is None:
            raise InputError(POINT, found=quote(text) if text else "an empty cell")
        return value

    def end(self, text: str) -> float:
        """Return a point in time as `point` does; the start's own time of day is a day later."""
        value = self.point(text)
        return (
            value
            if value or not _TIME.fullmatch(text)
            else self._units(Fraction(times.SECONDS["d"]))
        )

    def tasks(self, text: str) -> Stages:
        """Return the stages that a cell such as ``12x0.5h; 1x2h`` describes."""
        return stages_of(text, self)

    @staticmethod
    def spread(text: str) -> float | Lognormal:
        """Return the spread of run times around the planned ones: a number or a distribution."""
        sigma = text.removeprefix("lognormal ")
        if sigma != text and times.NUMBER.fullmatch(sigma):
            return Lognormal(sigma=float(sigma))
        if not times.NUMBER.fullmatch(text) or not 0 <= float(text) < 1:
            raise InputError(SPREAD + times.comma(text), found=quote(text))
        return float(text)

    @property
    def words(self) -> str:
        """The unit and the start in words, such as ``seconds after 20:00``."""
        if self.start is None:
            return times.WORDS[self.unit]
        start = self.start if self.has_date else self.start.time()
        spec = "seconds" if start.second else "minutes"
        key = getattr(self.start.tzinfo, "key", "")
        zone = f" ({key})" if key else ""
        return f"{times.WORDS[self.unit]} after {start.isoformat(timespec=spec)}{zone}"

    @property
    def start_with_zone(self) -> str | None:
        """The start in ISO format with its zone; None if it has no zone."""
        if self.start is None or self.start.tzinfo is None:
            return None
        key = getattr(self.start.tzinfo, "key", "")
        return self.start.isoformat() + (f"[{key}]" if key else "")

    def _length(self, text: str) -> float | None:
        if times.NUMBER.fullmatch(text):
            return value if isfinite(value := float(text)) and value >= 0 else None
        seconds = times.seconds_of(text)
        self.told |= seconds is not None
        return None if seconds is None else self._units(seconds)

    def _units(self, seconds: Fraction) -> float:
        return float(seconds / times.SECONDS[self.unit])

    def _since_date(self, text: str) -> float:
        stamp = _parse_stamp(text)
        if self.start is None or not self.has_date:
            example = self.names.example("start", "2026-11-22T20:00")
            expected = f"a time of day or a duration; or a start with a date, as {example} sets it"
            raise InputError(expected, found=quote(text))
        local = stamp if stamp.tzinfo else times.in_zone(stamp, self.start.tzinfo)
        return self._since(local, self.start)

    def _since(self, moment: datetime, start: datetime) -> float:
        self.told = True
        with times.expect_calendar_date(moment.isoformat()):
            if moment.tzinfo:
                moment, start = moment.astimezone(UTC), start.astimezone(UTC)
        return self._units(Fraction((moment - start) // timedelta(microseconds=1), 10**6))


def dates_of(start: str, unit: str) -> times.Dates:
    """Return the clock of a file; `InputError` if its start is invalid."""
    return times.Dates.of(start, times.SECONDS[times.SPELLED[unit]])


def time_of(text: str, unit: str, dates: times.Dates | None) -> float:
    """Return a point in time in a file's unit; a time of day is the first one from the start on."""
    return Clock(times.SPELLED[unit], dates.start if dates else None).point(text)


def _next_time_of_day(start: datetime, at: time) -> datetime:
    with times.expect_calendar_date(f"{at} after {start.isoformat()}"):
        day = start.date() + timedelta(days=at < start.time())
    return times.in_zone(datetime.combine(day, at), start.tzinfo)


def _time_of_day(text: str) -> time | None:
    if not (match := _TIME.fullmatch(text)):
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return time(hours, minutes, seconds)


def _parse_stamp(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InputError("a date and time such as 2026-11-23T06:00", found=quote(text)) from None


# --- tasks --------------------------------------------------------------------------------------

MOST_TASKS = 1_000_000  # tasks of one job: more are a slip of the finger
EXPECTED = "stages such as 12x0.5h; 1x2h (or, with a column 'frame_time', how many tasks there are)"
SPREAD = "a number from 0 to below 1, or such as lognormal 0.5"
_TASKS = re.compile(r"(\d+)\s*[xX×*]\s*(.+)", re.ASCII)


def stages_of(text: str, clock: Clock) -> Stages:
    """Return the stages that a text describes; `InputError` names the invalid part.

    ``12x0.5h; 1x2h`` is a stage of twelve tasks followed by a stage of one. The tasks of a stage
    may have several parts, joined by ``+`` or commas; ``×`` and ``*`` may replace ``x``.
    """
    if re.fullmatch(r"\d+", text):
        raise InputError(EXPECTED, found=quote(text))
    stages: list[tuple[float, ...]] = []
    room = MOST_TASKS
    for stage in text.removesuffix(";").split(";"):
        tasks: list[float] = []
        for part in map(str.strip, re.split(r"[+,]", stage)):
            match = _TASKS.fullmatch(part)
            digits, length = match.groups() if match else ("1", part)
            if len(digits) > 7 or not 1 <= int(digits) <= room:
                raise InputError(f"from 1 to {room} tasks", found=quote(part))
            room -= int(digits)
            try:
                tasks += [clock.length(length.strip())] * int(digits)
            except InputError:
                found_words = quote(part) if part else "an empty part"
                raise InputError(EXPECTED, found=found_words) from None
        stages.append(tuple(tasks))
    return tuple(stages)
