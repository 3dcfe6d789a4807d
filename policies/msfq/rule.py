"""Admission rules, and the state of the queue that they see."""

from collections import OrderedDict
from collections.abc import Callable, Collection, MutableSequence, Sequence
from typing import NamedTuple

from schedopt.instances.msfq import Instance


class Job(NamedTuple):
    """A job.

    Attributes
    ----------
    number : int
        Its place in the order of arrival, from 0.
    kind : int
        Its class, as a position in the instance.
    need : int
        Servers that it holds while it runs.
    arrival : float
        When it arrived.
    estimate : float or None
        Its size, if the rule may know it; see the option ``estimates``.
    """

    number: int
    kind: int
    need: int
    arrival: float
    estimate: float | None


class Running(NamedTuple):
    """A job in service, and its start."""

    job: Job
    start: float


class State:
    """A queue at one time.

    Attributes
    ----------
    servers : int
        k, busy or idle.
    needs : tuple of int
        Servers that a job needs, by class.
    waiting, running : list of int
        Numbers of waiting jobs and of jobs in service, by class.
    free : int
        Idle servers.
    now : float
        The time.
    """

    def __init__(self, queue: Instance) -> None:
        self.servers = self.free = queue.servers
        self.needs = tuple(job.need for job in queue.classes)
        self.waiting, self.running = [0] * len(self.needs), [0] * len(self.needs)
        self.now = 0.0
        self._jobs: OrderedDict[int, Job] = OrderedDict()
        self._lines: list[OrderedDict[int, Job]] = [OrderedDict() for _ in self.needs]
        self._in_service: dict[int, Running] = {}

    @property
    def jobs(self) -> Collection[Job]:
        """All waiting jobs, in the order of their arrival."""
        return self._jobs.values()

    @property
    def in_service(self) -> Collection[Running]:
        """All jobs in service, in the order of their starts."""
        return self._in_service.values()

    def __contains__(self, job: object) -> bool:
        return isinstance(job, Job) and self._jobs.get(job.number) is job

    def head(self, kind: int) -> Job | None:
        """Return the waiting job of a class that arrived first, or None."""
        return next(iter(self._lines[kind].values()), None)

    def queued(self) -> list[int]:
        """Return the classes that have a waiting job."""
        return [kind for kind, jobs in enumerate(self.waiting) if jobs]

    def fitting(self) -> list[int]:
        """Return the classes that have a waiting job which fits into the idle servers."""
        return [kind for kind in self.queued() if self.needs[kind] <= self.free]

    def arrive(self, job: Job) -> None:
        """Append a job to the line. For simulators."""
        self._jobs[job.number] = self._lines[job.kind][job.number] = job
        self.waiting[job.kind] += 1

    def start(self, job: Job) -> None:
        """Start a waiting job. For simulators."""
        del self._jobs[job.number], self._lines[job.kind][job.number]
        self._in_service[job.number] = Running(job, self.now)
        self.waiting[job.kind] -= 1
        self.running[job.kind] += 1
        self.free -= job.need

    def complete(self, number: int) -> Running:
        """Remove a job from service, and return it. For simulators."""
        ended = self._in_service.pop(number)
        self.running[ended.job.kind] -= 1
        self.free += ended.job.need
        return ended


Choice = int | Job | None
"""What starts next: a class (its first job), a job, or None."""
NONE = -1
"""The value that flat rules return if no job may start."""


class FlatState(NamedTuple):
    """A queue in flat arrays: the state that compiled rules see.

    Such a rule is a function ``next_start(state, free)`` of this state and the number of idle
    servers. It returns the class of which a job starts, or `NONE`, and may change its memory.

    Attributes
    ----------
    memory : ndarray of int
        The memory of the rule.
    numbers : ndarray of float
        The parameters of the rule.
    needs, slots : ndarray of int, shape (C,)
        Servers that a job of each class needs, and how many such jobs fit at the same time.
    by_need : ndarray of int, shape (C,)
        The classes in descending order of need.
    waiting, running : ndarray of int, shape (C,)
        Numbers of waiting jobs and of jobs in service.
    head : ndarray, shape (C,)
        The number of the waiting job of each class that arrived first, where one waits.
    """

    memory: MutableSequence[int]
    numbers: Sequence[float]
    needs: Sequence[int]
    slots: Sequence[int]
    by_need: Sequence[int]
    waiting: MutableSequence[int]
    running: MutableSequence[int]
    head: MutableSequence[int]


NextStart = Callable[[FlatState, int], int]


class Rule:
    """An admission rule with a memory or options; a new one is made for each simulation.

    It is made from the instance and the options of the rule. After each arrival and each completion
    it is called repeatedly until it returns None. A rule without memory and options is a function
    of the state.

    Attributes
    ----------
    threshold : int or None
        The threshold in the result document.
    """

    threshold: int | None = None

    def __call__(self, state: State) -> Choice:
        """Return what starts next: a class (its first job), a job, or None."""
        raise NotImplementedError


class FlatRule(Rule):
    """A rule on flat arrays, which runs compiled.

    ``next_start`` is the rule (see `FlatState`); ``memory`` and ``numbers`` are its initial memory
    and its parameters. With ``phases``, the phases of MSFQ (section 4.2) are recorded. For a rule
    with a random clock, ``holding`` is the mean time for which each class has its turn; the
    simulator changes the turn, which is the first number of the memory.
    """

    phases = False
    holding: Sequence[float] = ()

    def __init__(
        self,
        queue: Instance,
        next_start: NextStart,
        memory: Sequence[int] = (),
        numbers: Sequence[float] = (),
    ) -> None:
        self.memory, self.numbers, self.next_start = memory, numbers, next_start


class RuleFactory(NamedTuple):
    """A rule with its options for an instance, and whether it is compiled."""

    name: str
    make: Callable[[], Rule]
    compiled: bool


def slots(queue: Instance) -> tuple[int, ...]:
    """Return how many jobs of each class fit at the same time: floor(k / need)."""
    return tuple(queue.servers // job.need for job in queue.classes)


def by_need(queue: Instance) -> tuple[int, ...]:
    """Return the classes in descending order of need."""
    needs = [job.need for job in queue.classes]
    return tuple(sorted(range(len(needs)), key=lambda kind: -needs[kind]))
