"""The checker of msfq: response times, their weights, curves, simulations, tables and logs."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any

from schedopt.instances import msfq
from schedopt.instances.constraints import Constraint
from schedopt.instances.msfq.answers import Answer
from schedopt.solvers.result import Document
from schedopt.validation.msfq import logs, simulated, solved
from schedopt.validation.report import Report, same

SENSE = "minimize"
NEAR = 1e-6
"""The relative gap up to which a policy is called optimal, as by `optimal-policy`."""
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
        simulated.check(queue, solution, report)
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
