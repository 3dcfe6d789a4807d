"""The checker of msfq: response times, their weights, curves, simulations, tables and logs."""

from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from typing import Any

from msgspec import UNSET

from schedopt.instances import msfq
from schedopt.instances.constraints import Constraint
from schedopt.instances.msfq.answers import Answer
from schedopt.solvers.result import Document
from schedopt.validation.msfq import logs, solved
from schedopt.validation.report import Report, same

SENSE = "minimize"
NEAR = 1e-6
"""The relative gap up to which a policy is called optimal, as by `optimal-policy`."""
ENOUGH_JOBS = 1000
"""Means of classes of fewer simulated jobs are not checked."""
CONSTRAINTS = tuple[msfq.SideConstraint, ...]
ANSWERS: Mapping[str, tuple[type[Answer | msfq.LogAnswer], ...]] = {
    "threshold": (msfq.Thresholded,),
    "optimal-policy": (msfq.OptimalTable,),
    "bound": (msfq.Bracketed, msfq.Replayed),
}
"""The record types of the solutions of each formulation."""


def asks(queue: msfq.Instance, formulation: str | None) -> Mapping[str, Any]:
    """Return the options that change the question, with their defaults."""
    if formulation == "threshold":
        return {"method": "exact"}
    return {}


def solution_type(solution: Mapping[str, Any]) -> type[Answer | msfq.LogAnswer]:
    """Return the record type of a solution, from its keys."""
    if "jobs" in solution:
        return logs.solution_type(solution)
    if "curve" in solution:
        return msfq.Thresholded
    if "at_empty" in solution:
        return msfq.OptimalTable
    return msfq.Simulated


