"""The checker of rectangles: areas, and that no node runs two jobs at once."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from schedopt.instances.constraints import Constraint
from schedopt.instances.epoch import Instance, Rectangle, Scheduled
from schedopt.solvers.result import Document
from schedopt.validation.epoch.jobs import check_constraints, check_jobs
from schedopt.validation.report import Report, same

ROUNDING = 1e-9
"""Tolerance on the ends of rectangles, as a fraction of the quantum."""

UNEQUAL = ("hybrid",)
"""Policies that promise equal areas to a part of the jobs only; the others share nodes in epochs,
as evenly as the inequity asks."""


def check(
    instance: Instance,
    solution: Scheduled,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check rectangles, and add what is wrong to the report.

    Jobs are together where they run from one instant to another, and apart where no two run at
    once.
    """
    pieces = solution.rectangles
    check_jobs(instance, ((name, piece.nodes) for name, piece in pieces.items()), claim, report)
    for name, piece in pieces.items():
        inside = -ROUNDING <= piece.start < piece.end <= 1 + ROUNDING
        report.expect(inside, f"{name} runs from {piece.start:.12g} to {piece.end:.12g}")
    if claim.options.get("widths") == "powers-of-two":
        for name, piece in pieces.items():
            right = piece.nodes.bit_count() == 1 or piece.nodes == instance.nodes
            report.expect(right, f"{name} gets {piece.nodes} nodes, where powers of two are asked")
    _areas(instance, pieces, claim, report)
    _instants(instance, list(pieces.items()), report)
    check_rules(solution, constraints, report)


def check_rules(solution: Scheduled, constraints: Sequence[Constraint], report: Report) -> None:
    """Check side constraints alone: which jobs start and end together, and which never meet."""
    pieces = solution.rectangles
    epoch_of = {name: (round(p.start, 9), round(p.end, 9)) for name, p in pieces.items()}

    def most_at_once(jobs: Sequence[str]) -> int:
        some = [pieces[job] for job in jobs if job in pieces]
        return max((sum(_runs(p, now.start) for p in some) for now in some), default=0)

    check_constraints(epoch_of, constraints, report, most_at_once)


def _runs(piece: Rectangle, instant: float) -> bool:
    """Tell whether a piece runs just after an instant."""
    return piece.start - ROUNDING <= instant < piece.end - ROUNDING


def _areas(
    instance: Instance, pieces: dict[str, Rectangle], claim: Document, report: Report
) -> None:
    """Check that each job gets N/J node-quanta; in epochs of jobs, the inequity instead."""
    fair = instance.nodes / len(instance.jobs)
    unequal: dict[tuple[float, float], list[int]] = defaultdict(list)
    for name, piece in pieces.items():
        area = piece.nodes * (piece.end - piece.start)
        if same(area, fair, instance.nodes):
            continue
        if claim.policy in UNEQUAL and not claim.formulation:
            unequal[round(piece.start, 9), round(piece.end, 9)].append(piece.nodes)
        else:
            report.violations.append(f"{name} gets an area of {area:.12g}, not {fair:.12g}")
    for (start, end), widths in unequal.items():
        spread, length = max(widths) - min(widths), end - start
        report.expect(
            spread <= instance.inequity,
            f"from {start:g} to {end:g} allotments differ by {spread}",
        )
        mine = sum(same(p.start, start, 1.0) and same(p.end, end, 1.0) for p in pieces.values())
        report.expect(
            abs(length - mine / len(instance.jobs)) < 10 * ROUNDING,
            f"from {start:g} to {end:g} run {mine} of {len(instance.jobs)} jobs",
        )


def _instants(instance: Instance, pieces: list[tuple[str, Rectangle]], report: Report) -> None:
    """Check, between any two ends of rectangles, that all nodes run one job each."""
    times = sorted({0.0, 1.0, *(t for _, p in pieces for t in (p.start, p.end))})
    waiting = sorted(pieces, key=lambda named: -named[1].start)
    running: list[tuple[str, Rectangle]] = []
    for early, late in pairwise(times):
        if late - early <= 2 * ROUNDING:
            continue
        now = (early + late) / 2
        while waiting and waiting[-1][1].start < now:
            running.append(waiting.pop())
        running = [(name, piece) for name, piece in running if now < piece.end]
        used = sum(piece.nodes for _, piece in running)
        if used != instance.nodes:
            report.violations.append(f"at {now:.6g} {used} of {instance.nodes} nodes run a job")
        placed = sorted((p.first, p.nodes, n) for n, p in running if p.first is not None)
        for first, nodes, name in placed:
            inside = first >= 0 and first + nodes <= instance.nodes
            report.expect(inside, f"{name} is on nodes that are not there")
        for (first, nodes, name), (after, _, other) in pairwise(placed):
            report.expect(first + nodes <= after, f"at {now:.6g} {name} and {other} share a node")
