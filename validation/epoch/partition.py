"""Checker of partitions, with functions that the checker of rectangles shares."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from schedopt.instances.constraints import Apart, Constraint, Together, label
from schedopt.instances.epoch import Instance, Partitioned
from schedopt.instances.errors import quote
from schedopt.solvers.result import Document
from schedopt.validation.report import Report, same


def check_jobs(
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


def check_constraints(
    epoch_of: Mapping[str, object],
    constraints: Sequence[Constraint],
    report: Report,
    most_at_once: Callable[[Sequence[str]], int] | None = None,
) -> None:
    """Check which jobs share an epoch.

    ``epoch_of`` has a mark for each job, equal for jobs of one epoch. ``most_at_once`` returns how
    many of some jobs run at the same time, if marks do not determine it. A user's constraint kind
    has a method ``broken(epoch_of)``.
    """
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
            most = max(marks.values(), default=0) if most_at_once is None else most_at_once(jobs)
            where = "share an epoch" if most_at_once is None else "run at once"
            report.expect(most <= 1, f"{name}: {most} of {', '.join(jobs)} {where}")
        else:
            report.unjudged.append(f"{name}: no checker knows {constraint.kind()}")


def check(
    instance: Instance,
    solution: Partitioned,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a partition, and report what is wrong."""
    epochs = solution.epochs
    names = list(chain.from_iterable(epoch.nodes for epoch in epochs))
    nodes = list(chain.from_iterable(epoch.nodes.values() for epoch in epochs))
    check_jobs(instance, names, nodes, claim, report)
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
    check_rules(solution, constraints, report)


def check_rules(solution: Partitioned, constraints: Sequence[Constraint], report: Report) -> None:
    """Check the side constraints: which jobs share an epoch."""
    if not constraints:
        return
    epoch_of = {name: e for e, epoch in enumerate(solution.epochs) for name in epoch.nodes}
    check_constraints(epoch_of, constraints, report)
