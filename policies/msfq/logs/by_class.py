"""Admission rules on a log: each job belongs to the class of its need."""

import numpy as np

from schedopt.instances.msfq import Instance, JobClass
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.msfq.records import MOST_SERVERS
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.rule import RuleFactory
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.registry import NotApplicableError


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
    if getattr(plan.make(), "holding", ()):
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
