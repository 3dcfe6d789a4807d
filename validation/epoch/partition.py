"""The checker of partitions: epochs, their lengths, and how evenly each shares the nodes."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint
from schedopt.instances.epoch import Instance, Partitioned
from schedopt.solvers.result import Document
from schedopt.validation.epoch.jobs import check_constraints, check_jobs
from schedopt.validation.report import Report, same


def check(
    instance: Instance,
    solution: Partitioned,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a partition, and add what is wrong to the report."""
    epochs = solution.epochs
    names = list(chain.from_iterable(epoch.nodes for epoch in epochs))
    nodes = list(chain.from_iterable(epoch.nodes.values() for epoch in epochs))
    check_jobs(instance, names, nodes, claim, report)
    for e in _suspect_epochs(instance, solution, np.array(nodes)):
        epoch = epochs[e]
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


def _suspect_epochs(
    instance: Instance, solution: Partitioned, nodes: NDArray[np.int64]
) -> list[int]:
    """Return the epochs that may not be right."""
    many = np.array([len(epoch.nodes) for epoch in solution.epochs], dtype=np.int64)
    if not many.all() or not many.size:
        return list(range(many.size))
    first, length = np.cumsum(many) - many, many / len(instance.jobs)
    spread = np.maximum.reduceat(nodes, first) - np.minimum.reduceat(nodes, first)
    lasts = np.array([epoch.duration for epoch in solution.epochs])
    right = (np.add.reduceat(nodes, first) == instance.nodes) & (spread <= instance.inequity)
    right &= np.abs(lasts - length) <= 0.5e-9 * length
    doubtful: list[int] = np.flatnonzero(~right).tolist()
    return doubtful


def check_rules(solution: Partitioned, constraints: Sequence[Constraint], report: Report) -> None:
    """Check side constraints alone: which jobs share an epoch."""
    if not constraints:
        return
    epoch_of = {name: e for e, epoch in enumerate(solution.epochs) for name in epoch.nodes}
    check_constraints(epoch_of, constraints, report)
