"""Policies for logs, as definitions: an order, and which jobs may pass one that does not fit.

Most are an order and a way to fill: start jobs in that order until one does not fit (``stop``);
skip those that do not fit (``skip``); or reserve servers for the first that does not fit, and let
others pass as long as they do not delay it (``easy``).
"""

from collections.abc import Callable
from math import exp, inf, log, log10

from schedopt.policies.msfq.logs.plain import Machine, Rule
from schedopt.policies.msfq.logs.replay import Order

Key = Callable[[Machine, int], float]
"""What a job is ordered by, the least first; ties in the order of submit."""


def arrival(machine: Machine, job: int) -> float:
    """First come, first served."""
    return 0.0


def shortest(machine: Machine, job: int) -> float:
    """Shortest job first."""
    return machine.planned[job]


def longest(machine: Machine, job: int) -> float:
    """Longest job first."""
    return -machine.planned[job]


def smallest(machine: Machine, job: int) -> float:
    """Smallest area first: servers, or what is most of it, times time."""
    return machine.planned[job] * machine.size[job]


def widest(machine: Machine, job: int) -> float:
    """Most servers first."""
    return -float(machine.size[job])


def f1(machine: Machine, job: int) -> float:
    """F1: log10(r)·n + 870·log10(s), s the time of submit; times in seconds, at least 1."""
    r, s = max(machine.planned[job], 1.0), max(machine.submit[job], 1.0)
    return log10(r) * machine.size[job] + 870.0 * log10(s)


def wfp3(machine: Machine, job: int) -> float:
    """WFP3: the cube of waiting over run time, times servers."""
    ratio = (machine.now - machine.submit[job]) / machine.planned[job]
    return -(ratio * ratio * ratio * machine.size[job])


def least_served(machine: Machine, job: int) -> float:
    """Least served first: by how much a job's user has lately used."""
    return machine.usage[machine.user[job]]


def multifactor(age: float, size: float, fair_share: float, max_age: float) -> Key:
    """Slurm's priority: weights for age, size and fair share, each factor from 0 to 1."""

    def key(machine: Machine, job: int) -> float:
        total = 0.0
        for usage in machine.usage:
            total += usage
        part = machine.usage[machine.user[job]] / total if total > 0 else 0.0
        fair = exp(-part * len(machine.usage) * log(2))  # 2^(-U/S), every share S alike
        old = min(1.0, (machine.now - machine.submit[job]) / max_age)
        return -(age * old + size * (machine.size[job] / machine.servers) + fair_share * fair)

    return key


def ordered(key: Key, fill: str = "stop", fill_key: Key | None = None) -> Rule:
    """Return the rule that starts jobs in the order of a key, and fills as `FILLS` names it.

    Others pass the first that does not fit in the order of ``fill_key``, by default the same.
    """

    def rule(machine: Machine) -> None:
        line = _sorted(machine, key)
        while line and machine.fits(line[0]):
            machine.start(line.pop(0))
        if not line or fill == "stop":
            return
        head = line[0]
        time, spare, left = inf, machine.servers, machine.amounts
        if fill == "easy":
            time, spare, left = reservation(machine, head)
            machine.promise(head, time)
        for job in _sorted(machine, fill_key or key):
            if job == head or not machine.fits(job):
                continue
            if machine.now + machine.planned[job] <= time:
                machine.start(job)
            elif machine.fits(job, spare, left):
                machine.start(job)
                spare -= machine.need[job]
                left = [over - need for over, need in zip(left, machine.more[job], strict=True)]

    return rule


def of(order: Order) -> Rule:
    """Return the plain definition of a compiled replay."""
    keys: dict[str, Key] = {
        "arrival": arrival, "shortest": shortest, "longest": longest, "smallest": smallest,
        "widest": widest, "f1": f1, "wfp3": wfp3, "least-served": least_served,
    }  # fmt: skip
    if order.key == "conservative":
        return Conservative()
    key = multifactor(**order.weights) if order.key == "multifactor" else keys[order.key]
    return ordered(key, order.fill, keys[order.fill_key] if order.fill_key else None)


def _sorted(machine: Machine, key: Key) -> list[int]:
    return sorted(machine.waiting, key=lambda job: (key(machine, job), job))


def reservation(machine: Machine, head: int) -> tuple[float, int, list[int]]:
    """Return when a job that does not fit can start, and what is over then: servers, and the rest.

    All that is planned to end at that instant counts.
    """
    free, left, time = machine.free, machine.left, inf
    for end, job in sorted((end, job) for job, end in machine.running.items()):
        if machine.fits(head, free, left) and end > time:
            break
        free, time = free + machine.need[job], end
        left = [over + need for over, need in zip(left, machine.more[job], strict=True)]
    over = [idle - need for idle, need in zip(left, machine.more[head], strict=True)]
    return time, free - machine.need[head], over


class Conservative:
    """Conservative backfilling: every job has a reservation, made as it comes, and kept.

    Where a job ends earlier than planned the schedule is compressed: each job in turn, in the order
    in which they came, gives its reservation up for the earliest that there is.
    """

    def __init__(self) -> None:
        self.reserved: dict[int, float] = {}

    def __call__(self, machine: Machine) -> None:
        """Compress, reserve for new jobs, and start those whose reservation is due."""
        if any(machine.now < machine.starts[j] + machine.planned[j] for j in machine.ended):
            for job in machine.waiting:
                if job in self.reserved:
                    del self.reserved[job]
                    self.reserved[job] = self.earliest(machine, job)
        for job in machine.waiting:
            if job not in self.reserved:
                self.reserved[job] = self.earliest(machine, job)
                machine.promise(job, self.reserved[job])
        for job in list(machine.waiting):
            if self.reserved[job] <= machine.now:
                machine.start(job)
                del self.reserved[job]
        machine.alarm = min(self.reserved.values(), default=inf)

    def earliest(self, machine: Machine, job: int) -> float:
        """Return the earliest time at which a job fits beside all other reservations."""
        busy = [(-inf, end, j) for j, end in machine.running.items()]
        busy += [(start, start + machine.planned[j], j) for j, start in self.reserved.items()]
        length = machine.planned[job]

        def fits(at: float) -> bool:
            others = [j for start, end, j in busy if start <= at < end]
            free = machine.servers - sum(machine.need[j] for j in others)
            left = [most - sum(machine.more[j][r] for j in others)
                    for r, most in enumerate(machine.amounts)]  # fmt: skip
            return machine.fits(job, free, left)

        for time in sorted({machine.now, *(end for _, end, _ in busy if end > machine.now)}):
            changes = [start for start, _, _ in busy if time < start < time + length]
            if all(fits(at) for at in [time, *changes]):
                return time
        raise RuntimeError("a job wider than the machine")
