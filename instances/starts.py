"""When waiting jobs will start, and why a job started no earlier, as records."""

import msgspec

from schedopt.instances.declarations import Record

COLUMNS = ("job", "earliest", "median", "latest", "requested")


class Start(Record, kw_only=True):
    """When one waiting job will start, in the log's unit: an interval of the level asked for."""

    job: str  # its name, or its row in the log from 0
    earliest: float
    median: float
    latest: float
    requested: float  # what requested run times alone would say


class StartTimes(msgspec.Struct, frozen=True):
    """Start times, and on how many starts of the log's past their intervals were calibrated."""

    rows: tuple[Start, ...]
    judged: int
    shift: float


class InItsPlace(Record, kw_only=True):
    """A job that started while another waited."""

    job: str
    start: float
    need: int
    held: float  # its servers times how long it held them before the other started
    rule: str  # ``order`` if it came first in the policy's order, ``passed`` if it overtook
    why: str  # in words: priorities, or why the other did not start


class Sooner(Record, kw_only=True):
    """The outcome had a job been first in line from its submit on."""

    start: float  # the job's own
    later: int  # how many others would have started later
    delay: float  # by how much, summed over those
    gain: float  # by how much others would have started sooner, summed
    most_delayed: str  # the job that would have been delayed the most
    longest: float  # by how much it would have been
    change: float  # of the mean response time of all jobs


class Because(Record, kw_only=True):
    """Why a job started no earlier under a policy."""

    job: str  # its name, or its row in the log from 0
    policy: str
    submit: float
    start: float
    need: int
    planned: float  # how long the policy believed that it would run
    running: int  # jobs that ran when it came
    held: int  # the servers that those held
    alone: float  # when it would have started if nobody else had since
    in_its_place: tuple[InItsPlace, ...]  # those that started while it waited
    # The price of an earlier start; unknown where a policy keeps reservations, or is plain Python.
    first: Sooner | None
