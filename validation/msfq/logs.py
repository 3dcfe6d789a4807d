"""The checker of solutions for logs: feasible starts, and every measure that follows from them.

All measures are recomputed from the log and the starts alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, ResponseTime, label
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import (
    Bracketed,
    Instance,
    LogAnswer,
    Measures,
    Partition,
    Replayed,
)
from schedopt.instances.msfq.logs import Jobs
from schedopt.solvers.result import Document
from schedopt.validation.report import Report, same

Floats = NDArray[np.float64]
ROUNDING = 1e-9
"""The relative tolerance on times."""


def solution_type(solution: Mapping[str, object]) -> type[LogAnswer]:
    """Return the record type of a solution for a log, from its keys."""
    if "policies" in solution:
        return Bracketed
    return Replayed


def check(
    queue: Instance,
    solution: LogAnswer,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a solution for a log, and add violations to the report."""
    jobs, starts = queue.jobs, _read_starts(queue, solution, report)
    if starts is None:
        return
    _check_feasible(queue, jobs, starts, report)
    ends = starts + jobs.run
    response = ends - jobs.submit
    work = jobs.need * jobs.run
    _expect_close(report, "jobs", solution.jobs, len(jobs))
    _expect_close(report, "mean_response_time", solution.mean_response_time, response.mean())
    weighted = (work * response).sum() / work.sum()
    _expect_close(report, "weighted_response_time", solution.weighted_response_time, weighted)
    objective = weighted if queue.objective == "weighted" else response.mean()
    _expect_close(report, "objective", claim.objective, objective)
    if isinstance(solution, Bracketed):
        _check_bracket(solution, claim, report)
    if isinstance(solution, Replayed):
        _check_measures(queue, jobs, solution, starts, report)
    check_times(_times_by_need(jobs, response, constraints), constraints, report)


def _read_starts(queue: Instance, solution: LogAnswer, report: Report) -> Floats | None:
    """Return the start of each job; None, and a violation, if they cannot be read."""
    count = len(queue.jobs)
    if solution.jobs != count:
        report.violations.append(f"jobs: {solution.jobs}, where the log has {count}")
    elif isinstance(solution, Replayed | Bracketed):
        try:
            return solution.starts
        except InputError as error:
            report.violations.append(str(error))
    return None


def _machines(queue: Instance, jobs: Jobs) -> Iterator[tuple[str, NDArray[np.bool_], Partition]]:
    """Yield each part of the machine: its name in words, a mask of its jobs, and its capacities."""
    if not queue.partitions:
        whole = Partition(servers=queue.servers, resources=queue.resources)
        yield "", np.ones(len(jobs), dtype=np.bool_), whole
    for name, part in queue.partitions.items():
        names = jobs.partition.names if jobs.partition else ()
        codes = jobs.partition.codes if jobs.partition else np.zeros(len(jobs))
        own = codes == names.index(name) if name in names else np.zeros(len(jobs), dtype=np.bool_)
        yield f" of partition {name}", own, part


def _check_feasible(queue: Instance, jobs: Jobs, starts: Floats, report: Report) -> None:
    """Check that every job starts, none before its release, and that capacities are respected."""
    report.expect(bool(np.isfinite(starts).all()), "starts: not all are finite")
    for what, times in (("submit", jobs.submit), ("release", jobs.release)):
        if times is not None and (early := starts < times).any():
            first = int(np.argmax(early))
            report.violations.append(
                f"{int(early.sum())} jobs start before their {what} (first: job {first}, "
                f"{starts[first]:.12g} before {times[first]:.12g})"
            )
    placed = np.zeros(len(jobs), dtype=np.bool_)
    for where, own, part in _machines(queue, jobs):
        placed |= own
        if not own.any():
            continue
        held = {"servers": (jobs.need.astype(np.int64), part.servers)}
        if jobs.needs is not None:
            for name, column in zip(jobs.needs.names, jobs.needs.amounts.T, strict=True):
                held[name] = column, part.resources.get(name, 0)
        times = np.concatenate([(starts + jobs.run)[own], starts[own]])
        # What ends at an instant ends before anything starts.
        order = np.lexsort((np.repeat([0, 1], int(own.sum())), times))
        for name, (needs, amount) in held.items():
            need = needs[own]
            busy = np.cumsum(np.concatenate([-need, need])[order])
            most = int(np.argmax(busy))
            report.expect(
                busy[most] <= amount,
                f"capacity: {busy[most]} {name} busy{where} at {times[order][most]:.12g}, of "
                f"{amount}",
            )
    report.expect(
        bool(placed.all()), "partition: jobs of partitions that the machine does not have"
    )


def _check_bracket(solution: Bracketed, claim: Document, report: Report) -> None:
    got, bounds = solution.policies, solution.bounds
    report.expect(solution.policy in got, f"policy: {solution.policy} was not tried")
    if solution.policy in got and claim.objective is not None:
        _expect_close(report, "policies: the best", claim.objective, min(got.values()))
        _expect_close(report, f"policies: {solution.policy}", claim.objective, got[solution.policy])
    if claim.bound is not None:
        best = max(bounds.values(), default=float("nan"))
        _expect_close(report, "bound: the greatest of the bounds", claim.bound, best)


