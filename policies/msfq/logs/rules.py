"""Policies for logs, as definitions: an order, and which jobs may pass one that does not fit.

Most are an order and a way to fill: start jobs in that order until one does not fit (``stop``);
skip those that do not fit (``skip``); or reserve servers for the first that does not fit, and let
others pass as long as they do not delay it (``easy``).
"""

from collections.abc import Callable
from math import exp, inf, log, log10

import numpy as np

from schedopt.instances.msfq import Instance, JobClass
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.msfq.records import MOST_SERVERS
from schedopt.instances.msfq.site import Priority
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.logs.machine import Machine, Rule
from schedopt.policies.msfq.logs.replay import Order
from schedopt.policies.msfq.rule import Plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.registry import NotApplicableError

Key = Callable[[Machine, int], float]
"""The sort key of jobs, the least first; ties in order of submit."""


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
    """Smallest area first: servers (or the dominant share) times run time."""
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


def weighted(site: Priority) -> Key:
    """Order by a weighted sum of factors, the greatest first."""
    w = site.weights

    def constant(machine: Machine, job: int) -> float:
        size, planned = machine.size[job], machine.planned[job]
        quality = site.qos.get(machine.label(job, site.qos_by) or "", 0.0)
        total = w.size * (size / machine.servers) + w.need * log10(size) + w.run * log10(planned)
        waited = w.wait * (machine.submit[job] / site.max_age)  # the order of waiting is this one
        return total + w.area * log10(planned * size) + w.qos * quality - waited

    def of_user(machine: Machine, user: int) -> float:
        total = whole = 0.0
        for name, usage in zip(machine.accounts, machine.usage, strict=True):
            total += usage
            whole += site.shares.get(name or "", 1.0)
        part = machine.usage[user] / total if total > 0 else 0.0
        shares = whole / site.shares.get(machine.accounts[user] or "", 1.0)
        return w.usage * part + w.fair_share * exp(-(part * shares) * log(2))

    def key(machine: Machine, job: int) -> float:
        waited = machine.now - machine.submit[job]
        old = w.age * min(1.0, waited / site.max_age)
        stretched = w.stretch * (waited / machine.planned[job])
        return -(constant(machine, job) + of_user(machine, machine.user[job]) + old + stretched)

    return key


def order_rule(key: Key, fill: str = "stop", fill_key: Key | None = None) -> Rule:
    """Return the rule that starts jobs in the order of a key, and fills as `FILLS` names it.

    Others pass the first that does not fit in the order of ``fill_key``, by default the same.
    """

    def rule(machine: Machine) -> None:
        line = _sort_waiting(machine, key)
        while line and machine.fits(line[0]):
            machine.start(line.pop(0))
        if not line or fill == "stop":
            return
        head = line[0]
        time, spare, left = inf, machine.servers, machine.amounts
        if fill == "easy":
            time, spare, left = reservation(machine, head)
            machine.promise(head, time)
        for job in _sort_waiting(machine, fill_key or key):
            if job == head or not machine.fits(job):
                continue
            if machine.now + machine.planned[job] <= time:
                machine.start(job)
            elif machine.fits(job, spare, left):
                machine.start(job)
                spare -= machine.need[job]
                left = [over - need for over, need in zip(left, machine.more[job], strict=True)]

    return rule


KEYS: dict[str, Key] = {
    "arrival": arrival,
    "shortest": shortest,
    "longest": longest,
    "smallest": smallest,
    "widest": widest,
    "f1": f1,
    "wfp3": wfp3,
}


def rule_of(order: Order) -> Rule:
    """Return the plain definition of a compiled replay."""
    if order.key == "conservative":
        return Conservative()
    key = weighted(order.priority) if order.key == "weighted" else KEYS[order.key]
    return order_rule(key, order.fill, KEYS[order.fill_key] if order.fill_key else None)


def _sort_waiting(machine: Machine, key: Key) -> list[int]:
    return sorted(machine.waiting, key=lambda job: (key(machine, job), job))


def reservation(machine: Machine, head: int) -> tuple[float, int, list[int]]:
    """Return when a job that does not fit can start, and what is then spare: servers, and the rest.

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
            left = [
                most - sum(machine.more[j][r] for j in others)
                for r, most in enumerate(machine.amounts)
            ]
            return machine.fits(job, free, left)

        for time in sorted({machine.now, *(end for _, end, _ in busy if end > machine.now)}):
            changes = [start for start, _, _ in busy if time < start < time + length]
            if all(fits(at) for at in [time, *changes]):
                return time
        raise RuntimeError("a job wider than the machine")


def classes(queue: Instance) -> Instance:
    """Return a log's queue of classes: one for each need, with the rates and sizes of its jobs.

    `NotApplicableError` if the machine has more servers than a queue of classes may.
    """
    if queue.resources or queue.partitions:
        raise NotApplicableError("rules by class are for logs without resources or partitions")
    if queue.servers > MOST_SERVERS:
        raise NotApplicableError(f"rules by class are for at most {MOST_SERVERS} servers")
    jobs = queue.jobs
    span = jobs.span or 1.0
    needs, kind = np.unique(jobs.need, return_inverse=True)
    counts, means = np.bincount(kind), np.bincount(kind, jobs.run) / np.bincount(kind)
    return Instance(
        name=queue.name,
        servers=queue.servers,
        classes=tuple(
            JobClass(
                need=int(need),
                arrival_rate=float(counts[i]) / span,
                service_rate=1.0 / float(means[i]),
            )
            for i, need in enumerate(needs.tolist())
        ),
    )


def replay_classes(queue: Instance, plan: Plan, *, estimates: bool = False) -> Floats:
    """Return when each job starts under a rule for the `classes` of a log, shape (jobs,).

    `NotApplicableError` if the rule goes by a clock, or lets jobs wait for ever.
    """
    if plan.make().holding:
        raise NotApplicableError(f"{plan.name} goes by a random clock, which a log has not")
    queue, rows = queue.as_released()
    jobs = queue.jobs
    kind = np.unique(jobs.need, return_inverse=True)[1].astype(np.int64)
    trace = Trace(jobs.submit, kind, jobs.run)
    starts = simulate(
        classes(queue),
        plan,
        arrivals=len(jobs),
        trace=trace,
        each=True,
        together=True,
        estimates=estimates,
    ).starts
    if waiting := int(np.isnan(starts).sum()):
        raise NotApplicableError(f"{plan.name} lets {waiting} jobs wait for ever")
    in_rows = np.empty(len(rows))
    in_rows[rows] = starts
    return in_rows
