"""Admission rules on logs: the needs of the jobs are the classes that the rules speak of."""

import numpy as np

from schedopt.instances.msfq import Instance, JobClass
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.msfq.records import MOST_SERVERS
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.rule import Plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.registry import NotApplicableError


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
    return starts
