"""The checker of partitions: epochs, their lengths, and how evenly each shares the nodes."""

from collections.abc import Sequence

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
    check_jobs(
        instance, ((n, a) for epoch in epochs for n, a in epoch.nodes.items()), claim, report
    )
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
    """Check side constraints alone: which jobs share an epoch."""
    epoch_of = {name: e for e, epoch in enumerate(solution.epochs) for name in epoch.nodes}
    check_constraints(epoch_of, constraints, report)
