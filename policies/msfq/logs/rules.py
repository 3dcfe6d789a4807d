"""Building blocks of rules for logs in plain Python, and admission rules by class on a log.

An order and a way of backfilling make a rule: start jobs in order until one does not fit
(``stop``); skip jobs that do not fit (``skip``); or reserve servers for the first that does not
fit, and let others pass if they do not delay it (``easy``).
"""

from collections.abc import Callable
from math import inf

import numpy as np

from schedopt.instances.msfq import Instance, JobClass
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.msfq.records import MOST_SERVERS
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.logs.machine import Machine, Rule
from schedopt.policies.msfq.rule import RuleFactory
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.registry import NotApplicableError

Key = Callable[[Machine, int], float]
"""The sort key of a job; the least goes first, ties in order of submit."""


def order_rule(key: Key, fill: str = "stop", fill_key: Key | None = None) -> Rule:
    """Return the rule that starts jobs in the order of a key, and fills as in `FILLS`.

    Others pass the first job that does not fit in the order of ``fill_key``, by default the same.
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


def _sort_waiting(machine: Machine, key: Key) -> list[int]:
    """Return the waiting jobs in the order of a key; ties in order of submit."""
    return sorted(machine.waiting, key=lambda job: (key(machine, job), job))


def reservation(machine: Machine, head: int) -> tuple[float, int, list[int]]:
    """Return the shadow time of a job that does not fit, the spare servers then, and the rest.

    All jobs with a planned end at that time count.
    """
    free, left, time = machine.free, machine.left, inf
    for end, job in sorted((end, job) for job, end in machine.running.items()):
        if machine.fits(head, free, left) and end > time:
            break
        free, time = free + machine.need[job], end
        left = [over + need for over, need in zip(left, machine.more[job], strict=True)]
    over = [idle - need for idle, need in zip(left, machine.more[head], strict=True)]
    return time, free - machine.need[head], over


def classes(queue: Instance) -> Instance:
    """Return the queue of classes of a log: one for each need, with the rates of its jobs.

    Raises
    ------
    NotApplicableError
        If the machine has resources, partitions, or more servers than a queue of classes may.
    """
    if queue.resources or queue.partitions:
        raise NotApplicableError("admission rules are for logs without resources or partitions")
    if queue.servers > MOST_SERVERS:
        raise NotApplicableError(f"admission rules are for at most {MOST_SERVERS} servers")
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


def replay_classes(queue: Instance, plan: RuleFactory, *, estimates: bool = False) -> Floats:
    """Return the start of each job of a log under an admission rule, shape (jobs,).

    Raises
    ------
    NotApplicableError
        If the rule has a random clock, or some jobs never start.
    """
    if plan.make().holding:
        raise NotApplicableError(f"{plan.name} has a random clock, which a log does not have")
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
        raise NotApplicableError(f"{waiting} jobs never start under {plan.name}")
    in_rows = np.empty(len(rows))
    in_rows[rows] = starts
    return in_rows
