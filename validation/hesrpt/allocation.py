"""Checker of allocations: recomputes remaining sizes epoch by epoch from the shares.

It uses the instance's raw fields alone, and shares no code with the solvers.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import chain, repeat
from math import fsum, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, FairShare, Shares, label
from schedopt.instances.errors import quote
from schedopt.instances.hesrpt import Allocated, Amdahl, Instance, Power
from schedopt.solvers.result import Document
from schedopt.validation.report import Report

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


def rates_of(instance: Instance, jobs: Places, servers: Floats) -> Floats:
    """Return the speedup of each of some jobs, by position, on its servers."""
    bases: Any = instance.speedups
    rates, kinds = np.zeros(len(jobs)), instance.kinds[jobs]
    power = np.array([of.p if isinstance(of, Power) else np.nan for of in bases])[kinds]
    parallel = np.array([of.parallel if isinstance(of, Amdahl) else np.nan for of in bases])[kinds]
    powers, laws = ~np.isnan(power) & (servers > 0), ~np.isnan(parallel) & (servers > 0)
    rates[powers] = servers[powers] ** power[powers]
    f = parallel[laws]
    rates[laws] = 1.0 / ((1.0 - f) + f / servers[laws])
    for i in np.unique(kinds[np.isnan(power) & np.isnan(parallel)]).tolist():
        k, s = np.array(sorted({(0.0, 0.0), *bases[i].points})).T
        rates[kinds == i] = np.interp(servers[kinds == i], k, s)
    return rates


CLOSE = 1e-7  # tolerance on the shares of an interior-point method
WORK = 1e-8  # the fraction of a job's size that may be left at its completion


def check(
    instance: Instance,
    solution: Allocated,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check an allocation, and report what is wrong."""
    done = _check_completions(instance, solution, claim, report)
    if done is None:
        return
    _check_objective(instance, done, claim, report)
    _check_certificate(solution, claim, report)
    if _check_epochs(instance, solution, done, report):
        for position, constraint in enumerate(constraints):
            _check_rule(constraint, label(constraint, position), instance, solution, report)


def _check_completions(
    instance: Instance, solution: Allocated, claim: Document, report: Report
) -> Floats | None:
    """Check names, times and the order; return the completion time of each job, or None."""
    ends = solution.completion
    of = _positions(instance, ends)
    if len(of) != len(instance.jobs) or (of < 0).any():
        for name in ends.keys() ^ instance.index.keys():
            report.violations.append(f"completion: {quote(name)} is not there or no job")
    when = np.fromiter(ends.values(), float, len(ends))[of >= 0]
    of = of[of >= 0]
    names = instance.names
    for i in np.flatnonzero(~((instance.arrivals[of] < when) & (when < inf))).tolist():
        report.violations.append(f"completion: {names[of[i]]} completes at {when[i]}")
    if report.violations:
        return None
    done = np.empty(len(of))
    done[of] = when
    right = _is_completion_order(instance, solution.order, done)
    report.expect(right, "order: does not list all jobs by completion time")
    if claim.options.get("order") is not None and claim.formulation == "allocation":
        asked = [name.strip() for name in str(claim.options["order"]).split(",")]
        right = _is_completion_order(instance, asked, done)
        report.expect(right, "order: jobs do not complete in the required order")
    return done


def _positions(instance: Instance, names: Collection[str]) -> Places:
    """Return each name's position among the jobs, or -1."""
    return np.fromiter(map(instance.index.get, names, repeat(-1)), np.intp, len(names))


def _is_completion_order(instance: Instance, order: Sequence[str], done: Floats) -> bool:
    of = _positions(instance, order)
    if len(of) != len(done) or not np.array_equal(np.sort(of), np.arange(len(done))):
        return False
    when = done[of]
    return bool((when[:-1] <= when[1:] * (1 + 1e-12)).all())


def _check_objective(instance: Instance, done: Floats, claim: Document, report: Report) -> None:
    flows = done - instance.arrivals
    if instance.objective == "makespan":
        ours = float(done.max())
    elif instance.objective == "weighted-flow-time":
        ours = fsum((flows * instance.weights).tolist())
    else:
        each = 1 if instance.objective == "total-flow-time" else len(flows)
        ours = fsum(flows.tolist()) / each
    met = claim.objective is not None and abs(ours - claim.objective) <= 1e-9 * abs(ours)
    report.expect(met, f"objective: completions make {ours:.12g}, not {claim.objective}")


def _check_certificate(solution: Allocated, claim: Document, report: Report) -> None:
    if solution.certified == "all":
        report.expect(
            claim.solution_status == "optimal", "certified over all orders, but not optimal"
        )
        has_order = claim.options.get("order") is not None
        report.expect(not has_order, "certified over all orders, but an order was given")


