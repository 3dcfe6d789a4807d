"""When waiting jobs will start, as records."""

import msgspec

from schedopt.instances.declarations import Record

COLUMNS = ("job", "earliest", "median", "latest", "requested")


class Start(Record, kw_only=True):
    """When one waiting job will start, in the log's unit.

    Attributes
    ----------
    job : str
        Its name, or its row in the log from 0.
    earliest, median, latest : float
        The interval at the level that was asked for, and its middle.
    requested : float
        What requested run times alone would say.
    """

    job: str
    earliest: float
    median: float
    latest: float
    requested: float


class Told(msgspec.Struct, frozen=True):
    """Start times, and on how many starts of the log's past their intervals were calibrated."""

    rows: tuple[Start, ...]
    judged: int
    shift: float
