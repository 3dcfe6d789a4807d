"""Durations as people write them: ``90m``, ``1.5h``, ``1h 30m``, ``2d``, ``1:30:00``."""

import re
from fractions import Fraction

from schedopt.instances.precision import expect_held

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
"""Seconds in each unit."""

WORDS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
"""What units are called."""

SPELLED = {
    spelling: unit
    for unit, spellings in {
        "s": "s sec secs second seconds",
        "m": "m min mins minute minutes",
        "h": "h hr hrs hour hours",
        "d": "d day days",
    }.items()
    for spelling in spellings.split()
}
"""How people write units."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""A number with a decimal point; nothing else that Python would take."""

_COMMA = re.compile(r"[+-]?\d+,\d+[a-z]*", re.ASCII)
_PART = re.compile(r"(\d+\.?\d*|\.\d+)\s*([a-zA-Z]+)\s*", re.ASCII)
_HMS = re.compile(r"(\d{1,6}):([0-5]\d):([0-5]\d(?:\.\d+)?)", re.ASCII)
LENGTH = "a finite number >= 0, or a time such as 90m, 1.5h or 1:30:00"
MOST = 60
"""Characters of a time: more would make whole numbers of thousands of digits."""


def comma(text: str) -> str:
    """Return what an error adds where a number has a decimal comma."""
    return ", with a decimal point" if _COMMA.fullmatch(text) else ""


def seconds_of(text: str) -> Fraction | None:
    """Return the seconds of a duration with units, or of hours, minutes and seconds."""
    if len(text) > MOST:
        return None
    if found := _HMS.fullmatch(text):
        expect_held(found[3])
        hours, minutes, seconds = map(Fraction, found.groups())
        return 3600 * hours + 60 * minutes + seconds
    total, at, seen = Fraction(0), 0, list[str]()
    while at < len(text):
        found = _PART.match(text, at)
        unit = SPELLED.get(found[2].lower()) if found else None
        if found is None or unit is None:
            return None
        expect_held(found[1])
        total += Fraction(found[1]) * SECONDS[unit]
        seen.append(unit)
        at = found.end()
    descending = sorted(set(seen), key=SECONDS.__getitem__, reverse=True)
    return total if seen and seen == descending else None
