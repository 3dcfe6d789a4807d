"""The checker for allocations: remaining sizes are recomputed epoch by epoch from the shares.

Everything is recomputed from the instance's raw fields; nothing is shared with what made them.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, fsum, inf, isfinite, log

from msgspec import UNSET

from schedopt.instances.constraints import Constraint, FairShare, Shares, label
from schedopt.instances.errors import shown
from schedopt.instances.hesrpt import Allocated, Instance, Power
from schedopt.solvers.result import Document
from schedopt.validation.hesrpt.speeds import speeds
from schedopt.validation.report import Report

CLOSE = 1e-7
"""Tolerance on the shares of an interior-point method."""
WORK = 1e-8
"""The fraction of a job's size that may be left at its completion."""


def check(
    instance: Instance,
    solution: Allocated,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check an allocation, and add what is wrong to the report."""
    if not _completions(instance, solution, claim, report):
        return
    _objective(instance, solution, claim, report)
    _certificate(solution, claim, report)
    if solution.proportions is not UNSET:
        _proportional(instance, solution, report)
        if constraints:
            report.unjudged.append("side constraints, on shares that are given as proportions")
        return
    if _epochs(instance, solution, report):
        _work(instance, solution, report)
        for position, constraint in enumerate(constraints):
            _kept(constraint, label(constraint, position), instance, solution, report)


def _completions(instance: Instance, solution: Allocated, claim: Document, report: Report) -> bool:
    """Check names, times and the order; tell whether there is anything to go on with."""
    names = {job.name: job for job in instance.jobs}
    ends = solution.completion
    for name in ends.keys() ^ names.keys():
        report.violations.append(f"completion: {shown(name)} is not there or no job")
    for name in ends.keys() & names.keys():
        if not names[name].arrival < ends[name] < inf:
            report.violations.append(f"completion: {name} completes at {ends[name]}")
    if report.violations:
        return False
    report.expect(_in_order(solution.order, ends), "order: not all jobs by their completion times")
    if claim.options.get("order") is not None and claim.formulation == "allocation":
        asked = [name.strip() for name in str(claim.options["order"]).split(",")]
        report.expect(_in_order(asked, ends), "order: jobs complete in another than was asked for")
    return True


def _in_order(order: Sequence[str], ends: Mapping[str, float]) -> bool:
    """Tell whether an order is that in which jobs complete, of all of them."""
    pairs = pairwise(order)
    return sorted(order) == sorted(ends) and all(ends[a] <= ends[b] * (1 + 1e-12) for a, b in pairs)


def _objective(instance: Instance, solution: Allocated, claim: Document, report: Report) -> None:
    flows = [(solution.completion[job.name] - job.arrival, job.weight) for job in instance.jobs]
    ours = {
        "makespan": max(solution.completion.values()),
        "total-flow-time": fsum(flow for flow, _ in flows),
        "mean-flow-time": fsum(flow for flow, _ in flows) / len(flows),
        "weighted-flow-time": fsum(flow * weight for flow, weight in flows),
    }[instance.objective]
    met = claim.objective is not None and abs(ours - claim.objective) <= 1e-9 * abs(ours)
    report.expect(met, f"objective: completions make {ours:.12g}, not {claim.objective}")


def _certificate(solution: Allocated, claim: Document, report: Report) -> None:
    if solution.certified == "all":
        report.expect(claim.solution_status == "optimal", "certified over all orders, not optimal")
        given = claim.options.get("order") is not None
        report.expect(not given, "certified over all orders, of one given")


def _epochs(instance: Instance, solution: Allocated, report: Report) -> bool:
    """Check that epochs follow each other from 0, with shares of jobs that are in the system."""
    arrival = {job.name: job.arrival for job in instance.jobs}
    last = max(solution.completion.values())
    before, fine = 0.0, True
    for i, epoch in enumerate(solution.epochs):
        faults = []
        if not (isfinite(epoch.end) and epoch.start < epoch.end):
            faults.append(f"from {epoch.start} to {epoch.end}")
        if abs(epoch.start - before) > 1e-12 * last:
            faults.append(f"starts at {epoch.start}, not at {before}")
        before = epoch.end
        for name, share in epoch.share.items():
            if name not in arrival:
                faults.append(f"no job is called {shown(name)}")
            elif not 0 <= share <= 1 + CLOSE:
                faults.append(f"{name} has {share}")
            elif share > 0 and epoch.start < arrival[name] * (1 - 1e-12):
                faults.append(f"{name} is served before it arrives")
            elif share > 0 and epoch.end > solution.completion[name] * (1 + 1e-12):
                faults.append(f"{name} is served after it completes")
        total = fsum(epoch.share.values())
        if not total <= 1 + CLOSE:
            faults.append(f"shares sum to {total:.12g}")
        report.violations.extend(f"epochs[{i}]: {what}" for what in faults)
        fine = fine and not faults
    return fine


def _work(instance: Instance, solution: Allocated, report: Report) -> None:
    """Recompute what each job has done by its completion."""
    speed = dict(zip((job.name for job in instance.jobs), speeds(instance), strict=True))
    done: dict[str, list[float]] = {job.name: [] for job in instance.jobs}
    for epoch in solution.epochs:
        for name, share in epoch.share.items():
            rate = speed[name](share * instance.servers)
            done[name].append(rate * (epoch.end - epoch.start))
    for job in instance.jobs:
        left = job.size - fsum(done[job.name])
        rounding = 1e-14 * solution.completion[job.name] * speed[job.name](instance.servers)
        report.expect(
            left <= WORK * job.size + rounding,
            f"work: {job.name} has {left:.6g} of {job.size:.6g} left when it completes",
        )


def _kept(
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
        for group in constraint.at_least.keys() | constraint.at_most.keys():
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


def _proportional(instance: Instance, solution: Allocated, report: Report) -> None:
    """Check completions under shares in fixed proportions, without writing shares out.

    With one speedup k^p, job i runs at N^p (u_i/U)^p, U the sum over the jobs in the system: in a
    time of its own that runs as N^p/U^p, each job runs at u_i^p throughout.
    """
    one = instance.jobs[0].speedup or instance.speedup
    alike = all((job.speedup or instance.speedup) == one for job in instance.jobs)
    logs = solution.proportions
    if not (isinstance(one, Power) and alike and not instance.whole and isinstance(logs, Mapping)):
        report.violations.append("proportions: only for one speedup k^p of all jobs")
        return
    if logs.keys() != solution.completion.keys() or solution.epochs:
        report.violations.append("proportions: for all jobs, and in place of epochs")
        return
    if any(job.arrival for job in instance.jobs):
        report.violations.append("proportions: only where all jobs are there from the start")
        return
    p = one.p
    sizes = {job.name: job.size for job in instance.jobs}
    clocks = sorted((log(sizes[name]) - p * logs[name], name) for name in sizes)  # log of x/u^p
    total = -inf  # log U of the jobs from the last to complete
    sums: list[float] = []
    for _, name in reversed(clocks):
        high, low = max(total, logs[name]), min(total, logs[name])
        total = high if low == -inf else high + _log1p_exp(low - high)
        sums.append(total)
    now, before, servers = 0.0, -inf, instance.servers**p
    wrong = []
    for (clock, name), log_sum in zip(clocks, reversed(sums), strict=True):
        step = exp(min(700.0, clock + p * log_sum)) * (1 - exp(before - clock)) / servers
        now, before = now + step, clock
        if not abs(now - solution.completion[name]) <= 1e-7 * now:
            wrong.append(name)
    report.expect(not wrong, f"work: {len(wrong)} jobs complete at other times, {wrong[:3]}")


def _log1p_exp(x: float) -> float:
    from math import log1p

    return log1p(exp(x))
