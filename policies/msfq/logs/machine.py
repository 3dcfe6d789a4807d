"""A machine and its queue in plain Python, for rules of a user's own.

At an instant, first all that ends there ends, then all that is submitted there comes, in the log's
order, and only then does a rule say what starts.
"""

import dataclasses
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import exp, inf, log

import numpy as np

from schedopt.instances.msfq.logs import Floats, Ints, Jobs, Needs
from schedopt.instances.msfq.site import Limit


class Machine:
    """What a rule sees, and what it may do: `start` jobs, and ask to be asked again.

    ``planned`` is how long the rule believes that jobs run, never less than they do; ``half_life``
    that of usage, in the log's unit, ``by`` whose usage it is.

    Attributes
    ----------
    now : float
    servers, free : int
        Of the machine, and of those the idle ones.
    amounts, left : list of int
        Of each other resource, how much there is, and how much nobody holds.
    waiting : list of int
        Jobs that wait, in the order in which they came.
    running : dict of int to float
        Jobs that run, and when each is planned to end; it may end earlier.
    ended : list of int
        Jobs that ended at this instant.
    submit, planned : list of float
        Of each job.
    jobs : Jobs
        The log.
    need, user : list of int
        Of each job; jobs of nobody known are all of one user.
    accounts : list of str or None
        The users by number, or whose usage counts in their place; the last is who is not known.
    more : list of list of int
        For each job what it needs of each other resource.
    size : list of float
        Of each job: see `sizes`.
    usage : list of float
        Of each user: size times time, each moment weighing half for every ``half_life`` since.
    promises : dict of int to float
        When each job was first promised to start, under rules that promise.
    alarm : float
        When to ask the rule again, though nothing ends or comes.
    """

    def __init__(  # noqa: PLR0917
        self,
        jobs: Jobs,
        servers: int,
        planned: Floats,
        half_life: float,
        amounts: Sequence[int],
        by: str = "user",
    ) -> None:
        self.now, self.servers, self.free = -inf, servers, servers
        self.amounts, self.left = list(amounts), list(amounts)
        self.waiting: list[int] = []
        self.running: dict[int, float] = {}
        self.ended: list[int] = []
        self.promises: dict[int, float] = {}
        self.alarm, self.jobs = inf, jobs
        self.submit: list[float] = jobs.submit.tolist()
        self.planned: list[float] = planned.tolist()
        self.need: list[int] = jobs.need.tolist()
        self.more: list[list[int]] = (
            jobs.needs.amounts.tolist() if jobs.needs else [[] for _ in self.need]
        )
        self.size: list[float] = sizes(jobs, servers, amounts).tolist()
        codes, self.accounts = accounts(jobs, by)
        self.user: list[int] = codes.tolist()
        self.usage, self.rates = [0.0] * len(self.accounts), [0.0] * len(self.accounts)
        self.half_life = half_life
        self.starts = [inf] * len(jobs)
        self._run: list[float] = jobs.run.tolist()
        self._ends: list[tuple[float, int]] = []

    def label(self, job: int, by: str) -> str | None:
        """Return a job's name in a column: its user, group or queue."""
        labels = self.jobs.labels(by)
        return None if labels is None or labels.codes[job] < 0 else labels.names[labels.codes[job]]

    def fits(self, job: int, free: int | None = None, left: Sequence[int] | None = None) -> bool:
        """Tell whether a job fits into the idle capacity, or a given one."""
        free, left = self.free if free is None else free, self.left if left is None else left
        enough = all(need <= over for need, over in zip(self.more[job], left, strict=True))
        return self.need[job] <= free and enough

    def start(self, job: int) -> None:
        """Start a waiting job; `RuntimeError` if it does not fit."""
        if not self.fits(job):
            raise RuntimeError(f"a rule started job {job} beyond capacity")
        self.waiting.remove(job)
        self.free -= self.need[job]
        self.left = [over - need for over, need in zip(self.left, self.more[job], strict=True)]
        self.rates[self.user[job]] += self.size[job]
        self.starts[job] = self.now
        self.running[job] = self.now + self.planned[job]
        heappush(self._ends, (self.now + self._run[job], job))

    def promise(self, job: int, time: float) -> None:
        """Record a job's latest start; only the first such promise counts."""
        self.promises.setdefault(job, time)

    def go_to(self, now: float) -> None:
        """Let time pass, and end what ends."""
        passed = now - self.now
        if passed < inf:
            rate = log(2) / self.half_life
            kept = exp(-passed * rate)
            gained = (1.0 - kept) / rate
            self.usage = [
                u * kept + r * gained for u, r in zip(self.usage, self.rates, strict=True)
            ]
        self.now, self.ended = now, []
        while self._ends and self._ends[0][0] <= now:
            _, job = heappop(self._ends)
            del self.running[job]
            self.free += self.need[job]
            self.left = [over + need for over, need in zip(self.left, self.more[job], strict=True)]
            self.rates[self.user[job]] -= self.size[job]
            self.ended.append(job)

    def next_end(self) -> float:
        """Return when the next running job ends."""
        return self._ends[0][0] if self._ends else inf


