"""Checkers of partitions into epochs, and of schedules of rectangles.

Of rectangles the areas are checked, and that no node runs two jobs at the same time.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Apart, Constraint, Together, label
from schedopt.instances.epoch import Instance, Partitioned, Rectangle, Scheduled, Solution
from schedopt.instances.errors import quote
from schedopt.solvers.result import Document
from schedopt.validation.report import Report, same

Floats = NDArray[np.float64]
Columns = tuple[Floats, Floats, Floats]
ROUNDING = 1e-9  # tolerance on the ends of rectangles, as a fraction of the quantum
UNEQUAL = ("hybrid",)
"""Policies that give equal areas to some of the jobs only; the others share epochs within the
inequity.
"""


def check(
    instance: Instance,
    solution: Solution,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a schedule, and report what is wrong."""
    if isinstance(solution, Scheduled):
        _check_rectangles(instance, solution, claim, report)
    else:
        _check_partition(instance, solution, claim, report)
    check_rules(solution, constraints, report)


def check_rules(solution: Solution, constraints: Sequence[Constraint], report: Report) -> None:
    """Check which jobs share an epoch.

    Jobs of rectangles are together if they start and end together, and apart if no two of them run
    at the same time. A user's constraint kind has a method ``broken(epoch_of)``, where jobs of one
    epoch have equal marks.
    """
    pieces = solution.rectangles if isinstance(solution, Scheduled) else {}
    epoch_of: dict[str, object] = {
        name: (round(p.start, 9), round(p.end, 9)) for name, p in pieces.items()
    }
    if isinstance(solution, Partitioned) and constraints:
        epoch_of = {name: e for e, epoch in enumerate(solution.epochs) for name in epoch.nodes}
    for position, constraint in enumerate(constraints):
        name = label(constraint, position)
        own = getattr(constraint, "broken", None)
        if own is not None:
            report.violations.extend(f"{name}: {what}" for what in own(epoch_of))
            continue
        jobs = list(dict.fromkeys(getattr(constraint, "jobs", None) or ()))
        marks = Counter(epoch_of[job] for job in jobs if job in epoch_of)
        if isinstance(constraint, Together):
            split = ", ".join(jobs)
            report.expect(len(marks) <= 1, f"{name}: {split} are in {len(marks)} epochs")
        elif isinstance(constraint, Apart):
            some = [pieces[job] for job in jobs if job in pieces]
            runs = [(p.start - ROUNDING, p.end - ROUNDING) for p in some]
            at_once = [sum(a <= p.start < b for a, b in runs) for p in some]
            most = max(at_once if pieces else marks.values(), default=0)
            where = "run at once" if pieces else "share an epoch"
            report.expect(most <= 1, f"{name}: {most} of {', '.join(jobs)} {where}")
        else:
            report.unjudged.append(f"{name}: no checker knows {constraint.kind()}")


def _check_jobs(
    instance: Instance, names: list[str], nodes: list[int], claim: Document, report: Report
) -> None:
    """Check that every job runs once, on at least its minimum of nodes.

    ``nodes`` has A_j of each job by name; the objective is their sum.
    """
    index, count = instance.index, len(instance.jobs)
    of = np.array([index.get(name, count) for name in names], dtype=np.intp)
    if len(names) != count or (np.bincount(of, minlength=count)[:count] != 1).any():
        times = Counter(names)
        for name in times.keys() - index.keys():
            report.violations.append(f"no job is called {quote(name)}")
        for name in index:
            if times[name] != 1:
                report.violations.append(f"{name} runs {times[name]} times, not once")
    needs = np.append(instance.minima, 1)[of]
    for i in np.flatnonzero(np.array(nodes) < needs).tolist():
        report.violations.append(f"{names[i]} gets {nodes[i]} nodes, needs {needs[i]}")
    total = float(sum(nodes))
    report.expect(
        claim.objective is not None and same(total, claim.objective),
        f"objective: the allotments sum to {total:.12g}, not {claim.objective}",
    )


def _check_partition(
    instance: Instance, solution: Partitioned, claim: Document, report: Report
) -> None:
    epochs = solution.epochs
    names = list(chain.from_iterable(epoch.nodes for epoch in epochs))
    nodes = list(chain.from_iterable(epoch.nodes.values() for epoch in epochs))
    _check_jobs(instance, names, nodes, claim, report)
    for e, epoch in enumerate(epochs):
        if not epoch.nodes:
            report.violations.append(f"epochs[{e}] has no job")
            continue
        allotments = list(epoch.nodes.values())
        total, spread = sum(allotments), max(allotments) - min(allotments)
        report.expect(
            total == instance.nodes, f"epochs[{e}] allots {total} of {instance.nodes} nodes"
        )
        report.expect(
            spread <= instance.inequity,
            f"epochs[{e}]: allotments differ by {spread}, at most {instance.inequity} allowed",
        )
        length = len(allotments) / len(instance.jobs)
        report.expect(
            same(epoch.duration, length),
            f"epochs[{e}] lasts {epoch.duration:.12g}; {len(allotments)} of "
            f"{len(instance.jobs)} jobs take {length:.12g}",
        )


