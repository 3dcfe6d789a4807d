"""Admission rules: what one sees, and what it is."""

from collections import OrderedDict
from collections.abc import Callable, Collection, MutableSequence, Sequence
from dataclasses import dataclass
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
        How long it is expected to run, where the rule may know; see the option ``estimates``.
    """

    number: int
    kind: int
    need: int
    arrival: float
    estimate: float | None


class Running(NamedTuple):
    """A job in service, and when it started."""

    job: Job
    start: float


class State:
    """A queue at one instant.

    Attributes
    ----------
    servers : int
        k, busy or not.
    needs : tuple of int
        Servers that a job needs, by class.
    waiting, running : list of int
        Jobs that wait and jobs in service, by class.
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
        """All jobs that wait, in the order of their arrival."""
        return self._jobs.values()

    @property
    def in_service(self) -> Collection[Running]:
        """All jobs that run, in the order in which they started."""
        return self._in_service.values()

    def __contains__(self, job: object) -> bool:
        return isinstance(job, Job) and self._jobs.get(job.number) is job

    def head(self, kind: int) -> Job | None:
        """Return the job of a class that has waited longest; None if none waits."""
        return next(iter(self._lines[kind].values()), None)

    def queued(self) -> list[int]:
        """Return the classes of which a job waits."""
        return [kind for kind, jobs in enumerate(self.waiting) if jobs]

    def fitting(self) -> list[int]:
        """Return the classes of which a job waits and would fit into the idle servers."""
        return [kind for kind in self.queued() if self.needs[kind] <= self.free]

    def arrive(self, job: Job) -> None:
        """Put a job at the end of the line. For simulators."""
        self._jobs[job.number] = self._lines[job.kind][job.number] = job
        self.waiting[job.kind] += 1

    def start(self, job: Job) -> None:
        """Start a job that waits. For simulators."""
        del self._jobs[job.number], self._lines[job.kind][job.number]
        self._in_service[job.number] = Running(job, self.now)
        self.waiting[job.kind] -= 1
        self.running[job.kind] += 1
        self.free -= job.need

    def complete(self, number: int) -> Running:
        """Take a job out of service, and return it. For simulators."""
        ended = self._in_service.pop(number)
        self.running[ended.job.kind] -= 1
        self.free += ended.job.need
        return ended


Choice = int | Job | None
"""What starts next: the head of a class, a job, or nothing."""
NONE = -1
"""Returned by flat rules in place of a class: none may start."""


class FlatState(NamedTuple):
    """A queue in flat arrays: what a rule sees of it that can be compiled.

    Such a rule is a function ``next_start(state, free)`` of this and the idle servers that returns
    the class of which a job starts, or `NONE`. It may change its memory.

    Attributes
    ----------
    memory, numbers : ndarray
        What the rule remembers, in whole numbers, and its parameters.
    needs, slots : ndarray of int, shape (C,)
        Servers that a job of each class needs, and how many such jobs fit together.
    by_need : ndarray of int, shape (C,)
        The classes, the largest need first.
    waiting, running : ndarray of int, shape (C,)
        Jobs that wait and jobs in service.
    head : ndarray, shape (C,)
        The number of the job of each class that has waited longest, where one waits.
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
    """An admission rule with a memory or options: a fresh one is made for each simulation.

    It is made from the instance and the rule's options, and is asked after each arrival and each
    completion, over and over until it says None. A rule without either is a plain function of the
    state.

    Attributes
    ----------
    holding : sequence of float
        Where a rule goes round by a clock: for how long on average, by the value of ``turn``.
        Whoever simulates moves the turn on.
    threshold : int or None
        What a result document says of the rule.
    """

    holding: Sequence[float] = ()
    turn: int = 0
    threshold: int | None = None

    def __call__(self, state: State) -> Choice:
        """Return what starts next: the head of a class, a job, or nothing."""
        raise NotImplementedError


class FlatRule(Rule):
    """A rule on flat arrays, which is compiled, and in plain Python runs as it stands.

    ``next_start`` is the rule (see `FlatState`), ``memory`` and ``numbers`` what it begins with.
    ``phases`` says whether the phases of MSFQ (section 4.2) are noted.
    """

    phases = False

    def __init__(
        self,
        queue: Instance,
        next_start: NextStart,
        memory: Sequence[int] = (),
        numbers: Sequence[float] = (),
    ) -> None:
        self.memory: list[int] = list(memory)
        self.numbers, self.next_start = numbers, next_start
        self._slots, self._by_need = slots(queue), by_need(queue)

    def __call__(self, state: State) -> int | None:
        """Return the class of which a job starts next, or None."""
        first = [state.head(kind) for kind in range(len(state.needs))]
        head = [NONE if job is None else job.number for job in first]
        flat = FlatState(
            self.memory,
            self.numbers,
            state.needs,
            self._slots,
            self._by_need,
            state.waiting,
            state.running,
            head,
        )
        kind = self.next_start(flat, state.free)
        return None if kind < 0 else kind


@dataclass(frozen=True)
class RuleFactory:
    """A rule set up for an instance; ``make`` makes a fresh one with an empty memory."""

    name: str
    make: Callable[[], Rule]

    @property
    def compiled(self) -> bool:
        """Whether the rule is compiled; else it is run in plain Python."""
        return isinstance(self.make(), FlatRule)


def slots(queue: Instance) -> tuple[int, ...]:
    """Return how many jobs of each class fit together: floor(k / need)."""
    return tuple(queue.servers // job.need for job in queue.classes)


def by_need(queue: Instance) -> tuple[int, ...]:
    """Return the classes, the largest need first."""
    needs = [job.need for job in queue.classes]
    return tuple(sorted(range(len(needs)), key=lambda kind: -needs[kind]))