def check(
    queue: msfq.Instance,
    solution: Answer | msfq.LogAnswer,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a solution, and add violations to the report."""
    if queue.log is not None or isinstance(solution, msfq.LogAnswer):
        if queue.log is None or not isinstance(solution, msfq.LogAnswer):
            report.violations.append(
                "solution: of classes, where the instance is a log, or the reverse"
            )
            return
        logs.check(queue, solution, claim, constraints, report)
        return
    needs = [job.need for job in queue.classes]
    if [job.need for job in solution.classes] != needs:
        report.violations.append(f"classes: not those of the instance, whose needs are {needs}")
        return
    _check_weights(queue, solution, claim, report)
    _check_services(queue, solution, report)
    times = {time.need: time.mean_response_time for time in solution.classes}
    logs.check_times(times, constraints, report)
    if isinstance(solution, msfq.Simulated):
        report.expect(
            claim.solution_status != "optimal",
            "solution_status: optimal, which a simulation does not prove",
        )
        _check_simulation(queue, solution, report)
    elif isinstance(solution, msfq.Thresholded):
        solved.check_curve(queue, solution, claim, constraints, report)
    elif isinstance(solution, msfq.OptimalTable):
        solved.check_table(queue, solution, claim, report)


def _check_weights(queue: msfq.Instance, solution: Answer, claim: Document, report: Report) -> None:
    """Recompute E[T] and E[T^w] from the response times of the classes (section 6.1)."""
    seen = [
        (job, time.mean_response_time)
        for job, time in zip(queue.classes, solution.classes, strict=True)
        if time.mean_response_time is not None
    ]
    stated = queue.objective == "mean"
    objective = solution.mean_response_time if stated else solution.weighted_response_time
    report.expect(
        claim.objective is not None and same(claim.objective, objective),
        f"objective: {claim.objective}, but the solution has {objective:.12g}",
    )
    for what, theirs, by_load in (
        ("mean_response_time", solution.mean_response_time, False),
        ("weighted_response_time", solution.weighted_response_time, True),
    ):
        part = [
            j.need * j.arrival_rate / j.service_rate if by_load else j.arrival_rate for j, _ in seen
        ]
        total = fsum(part)
        ours = fsum(p * t for p, (_, t) in zip(part, seen, strict=True)) / total if seen else 0.0
        report.expect(
            same(ours, theirs), f"{what}: {theirs:.12g}, but the classes give {ours:.12g}"
        )


def _check_services(queue: msfq.Instance, solution: Answer, report: Report) -> None:
    """Check that no class has a response time below its mean service time, up to noise."""
    slack = 0.9 if isinstance(solution, msfq.Simulated) else 1 - 1e-9
    for job, time in zip(queue.classes, solution.classes, strict=True):
        few = isinstance(solution, msfq.Simulated) and (time.jobs or 0) < 1000
        if time.mean_response_time is None or few or not job.sizes.second_moment < 20:
            continue
        report.expect(
            time.mean_response_time >= slack / job.service_rate,
            f"need {job.need}: {time.mean_response_time:.6g} is less than the mean service "
            f"{1 / job.service_rate:.6g}",
        )


def _check_simulation(queue: msfq.Instance, solution: msfq.Simulated, report: Report) -> None:
    report.expect(
        0 <= solution.utilization <= 1 + 1e-9,
        f"utilization: {solution.utilization:.6g}, not between 0 and 1",
    )
    if solution.confidence is not None:
        report.expect(solution.confidence >= 0, "confidence: below 0")
    for time in solution.classes:
        if isinstance(time.jobs, int) and time.jobs >= ENOUGH_JOBS:
            parts = (time.mean_response_time, time.mean_number, time.arrival_rate)
            if all(isinstance(part, float) for part in parts) and time.percentiles is not UNSET:
                _check_littles_law(time, report)
            else:
                report.unjudged.append(
                    f"need {time.need}: the means of its {time.jobs} jobs are missing"
                )
    if solution.arrivals >= 10 * ENOUGH_JOBS:
        _check_utilization(queue, solution, report)


def _check_littles_law(time: Any, report: Report) -> None:
    """Check N = λ·T for separately measured quantities, up to noise and the run's ends."""
    expected = time.arrival_rate * time.mean_response_time
    noise = time.arrival_rate * (time.confidence or 0.0)
    ends = time.mean_number * 10 * time.mean_response_time * time.arrival_rate / time.jobs
    report.expect(
        abs(expected - time.mean_number) <= 0.05 * time.mean_number + ends + 5 * noise + 1e-9,
        f"Little's law: need {time.need} has {time.mean_number:.6g} jobs in the system, but its "
        f"arrival rate times its response time is {expected:.6g}",
    )
    order = [value for _, value in sorted(time.percentiles.items(), key=lambda pair: int(pair[0]))]
    report.expect(order == sorted(order), f"percentiles: need {time.need}: not in order")


def _check_utilization(queue: msfq.Instance, solution: msfq.Simulated, report: Report) -> None:
    """Compare the utilization with the work that arrived, up to backlog and noise."""
    pairs: list[tuple[msfq.JobClass, Any]] = list(zip(queue.classes, solution.classes, strict=True))
    stated = [part for _, time in pairs for part in (time.arrival_rate, time.mean_number)]
    if not all(isinstance(part, float) and part >= 0 for part in stated):
        report.unjudged.append("load balance: an arrival rate or a mean number is missing")
        return
    k = queue.servers
    asked = fsum(j.need * t.arrival_rate / j.service_rate for j, t in pairs) / k
    spread = fsum(
        t.arrival_rate * (j.need / j.service_rate) ** 2 * j.sizes.second_moment for j, t in pairs
    )
    rate = max(fsum(t.arrival_rate for _, t in pairs), 1e-300)
    jobs = fsum(t.jobs for _, t in pairs if isinstance(t.jobs, int))
    time = max(jobs, 1.0) / rate
    piled = fsum(j.need * t.mean_number / j.service_rate for j, t in pairs) / (k * time)
    noise = sqrt(spread / time) / k
    report.expect(
        abs(asked - solution.utilization) <= 0.01 + 6 * noise + 4 * piled,
        f"load balance: a utilization of {solution.utilization:.4g}, but a load of {asked:.4g}",
    )
