"""The policies for logs as plain definitions over a `Machine`, without the kernels' code."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, inf, log, log10
from typing import Any

from builders.log_machine import Key, Machine, Rule, order_rule, run_to_end
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.site import Priority
from schedopt.policies.msfq.logs import registration
from schedopt.policies.msfq.logs.replay import Order, with_limits


def played(
    queue: Instance, name: str, estimates: str = "given", own: Mapping[str, Any] | None = None
) -> Machine:
    """Return a machine without partitions that has played a log under a policy's definition."""
    policy = registration.LOG_POLICIES[name]
    order = policy.order(**(own or {}))
    site, planned = order.priority, queue.jobs.planned(estimates if policy.plans else "exact")
    jobs, amounts = with_limits(queue.jobs, queue.servers, planned, queue.amounts, site.limits)
    machine = Machine(jobs, queue.servers, planned, site.half_life, amounts, site.by)
    return run_to_end(machine, rule_of(order))


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
    """Return the plain definition of an order."""
    if order.key == "conservative":
        return Conservative()
    key = weighted(order.priority) if order.key == "weighted" else KEYS[order.key]
    return order_rule(key, order.fill, KEYS[order.fill_key] if order.fill_key else None)


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
