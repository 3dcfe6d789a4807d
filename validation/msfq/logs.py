"""The checker of logs: starts that the machine can hold, and all that is said to follow from them.

Everything is counted again from the raw log and the starts alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, ResponseTime, label
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import (
    Bracketed,
    Instance,
    LogAnswer,
    Measures,
    Preempted,
    Replayed,
    Windowed,
)
from schedopt.instances.msfq.logs import Jobs
from schedopt.solvers.result import Document
from schedopt.validation.msfq import preempted
from schedopt.validation.report import Report, same

Floats = NDArray[np.float64]


def solution_type(solution: Mapping[str, object]) -> type[LogAnswer]:
    """Return the record that a log's solution of this shape is."""
    if "policies" in solution:
        return Bracketed
    if "pieces" in solution:
        return Preempted
    return Windowed if "starts" in solution else Replayed


def check(
    queue: Instance,
    solution: LogAnswer,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check an answer for a log, and add what is wrong to the report."""
    if isinstance(solution, Preempted):
        response = preempted.check(queue, solution, claim, report)
        if response is not None:
            _sides(queue.jobs, response, constraints, report)
        return
    rows, starts = _starts(queue, solution, report)
    if report.violations:
        return
    jobs = queue.jobs.take(rows)
    _feasible(jobs, starts, queue.servers, report)
    ends = starts + jobs.run
    response = ends - jobs.submit
    work = jobs.need * jobs.run
    _expect(report, "jobs", solution.jobs, len(jobs))
    _expect(report, "mean_response_time", solution.mean_response_time, response.mean())
    weighted = (work * response).sum() / work.sum()
    _expect(report, "weighted_response_time", solution.weighted_response_time, weighted)
    objective = weighted if queue.objective == "weighted" else response.mean()
    _expect(report, "objective", claim.objective, objective)
    if isinstance(solution, Bracketed):
        _bracket(solution, claim, report)
    elif isinstance(solution, Windowed):
        asked = tuple(
            claim.options.get(key, found)
            for key, found in (("first", solution.first), ("count", solution.count))
        )
        found = (solution.first, solution.count)
        report.expect(asked == found, f"window: {found}, where the options say {asked}")
    if isinstance(solution, Replayed):
        _measures(queue, jobs, solution, starts, report)
    _sides(jobs, response, constraints, report)


def _starts(
    queue: Instance, solution: LogAnswer, report: Report
) -> tuple[NDArray[np.int64], Floats]:
    """Return which jobs a solution schedules, and when; what cannot be is noted."""
    count = len(queue.jobs)
    if isinstance(solution, Windowed):
        rows = np.arange(solution.first, solution.first + solution.count)
        named = [one.job for one in solution.starts]
        report.expect(named == rows.tolist(), "starts: not of the window's jobs, in their order")
        fits = solution.first >= 0 and 1 <= solution.count <= count - solution.first
        report.expect(fits, f"window: not within the log's {count} jobs")
        return rows, np.array([one.start for one in solution.starts], dtype=np.float64)
    if solution.jobs != count:
        report.violations.append(f"jobs: {solution.jobs}, where the log has {count}")
    elif isinstance(solution, Replayed | Bracketed):
        try:
            return np.arange(count), solution.starts
        except InputError as error:
            report.violations.append(str(error))
    return np.arange(0), np.empty(0)


def _feasible(jobs: Jobs, starts: Floats, servers: int, report: Report) -> None:
    """Every job starts, none before its submit, and the servers hold all that run at once."""
    report.expect(bool(np.isfinite(starts).all()), "starts: not all are finite")
    early = starts < jobs.submit
    if early.any():
        first = int(np.argmax(early))
        report.violations.append(
            f"{int(early.sum())} jobs start before their submit (first: job {first}, "
            f"{starts[first]:.12g} before {jobs.submit[first]:.12g})"
        )
    times = np.concatenate([starts + jobs.run, starts])
    change = np.concatenate([-jobs.need.astype(np.int64), jobs.need.astype(np.int64)])
    begins = np.repeat([0, 1], len(jobs))  # what ends at an instant ends before anything starts
    order = np.lexsort((begins, times))
    busy = np.cumsum(change[order])
    most = int(np.argmax(busy))
    report.expect(
        busy[most] <= servers,
        f"capacity: {busy[most]} servers busy at {times[order][most]:.12g}, of {servers}",
    )


def _bracket(solution: Bracketed, claim: Document, report: Report) -> None:
    """Hold the policy to be the best of those tried, the bound the greatest of those found."""
    got, bounds = solution.policies, solution.bounds
    report.expect(solution.policy in got, f"policy: {solution.policy} was not tried")
    if solution.policy in got and claim.objective is not None:
        _expect(report, "policies: the best", claim.objective, min(got.values()))
        _expect(report, f"policies: {solution.policy}", claim.objective, got[solution.policy])
    if claim.bound is not None:
        best = max(bounds.values(), default=float("nan"))
        _expect(report, "bound: the greatest of the bounds", claim.bound, best)


def _measures(
    queue: Instance, jobs: Jobs, solution: Replayed, starts: Floats, report: Report
) -> None:
    """Recompute all that a replay is said to have cost."""
    ends = starts + jobs.run
    response, wait = ends - jobs.submit, starts - jobs.submit
    report.expect(solution.slowdown_bound > 0, "slowdown_bound: not above 0")
    slowdown = np.maximum(response / np.maximum(jobs.run, solution.slowdown_bound), 1.0)
    length = ends.max() - jobs.submit.min()
    _expect(report, "mean_wait", solution.mean_wait, wait.mean())
    _expect(report, "mean_bounded_slowdown", solution.mean_bounded_slowdown, slowdown.mean())
    _expect(report, "makespan", solution.makespan, length)
    capacity = queue.servers * length
    _expect(report, "utilization", solution.utilization, (jobs.need * jobs.run).sum() / capacity)
    lost = _lost(jobs, starts, ends, queue.servers) / capacity
    _expect(report, "loss_of_capacity", solution.loss_of_capacity, lost)
    if solution.confidence is not None:
        report.expect(solution.confidence >= 0, "confidence: below 0")
    numbers = np.array(solution.resampled, dtype=np.float64)
    report.expect(
        bool((np.isfinite(numbers) & (numbers > 0)).all()), "resampled: not all are above 0"
    )
    known = [key for key in ("user", "group", "queue", "need") if jobs.labels(key) is not None]
    report.expect(list(solution.by) == known, f"by: {list(solution.by)}, where it is {known}")
    for key in known:
        _by(key, jobs, solution.by.get(key, {}), response, wait, slowdown, report)
    _fair(solution, report)


def _by(  # noqa: PLR0917
    key: str,
    jobs: Jobs,
    claimed: Mapping[str, Measures],
    response: Floats,
    wait: Floats,
    slowdown: Floats,
    report: Report,
) -> None:
    """Recompute what each user, group, queue or need got."""
    labels = jobs.labels(key)
    if labels is None:
        return
    order = np.argsort(labels.codes, kind="stable")
    codes = labels.codes[order]
    edges = np.searchsorted(codes, np.arange(len(labels.names) + 1))
    seen = [name for i, name in enumerate(labels.names) if edges[i] < edges[i + 1]]
    report.expect(sorted(claimed) == sorted(seen), f"by {key}: not the names that the log has")
    for i, name in enumerate(labels.names):
        if edges[i] == edges[i + 1] or name not in claimed:
            continue
        rows, got = order[edges[i] : edges[i + 1]], claimed[name]
        where = f"by {key} {name}"
        _expect(report, f"{where}: jobs", got.jobs, len(rows))
        mean = response[rows].mean()
        _expect(report, f"{where}: mean_response_time", got.mean_response_time, mean)
        _expect(report, f"{where}: mean_wait", got.mean_wait, wait[rows].mean(), mean)
        slow = slowdown[rows].mean()
        _expect(report, f"{where}: mean_bounded_slowdown", got.mean_bounded_slowdown, slow)


def _fair(solution: Replayed, report: Report) -> None:
    """Recompute Jain's index of the users' slowdowns."""
    users = solution.by.get("user")
    if not users:
        report.expect(solution.fairness is None, "fairness: of users that nobody knows")
        return
    each = [user.mean_bounded_slowdown for user in users.values()]
    index = sum(each) ** 2 / (len(each) * sum(one**2 for one in each))
    _expect(report, "fairness", solution.fairness, index)


def _lost(jobs: Jobs, starts: Floats, ends: Floats, servers: int) -> float:
    """Integrate what was idle though waiting jobs needed it, over the steps between all events."""
    need = jobs.need.astype(np.int64)
    none = np.zeros_like(need)
    times = np.concatenate([jobs.submit, starts, ends])
    order = np.argsort(times, kind="stable")
    waiting = np.cumsum(np.concatenate([need, -need, none])[order])
    idle = servers - np.cumsum(np.concatenate([none, need, -need])[order])
    steps = np.diff(times[order])
    return float((np.minimum(waiting, idle)[:-1] * steps).sum())


def _sides(jobs: Jobs, response: Floats, constraints: Sequence[Constraint], report: Report) -> None:
    """Judge side constraints on response times."""
    for position, rule in enumerate(constraints):
        name = label(rule, position)
        if not isinstance(rule, ResponseTime):
            report.unjudged.append(f"{name}: of a kind that is not known here")
            continue
        rows = jobs.need == rule.need
        time = float(response[rows].mean()) if rows.any() else None
        report.expect(
            time is not None and time <= rule.at_most * (1 + 1e-9),
            f"{name}: need {rule.need} waits {time}, more than {rule.at_most:.12g}",
        )


def _expect(
    report: Report, what: str, claimed: float | None, ours: float, scale: float | None = None
) -> None:
    ours = float(ours)
    report.expect(
        claimed is not None and same(claimed, ours, scale),
        f"{what}: {ours:.12g}, not {claimed}",
    )
