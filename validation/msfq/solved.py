"""The checker of thresholds and optimal policies: both are recomputed by a second method."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite

from schedopt.instances.constraints import Constraint, ResponseTime
from schedopt.instances.extras import installed
from schedopt.instances.msfq import Instance, OptimalTable, Thresholded
from schedopt.solvers.result import Document
from schedopt.validation.msfq.chain import System, table_times
from schedopt.validation.msfq.transforms import response_curve
from schedopt.validation.report import Report, same

METHODS = ("exact", "area", "paper")
NEAR, TRUNCATED = 1e-9, 1e-4
"""Relative errors of recomputed times: from transforms, and on a truncated chain."""
MOST_SERVERS = 128
"""The most servers for a curve by transforms."""
CHAIN_SERVERS, CHAIN_LOAD = 4, 0.7001
"""The most servers and the largest load for truncated chains."""
HUGE = 1e100
"""The response time from which a curve may have null."""


def check_curve(
    queue: Instance,
    solution: Thresholded,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check the threshold, that no other one is better, and the curve, which is recomputed."""
    report.expect(
        claim.formulation == "threshold",
        f"formulation: {claim.formulation}, but the solution is a threshold",
    )
    curve = solution.curve
    if len(curve) != queue.servers:
        report.violations.append(
            f"curve: {len(curve)} values, not one for each of {queue.servers} thresholds"
        )
        return
    if not 0 <= solution.threshold < len(curve):
        report.violations.append(f"threshold: {solution.threshold}, not from 0 to {len(curve) - 1}")
        return
    at = curve[solution.threshold]
    report.expect(
        at is not None and claim.objective is not None and same(at, claim.objective),
        f"curve: {at} at the threshold, not the objective {claim.objective}",
    )
    lowest = min((value for value in curve if value is not None), default=inf)
    if not constraints and claim.objective is not None:
        report.expect(
            claim.objective <= lowest * (1 + 1e-9),
            f"threshold: the curve falls to {lowest:.12g}, below {claim.objective:.12g}",
        )
    if solution.method not in METHODS or solution.variant != "literal":
        report.violations.append(
            f"method: {solution.method} and variant {solution.variant} are unknown"
        )
        return
    asked = claim.options.get("method", solution.method)
    report.expect(asked == solution.method, f"method: {solution.method}, but {asked} was asked for")
    is_stated = solution.assumption_ok or solution.method != "exact"
    report.expect(is_stated, "assumption_ok: false, but an exact curve has no assumption")
    if solution.method != "exact":
        report.unjudged.append(f"curve: an approximation, by {solution.method}")
        return
    curves = recompute_curve(queue)
    if curves is None:
        report.unjudged.append(f"curve: only recomputed up to {MOST_SERVERS} servers")
        return
    optimal = claim.solution_status == "optimal"  # otherwise some thresholds may not be evaluated
    _compare_curve(queue, solution, constraints, curves, report, optimal=optimal)


def recompute_curve(queue: Instance) -> tuple[list[float], list[float]] | None:
    """Return both classes' response times at every threshold by a second method.

    None if there are too many servers.
    """
    if queue.one_or_all is None or queue.load >= 1 or queue.servers > MOST_SERVERS:
        return None
    small, large = response_curve(System.of(queue))
    return small.tolist(), large.tolist()


def least_objective(
    queue: Instance,
    constraints: Sequence[Constraint],
    found: tuple[list[float], list[float]],
    room: float = 1 - NEAR,
) -> tuple[list[float], float]:
    """Return the objective at each threshold, and the least feasible one.

    Limits of side constraints are multiplied by ``room``.
    """
    small, large = found
    system = System.of(queue)
    rules = [rule for rule in constraints if isinstance(rule, ResponseTime)]
    ours = [system.objective(queue.objective, *pair) for pair in zip(small, large, strict=True)]
    kept = [
        value
        for value, *pair in zip(ours, small, large, strict=True)
        if isfinite(value) and all(pair[rule.need != 1] <= rule.at_most * room for rule in rules)
    ]
    return ours, min(kept, default=inf)


def _compare_curve(
    queue: Instance,
    solution: Thresholded,
    constraints: Sequence[Constraint],
    found: tuple[list[float], list[float]],
    report: Report,
    *,
    optimal: bool,
) -> None:
    ours, best = least_objective(queue, constraints, found)
    wrong = []
    for l, (claimed, value) in enumerate(zip(solution.curve, ours, strict=True)):
        if claimed is None:  # overflowed
            hidden = optimal and (value <= best * (1 + NEAR) or value < HUGE)
            wrong += [f"null at l = {l}, but it is {value:.9g}"] * hidden
        elif not _times_agree(claimed, value, NEAR):
            wrong.append(f"{claimed:.9g} at l = {l}, but it is {value:.9g}")
    if wrong:
        more = f", and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        report.violations.append(f"curve: {'; '.join(wrong[:3])}{more}")
    for job in solution.classes:
        time, own = job.mean_response_time, found[job.need > 1][solution.threshold]
        report.expect(
            time is not None and _times_agree(time, own, NEAR),
            f"need {job.need}: a mean response time of {time}, but it is {own:.9g}",
        )
    at = solution.curve[solution.threshold]
    report.expect(
        not optimal or at is None or at <= best * (1 + NEAR),
        f"threshold: another one is better, with {best:.9g}",
    )


def _times_agree(claimed: float, ours: float, near: float) -> bool:
    """Return True if a time equals the recomputed one; where that overflows, if it is huge."""
    return abs(claimed - ours) <= near * ours if ours < inf else claimed >= HUGE


def check_table(queue: Instance, solution: OptimalTable, claim: Document, report: Report) -> None:
    """Check the shape of a policy's tables, and for few servers their cost on a truncated chain."""
    if queue.one_or_all is None:
        report.violations.append("tables: the system is not one-or-all")
        return
    rows, columns = solution.large_most + 1, solution.small_most + 1
    tables = [solution.at_empty, *solution.admit]
    shaped = all(len(t) == rows and all(len(row) == columns for row in t) for t in tables)
    shaped = shaped and len(tables) == queue.servers
    report.expect(
        shaped,
        f"tables: not {queue.servers} tables of {rows} rows of {columns} letters",
    )
    letters = {"at_empty": set("LS."), "admit": set("S-")}
    is_known = all(set(row) <= letters["at_empty"] for row in solution.at_empty) and all(
        set(row) <= letters["admit"] for table in solution.admit for row in table
    )
    report.expect(is_known, "tables: unknown letters")
    if not (shaped and is_known) or claim.objective is None:
        return
    system = System.of(queue)
    pair = None
    if queue.servers <= CHAIN_SERVERS and queue.load <= CHAIN_LOAD and installed("scipy"):
        pair = table_times(system, solution)
    if pair is None:
        report.unjudged.append(
            f"the cost of the tables: only recomputed up to {CHAIN_SERVERS} servers, "
            f"to load {CHAIN_LOAD:.1f}"
        )
        return
    for job, each in zip(queue.classes, solution.classes, strict=True):
        stated, own = each.mean_response_time, pair[job.need > 1]
        report.expect(
            stated is not None and _times_agree(stated, own, TRUNCATED),
            f"need {job.need}: a mean response time of {stated}, but the table's is {own:.9g}",
        )
    ours = system.objective(queue.objective, *pair)
    report.expect(
        _times_agree(claim.objective, ours, TRUNCATED),
        f"objective: {claim.objective:.9g}, but the table has {ours:.9g} on a truncated chain",
    )
