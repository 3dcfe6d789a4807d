"""When waiting jobs will start, and why a job started no earlier, as records."""

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


class StartTimes(msgspec.Struct, frozen=True):
    """Start times, and on how many starts of the log's past their intervals were calibrated."""

    rows: tuple[Start, ...]
    judged: int
    shift: float


class InItsPlace(Record, kw_only=True):
    """A job that started while another waited.

    Attributes
    ----------
    job : str
    start : float
    need : int
    held : float
        Its servers times how long it held them before the other started.
    rule : str
        ``order`` if it came first in the policy's order then, ``passed`` if it went past the other.
    why : str
        In words: priorities, or why the other did not start.
    """

    job: str
    start: float
    need: int
    held: float
    rule: str
    why: str


class Sooner(Record, kw_only=True):
    """The outcome had a job been first in line from its submit on.

    Attributes
    ----------
    start : float
        Its own.
    later : int
        How many others would have started later.
    delay, gain : float
        By how much together; and how much others would have gained.
    most_delayed : str
    longest : float
        The job that would have been delayed the most, and by how much.
    change : float
        Of the mean response time of all jobs.
    """

    start: float
    later: int
    delay: float
    gain: float
    most_delayed: str
    longest: float
    change: float


class Because(Record, kw_only=True):
    """Why a job started no earlier under a policy.

    Attributes
    ----------
    job : str
        Its name, or its row in the log from 0.
    policy : str
    submit, start : float
    need : int
    planned : float
        How long the policy believed that it would run.
    running, held : int
        How many jobs ran when it came, and on how many servers.
    alone : float
        When it had started if nobody else had since.
    in_its_place : tuple of InItsPlace
        Who started while it waited.
    first : Sooner, optional
        What an earlier start had cost; not known where a policy keeps reservations, or is plain
        Python.
    """

    job: str
    policy: str
    submit: float
    start: float
    need: int
    planned: float
    running: int
    held: int
    alone: float
    in_its_place: tuple[InItsPlace, ...]
    first: Sooner | None
