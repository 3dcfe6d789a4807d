"""Clock times of a file: its time 0, with an offset and perhaps a time zone.

A zone stands in brackets, as RFC 9557 has it: ``2026-10-24T20:00+02:00[Europe/Berlin]``. It knows
when clocks are put forward or back, so that later times may have another offset; where the start
itself has none, the zone's is taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from schedopt.instances.errors import InputError, shown

_ZONED = re.compile(r"(.+)\[([A-Za-z0-9_+/-]+)\]", re.ASCII)
EXPECTED = (
    "an ISO time with its zone, such as 2026-11-22T20:00+01:00 or 2026-11-22T20:00[Europe/Berlin]"
)
UNITS = (1, 60, 3600, 86400)
"""Seconds in the units that files may be in."""


@dataclass(frozen=True)
class Dates:
    """A start, and how many seconds are in a unit of time."""

    start: datetime
    unit: int = 1

    @classmethod
    def of(cls, text: str, unit: int = 1) -> Dates:
        """Read a start; `InputError` if it is none, or has neither an offset nor a zone."""
        found = _ZONED.fullmatch(text)
        try:
            at = datetime.fromisoformat(found[1] if found else text)
            zone = ZoneInfo(found[2]) if found else None
        except (ValueError, OSError, ZoneInfoNotFoundError):
            raise InputError(EXPECTED, found=shown(text)) from None
        if zone is not None and at.tzinfo is None:
            return cls(at.replace(tzinfo=zone), unit)
        if zone is not None:
            local = at.astimezone(zone)
            if local.utcoffset() != at.utcoffset():
                told = local.isoformat()[-6:]
                raise InputError(f"the zone's own offset, {told} then", found=shown(text))
            return cls(local, unit)
        if at.tzinfo is None:
            raise InputError(EXPECTED, found=shown(text))
        return cls(at, unit)

    def at(self, time: float) -> datetime:
        """Return a time by the clock, in the start's zone."""
        moment = self.start.astimezone(UTC) + timedelta(seconds=time * self.unit)
        return moment.astimezone(self.start.tzinfo)

    def since(self, moment: datetime) -> float:
        """Return how many units after the start a moment is."""
        return (moment.astimezone(UTC) - self.start.astimezone(UTC)).total_seconds() / self.unit

    def told(self, time: float) -> str:
        """Return a time as ISO writes it, with its offset, to the nearest second."""
        return (self.at(time + 0.5 / self.unit)).isoformat(timespec="seconds")