def _check_measures(
    queue: Instance, jobs: Jobs, solution: Replayed, starts: Floats, report: Report
) -> None:
    ends = starts + jobs.run
    response, wait = ends - jobs.submit, starts - jobs.submit
    report.expect(solution.slowdown_bound > 0, "slowdown_bound: not above 0")
    slowdown = np.maximum(response / np.maximum(jobs.run, solution.slowdown_bound), 1.0)
    length = ends.max() - jobs.submit.min()
    _expect_close(report, "mean_wait", solution.mean_wait, wait.mean())
    _expect_close(report, "mean_bounded_slowdown", solution.mean_bounded_slowdown, slowdown.mean())
    _expect_close(report, "makespan", solution.makespan, length)
    capacity = queue.servers * length
    _expect_close(
        report, "utilization", solution.utilization, (jobs.need * jobs.run).sum() / capacity
    )
    lost = sum(
        _lost_capacity(jobs.take(own), starts[own], ends[own], part.servers)
        for _, own, part in _machines(queue, jobs)
        if own.any()
    )
    lost /= capacity
    _expect_close(report, "loss_of_capacity", solution.loss_of_capacity, lost)
    if solution.confidence is not None:
        report.expect(solution.confidence >= 0, "confidence: below 0")
    groupings = ("user", "group", "queue", "partition", "need")
    labelled = [key for key in groupings if jobs.labels(key) is not None]
    report.expect(list(solution.by) == labelled, f"by: {list(solution.by)}, where it is {labelled}")
    means = {
        "mean_response_time": response,
        "mean_wait": wait,
        "mean_bounded_slowdown": slowdown,
    }
    for key in labelled:
        _check_groups(key, jobs, solution.by.get(key, {}), means, report)
    users = [user.mean_bounded_slowdown for user in solution.by.get("user", {}).values()]
    if users:  # Jain's index
        index = sum(users) ** 2 / (len(users) * sum(one**2 for one in users))
        _expect_close(report, "fairness", solution.fairness, index)
    else:
        report.expect(solution.fairness is None, "fairness: the log does not name its users")


def _check_groups(
    key: str,
    jobs: Jobs,
    claimed: Mapping[str, Measures],
    means: Mapping[str, Floats],
    report: Report,
) -> None:
    """Recompute the measures of each user, group, queue or need."""
    labels: Any = jobs.labels(key)
    order = np.argsort(labels.codes, kind="stable")
    edges = np.searchsorted(labels.codes[order], np.arange(len(labels.names) + 1))
    rows = [order[begin:end] for begin, end in pairwise(edges)]
    seen = {name: own for name, own in zip(labels.names, rows, strict=True) if len(own)}
    report.expect(sorted(claimed) == sorted(seen), f"by {key}: other names than those of the log")
    for name in seen.keys() & claimed.keys():
        own, got, where = seen[name], claimed[name], f"by {key} {name}"
        _expect_close(report, f"{where}: jobs", got.jobs, len(own))
        scale = means["mean_response_time"][own].mean()
        for what, values in means.items():
            _expect_close(report, f"{where}: {what}", getattr(got, what), values[own].mean(), scale)


def _lost_capacity(jobs: Jobs, starts: Floats, ends: Floats, servers: int) -> float:
    """Return the time integral of min(idle servers, servers that waiting jobs need)."""
    need = jobs.need.astype(np.int64)
    none = np.zeros_like(need)
    come = jobs.submit if jobs.release is None else jobs.release
    times = np.concatenate([come, starts, ends])
    order = np.argsort(times, kind="stable")
    waiting = np.cumsum(np.concatenate([need, -need, none])[order])
    idle = servers - np.cumsum(np.concatenate([none, need, -need])[order])
    steps = np.diff(times[order])
    return float((np.minimum(waiting, idle)[:-1] * steps).sum())


def _times_by_need(
    jobs: Jobs, response: Floats, constraints: Sequence[Constraint]
) -> dict[int, float | None]:
    needs = {rule.need for rule in constraints if isinstance(rule, ResponseTime)}
    rows = {need: jobs.need == need for need in needs}
    return {need: float(response[own].mean()) for need, own in rows.items() if own.any()}


def check_times(
    times: Mapping[int, float | None], constraints: Sequence[Constraint], report: Report
) -> None:
    """Check side constraints on mean response times, given by need."""
    for position, rule in enumerate(constraints):
        name = label(rule, position)
        if not isinstance(rule, ResponseTime):
            report.unjudged.append(f"{name}: of a kind that is not known here")
            continue
        time = times.get(rule.need)
        report.expect(
            time is not None and time <= rule.at_most * (1 + 1e-9),
            f"{name}: need {rule.need} waits {time}, more than {rule.at_most:.12g}",
        )


def _expect_close(
    report: Report, what: str, claimed: float | None, ours: float, scale: float | None = None
) -> None:
    ours = float(ours)
    report.expect(
        claimed is not None and same(claimed, ours, scale),
        f"{what}: {ours:.12g}, not {claimed}",
    )
