"""Admission rules on logs: the needs of the jobs are the classes that the rules speak of."""

import numpy as np

from schedopt.instances.msfq import Instance, JobClass
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.msfq.records import MOST_SERVERS
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.experiment import Experiment, invalid_start
from schedopt.policies.msfq.logs.replay import Site, log_of, machine_of, run_loop
from schedopt.policies.msfq.rule import FlatRule, Plan, Rule
from schedopt.policies.msfq.simulation import flat_state_of
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
    rule = plan.make()
    if rule.holding:
        raise NotApplicableError(f"{plan.name} goes by a random clock, which a log has not")
    if isinstance(rule, FlatRule):
        starts = _replay_compiled(queue, plan.name, rule)
    else:
        starts = _replay_in_python(queue, plan.name, rule, estimates)
    if waiting := int(np.isinf(starts).sum()):
        raise NotApplicableError(f"{plan.name} lets {waiting} jobs wait for ever")
    return starts


def _replay_compiled(queue: Instance, name: str, rule: FlatRule) -> Floats:
    from schedopt.policies.msfq.logs import discipline_kernels as kernels
    from schedopt.policies.msfq.logs.event_loop_kernels import FAULT

    jobs, known = queue.jobs, classes(queue)
    kind = np.unique(jobs.need, return_inverse=True)[1].astype(np.int32)
    last, after = np.zeros(len(known.classes), np.int64), np.zeros(len(jobs), np.int32)
    own = kernels.ByClass(flat_state_of(known, rule), kind, last, after)
    machine = machine_of(jobs, Site(queue.servers))
    starts = run_loop(kernels.by_class(rule.next_start), log_of(jobs, queue.servers), machine, own)
    if machine.whole[FAULT] >= 0:
        raise invalid_start(name, str(machine.whole[FAULT]))
    return starts


def _replay_in_python(queue: Instance, name: str, rule: Rule, estimates: bool) -> Floats:
    """Replay in plain Python: at each instant ends, then submits, then the rule until done."""
    from schedopt.policies.msfq.plain import times

    jobs, count = queue.jobs, len(queue.jobs)
    kind = np.unique(jobs.need, return_inverse=True)[1].astype(np.int64)
    trace = Trace(jobs.submit, kind, jobs.run)
    run = Experiment(count, trace=trace, sized=True, each=True, estimates=estimates)
    starts = times(classes(queue), name, rule, trace, run, together=True).starts
    return np.where(np.isnan(starts), np.inf, starts)
