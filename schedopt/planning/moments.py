"""Times of a night: in words, by the clock, in seconds, and rounding."""

from schedopt.formats import number
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.clock import dates_of
from schedopt.instances.times import SECONDS, SPELLED

ON_TIME = 1 + 1e-11
"""A time that is later than another by less than this factor differs by rounding only."""


def moment(night: Instance, time: float) -> str:
    """Return a time in words: by the clock if the night has a start."""
    return dates_of(night.start, night.unit).clock(time) if night.start else number(time)


def time_of_day(night: Instance, time: float) -> str:
    """Return a time of day, with the date if it is not a day of the night."""
    text = moment(night, time)
    if not night.start:
        return text
    days = {moment(night, at)[:10] for at in (0.0, night.deadline)}
    of_day = text[11:19].removesuffix(":00")
    return of_day if text[:10] in days else f"{text[:10]} {of_day}"


def clock(night: Instance, **times: float | None) -> dict[str, str | None]:
    """Return times by the clock, under their names; empty if the night has no start."""
    if night.start is None or night.nights > 1:
        return {}
    dates = dates_of(night.start, night.unit)
    return {name: None if time is None else dates.clock(time) for name, time in times.items()}


def seconds(night: Instance, count: float) -> float:
    """Return a number of seconds in the night's unit."""
    return count / SECONDS[SPELLED[night.unit]]
