"""The state of a queue as an admission rule sees it: who waits, who runs, what is idle."""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
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
    killed : list of int
        Jobs that a rule has just stopped, by number. For simulators.
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
        self.killed: list[int] = []

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

    def oldest(self, among: Iterable[int]) -> int | None:
        """Return the class whose head arrived first; None if none of these classes waits."""
        waiting = [job for kind in among if (job := self.head(kind)) is not None]
        return min(waiting).kind if waiting else None

    def queued(self) -> list[int]:
        """Return the classes of which a job waits."""
        return [kind for kind, jobs in enumerate(self.waiting) if jobs]

    def fitting(self) -> list[int]:
        """Return the classes of which a job waits and would fit into the idle servers."""
        return [kind for kind in self.queued() if self.needs[kind] <= self.free]

    def largest(self, among: Sequence[int]) -> int | None:
        """Return the class that needs most servers; None if there is none."""
        return max(among, key=lambda kind: self.needs[kind], default=None)

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

    def kill(self, number: int) -> None:
        """Stop a job that runs; it waits again, behind all others, and has done nothing yet."""
        job = self.complete(number).job
        self.arrive(job)
        self.killed.append(number)
