"""Thresholds and optimal policies, held against a truncated chain where that can be had."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

from instances.constraints import Constraint, ResponseTime
from instances.msfq import Instance, OptimalTable, Thresholded
from solvers.result import Document
from validation.report import Report, same

FEW_SERVERS, LIGHT = 4, 0.7001
"""Up to these servers and this load the truncated chain is small."""


def check_curve(
    queue: Instance,
    solution: Thresholded,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check the threshold, that none is better on the curve, and the curve itself."""
    curve = solution.curve
    report.expect(len(curve) == queue.servers, f"curve: {len(curve)} values, not {queue.servers}")
    if not 0 <= solution.threshold < len(curve):
        report.violations.append(f"threshold: {solution.threshold} is not within 0..k-1")
        return
    at = curve[solution.threshold]
    report.expect(
        at is not None and claim.objective is not None and same(at, claim.objective),
        f"curve: {at} at the threshold, not the objective {claim.objective}",
    )
    least = min((value for value in curve if value is not None), default=inf)
    if not constraints and claim.objective is not None:
        report.expect(
            claim.objective <= least * (1 + 1e-9),
            f"threshold: the curve falls to {least:.12g}, below {claim.objective:.12g}",
        )
    if solution.method == "exact" and queue.servers <= FEW_SERVERS and queue.load <= LIGHT:
        _against_chain(queue, solution, constraints, report)


def _against_chain(
    queue: Instance, solution: Thresholded, constraints: Sequence[Constraint], report: Report
) -> None:
    """Recompute the whole curve, and which thresholds keep the side constraints."""
    from validation.msfq.chain import System, msfq_times, snap_bound

    system = System.of(queue)
    lazy = solution.variant == "lazy"
    best = inf
    for l, claimed in enumerate(solution.curve):
        found = snap_bound(partial(msfq_times, system, l, lazy), system)
        if found is None:
            return
        small, large = found
        ours = system.objective(queue.objective, small, large)
        if claimed is not None:
            report.expect(
                abs(claimed - ours) <= 1e-4 * ours,
                f"curve: {claimed:.9g} at l = {l}, where a truncated chain has {ours:.9g}",
            )
        times = {1: small, queue.servers: large}
        rules = [rule for rule in constraints if isinstance(rule, ResponseTime)]
        if all(times[rule.need] <= rule.at_most * (1 - 1e-4) for rule in rules):
            best = min(best, ours)
    at = solution.curve[solution.threshold]
    report.expect(
        at is None or at <= best * (1 + 1e-4),
        f"threshold: a truncated chain has {best:.9g}, which is better",
    )


def check_table(queue: Instance, solution: OptimalTable, claim: Document, report: Report) -> None:
    """Check the table's shape, and for two servers what it gets on a blocked chain."""
    rows, columns = solution.large_most + 1, solution.small_most + 1
    tables = [solution.at_empty, *solution.admit]
    shaped = all(len(t) == rows and all(len(row) == columns for row in t) for t in tables)
    shaped = shaped and len(tables) == queue.servers
    report.expect(
        shaped,
        f"tables: not {queue.servers} of {rows} rows of {columns} letters",
    )
    letters = {"at_empty": set("LS."), "admit": set("S-")}
    known = all(set(row) <= letters["at_empty"] for row in solution.at_empty) and all(
        set(row) <= letters["admit"] for table in solution.admit for row in table
    )
    report.expect(known, "tables: letters that say nothing")
    if not (shaped and known) or claim.objective is None:
        return
    if queue.servers == 2 and queue.load <= LIGHT:
        from validation.msfq.chain import System, snap_bound, table_times

        system = System.of(queue)
        found = snap_bound(partial(table_times, system, solution), system)
        ours = claim.objective if found is None else system.objective(queue.objective, *found)
        report.expect(
            abs(ours - claim.objective) <= 1e-3 * ours,
            f"objective: the table gets {ours:.9g} on a truncated chain, not {claim.objective:.9g}",
        )