Rule = Callable[[Machine], None]
"""Starts what is to start now."""

LONG = "long jobs' servers, limit "
"""How the names of resources begin that stand for limits."""


def run_to_end(machine: Machine, rule: Rule) -> Machine:
    """Replay a machine's log from its first job on; then it knows the ``starts``.

    The rule is called after each event.
    """
    came, count = 0, len(machine.jobs)
    while came < count or machine.waiting:
        arrival = machine.submit[came] if came < count else inf
        now = min(arrival, machine.next_end(), machine.alarm)
        if now == inf:
            raise RuntimeError("a rule lets jobs wait for ever")
        machine.alarm = inf
        machine.go_to(now)
        while came < count and machine.submit[came] == now:
            machine.waiting.append(came)
            came += 1
        rule(machine)
    return machine


def accounts(jobs: Jobs, by: str = "user") -> tuple[Ints, list[str | None]]:
    """Return whose each job is, by number, and their names; the last stands for unknown ones."""
    labels = jobs.labels(by)
    if labels is None:
        return np.zeros(len(jobs), np.int32), [None]
    count = len(labels.names)
    return np.where(labels.codes < 0, count, labels.codes), [*labels.names, None]


def with_limits(
    jobs: Jobs, servers: int, planned: Floats, amounts: Sequence[int], limits: Sequence[Limit]
) -> tuple[Jobs, Sequence[int]]:
    """Return jobs and amounts with a resource for each limit: servers of its long jobs."""
    if not limits:
        return jobs, amounts
    columns = dict(zip(jobs.needs.names, jobs.needs.amounts.T, strict=True)) if jobs.needs else {}
    most = [max(1, int(limit.most * servers)) for limit in limits]
    for number, (limit, few) in enumerate(zip(limits, most, strict=True)):
        held = np.where(planned > limit.longer_than, np.minimum(jobs.need, few), 0)
        columns[f"{LONG}{number}"] = held.astype(np.int64)
    return dataclasses.replace(jobs, needs=Needs.of(columns)), (*amounts, *most)


def sizes(jobs: Jobs, servers: int, amounts: Sequence[int]) -> Floats:
    """Return each job's servers; with other resources, its dominant share in servers.

    Source: Ghodsi et al., Dominant Resource Fairness, NSDI 2011.
    """
    largest: Floats = jobs.need.astype(np.float64)
    if jobs.needs is not None:
        for name, column, most in zip(jobs.needs.names, jobs.needs.amounts.T, amounts, strict=True):
            if name.startswith(LONG):
                continue
            largest = np.maximum(largest, column * (servers / max(most, 1)))
    return largest
