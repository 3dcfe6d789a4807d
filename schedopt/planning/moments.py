"""Times of a night in words."""

from schedopt.formats import number
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.clock import dates_of


def moment(night: Instance, time: float) -> str:
    """Return a time of a night in words: by the clock where its start is known."""
    return dates_of(night.start, night.unit).clock(time) if night.start else number(time)