def _check_rectangles(
    instance: Instance, solution: Scheduled, claim: Document, report: Report
) -> None:
    pieces = solution.rectangles
    _check_jobs(instance, list(pieces), [p.nodes for p in pieces.values()], claim, report)
    names, columns = list(pieces), _piece_arrays(pieces)
    start, end, _ = columns
    inside = (start >= -ROUNDING) & (start < end) & (end <= 1 + ROUNDING)
    for i in np.flatnonzero(~inside).tolist():
        report.violations.append(f"{names[i]} runs from {start[i]:.12g} to {end[i]:.12g}")
    if claim.options.get("widths") == "powers-of-two":
        for name, piece in pieces.items():
            right = piece.nodes.bit_count() == 1 or piece.nodes == instance.nodes
            report.expect(right, f"{name} gets {piece.nodes} nodes, but powers of two are required")
    _check_areas(instance, pieces, columns, claim, report)
    instants = _check_instants(instance, columns, report)
    if set(map(attrgetter("first"), pieces.values())) - {None}:
        _check_nodes(instance, list(pieces.items()), instants, report)


def _check_areas(
    instance: Instance,
    pieces: dict[str, Rectangle],
    columns: Columns,
    claim: Document,
    report: Report,
) -> None:
    """Check that each job gets N/J node-quanta, or that epochs of jobs keep the inequity."""
    fair = instance.nodes / len(instance.jobs)
    unequal: dict[tuple[float, float], list[int]] = defaultdict(list)
    begun, done, nodes = columns
    areas = nodes * (done - begun)
    near = np.abs(areas - fair) <= 1e-9 * np.maximum(areas, instance.nodes)  # as in `same`
    names = list(pieces)
    for i in np.flatnonzero(~near).tolist():
        name, area, piece = names[i], float(areas[i]), pieces[names[i]]
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


def _piece_arrays(pieces: Mapping[str, Rectangle]) -> Columns:
    """Return starts, ends and nodes of the rectangles."""
    rows = [(piece.start, piece.end, piece.nodes) for piece in pieces.values()]
    start, end, nodes = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return start, end, nodes


def _check_instants(instance: Instance, columns: Columns, report: Report) -> list[float]:
    """Check that all nodes are busy between any two ends of rectangles; return the times."""
    start, end, nodes = columns
    times = np.unique(np.concatenate(([0.0, 1.0], start, end)))
    wide = np.flatnonzero(np.diff(times) > 2 * ROUNDING)
    instants = (times[wide] + times[wide + 1]) / 2
    come, gone = np.argsort(start), np.argsort(end)
    began = np.append(0.0, np.cumsum(nodes[come]))[np.searchsorted(start[come], instants)]
    ended = np.append(0.0, np.cumsum(nodes[gone]))[np.searchsorted(end[gone], instants, "right")]
    used = began - ended
    for i in np.flatnonzero(used != instance.nodes).tolist():
        what = f"at {instants[i]:.6g} {used[i]:.0f} of {instance.nodes} nodes run a job"
        report.violations.append(what)
    found: list[float] = instants.tolist()
    return found


def _check_nodes(
    instance: Instance,
    pieces: list[tuple[str, Rectangle]],
    instants: list[float],
    report: Report,
) -> None:
    """Check that rectangles with given nodes share none."""
    waiting = sorted(pieces, key=lambda named: -named[1].start)
    running: list[tuple[str, Rectangle]] = []
    for now in instants:
        while waiting and waiting[-1][1].start < now:
            running.append(waiting.pop())
        running = [(name, piece) for name, piece in running if now < piece.end]
        placed = sorted((p.first, p.nodes, n) for n, p in running if p.first is not None)
        for first, nodes, name in placed:
            inside = first >= 0 and first + nodes <= instance.nodes
            report.expect(inside, f"{name} is on nodes that do not exist")
        for (first, nodes, name), (after, _, other) in pairwise(placed):
            report.expect(first + nodes <= after, f"at {now:.6g} {name} and {other} share a node")