def _check_epochs(instance: Instance, solution: Allocated, done: Floats, report: Report) -> bool:
    """Check that epochs follow each other from 0, the owners of their shares, and the work done."""
    epochs = solution.epochs
    names = list(chain.from_iterable(epoch.share for epoch in epochs))
    share = np.fromiter(chain.from_iterable(e.share.values() for e in epochs), float, len(names))
    job = _positions(instance, names)
    at = np.repeat(np.arange(len(epochs)), [len(epoch.share) for epoch in epochs])
    start, end = np.array([(epoch.start, epoch.end) for epoch in epochs]).reshape(-1, 2).T
    before, totals = np.append(0.0, end)[:-1], np.bincount(at, share, minlength=len(epochs))
    faults: list[tuple[int, str]] = []

    def expect(
        right: NDArray[np.bool_], says: Callable[[int], str], of: Places | None = None
    ) -> None:
        wrong = np.flatnonzero(~right).tolist()
        faults.extend((i if of is None else int(of[i]), says(i)) for i in wrong)

    expect(np.isfinite(end) & (start < end), lambda i: f"from {start[i]} to {end[i]}")
    follows = np.abs(start - before) <= 1e-12 * done.max()
    expect(follows, lambda i: f"starts at {start[i]}, not at {before[i]}")
    expect(job >= 0, lambda i: f"no job is called {quote(names[i])}", at)
    expect((share >= 0) & (share <= 1 + CLOSE), lambda i: f"{names[i]} has {share[i]}", at)
    served = (share > 0) & (job >= 0)
    early = served & (start[at] < instance.arrivals[job] * (1 - 1e-12))
    expect(~early, lambda i: f"{names[i]} is served before it arrives", at)
    late = served & (end[at] > done[job] * (1 + 1e-12))
    expect(~late, lambda i: f"{names[i]} is served after it completes", at)
    expect(totals <= 1 + CLOSE, lambda i: f"shares sum to {totals[i]:.12g}")
    report.violations.extend(f"epochs[{i}]: {what}" for i, what in sorted(faults))
    if not faults:
        rates = rates_of(instance, job, share * instance.servers)
        work = np.bincount(job, rates * (end - start)[at], len(done)).astype(np.float64)
        _check_work(instance, done, work, report)
    return not faults


def _check_work(instance: Instance, done: Floats, work: Floats, report: Report) -> None:
    everyone, rest = np.arange(len(done)), instance.sizes - work
    fastest = rates_of(instance, everyone, np.full(len(done), float(instance.servers)))
    for j in np.flatnonzero(~(rest <= WORK * instance.sizes + 1e-14 * done * fastest)).tolist():
        of = f"{rest[j]:.6g} of {instance.sizes[j]:.6g}"
        report.violations.append(f"work: {instance.names[j]} has {of} left when it completes")


def _check_rule(
    constraint: Constraint, name: str, instance: Instance, solution: Allocated, report: Report
) -> None:
    """Check a side constraint in every epoch."""
    if hasattr(constraint, "broken"):  # a kind of the user's own
        report.violations.extend(f"{name}: {w}" for w in constraint.broken(instance, solution))
        return
    bounded: list[tuple[str, set[str], float, float]] = []
    if isinstance(constraint, Shares):
        least = constraint.at_least or 0.0
        most = 1.0 if constraint.at_most is None else constraint.at_most
        bounded = [(job, {job}, least, most) for job in constraint.jobs]
    elif isinstance(constraint, FairShare):
        for group in dict.fromkeys([*constraint.at_least, *constraint.at_most]):
            mine = {j.name for j in instance.jobs if j.groups.get(constraint.by) == group}
            least = constraint.at_least.get(group, 0.0)
            bounded.append((group, mine, least, constraint.at_most.get(group, 1.0)))
    else:
        report.unjudged.append(f"{name}: no checker for {constraint.kind()}")
    arrival = {job.name: job.arrival for job in instance.jobs}
    for who, mine, least, most in bounded:
        beyond = []
        for i, epoch in enumerate(solution.epochs):
            middle = (epoch.start + epoch.end) / 2
            here = [
                j
                for j in mine
                if arrival[j] <= middle < solution.completion[j]
                or min(epoch.end, solution.completion[j]) - max(epoch.start, arrival[j])
                > 1e-9 * epoch.end
            ]
            share = fsum(epoch.share.get(j, 0.0) for j in here)
            if here and not least - CLOSE <= share <= most + CLOSE:
                beyond.append((max(least - share, share - most), share, i))
        if beyond:
            _, share, i = max(beyond)
            wanted = f"at least {least}" if share < least else f"at most {most}"
            more = f" (and in {len(beyond) - 1} more)" if len(beyond) > 1 else ""
            text = f"{name}: {who} has {share:.6g} in epochs[{i}]{more}, {wanted}"
            report.violations.append(text)
