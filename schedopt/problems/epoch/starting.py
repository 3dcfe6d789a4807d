"""The best schedule of the policies, as a warm start."""

from collections.abc import Sequence
from contextlib import suppress

from schedopt.formulations.protocol import Formulation
from schedopt.instances.constraints import Constraint
from schedopt.instances.epoch import Instance, Partitioned, Rectangle, Scheduled
from schedopt.policies.registry import NotApplicableError, registered

STARTS = {"partition": ("heuristic-epoch", "equi-epoch"), "rectangles": ("buddy-star",)}
"""Policies whose schedules suit each formulation."""

FEW = {"heuristic-epoch": 5_000, "buddy-star": 30_000}
"""Jobs up to which a policy takes about a second; its time is nearly quadratic."""


def start(model: Formulation) -> Partitioned | Scheduled | None:
    """Return the best heuristic schedule that satisfies all side constraints, or None."""
    instance, best = model.instance, None
    rules = [*instance.constraints, *model.added]
    schedules: list[Partitioned | Scheduled] = []
    for name in STARTS[model.name]:
        if len(instance.jobs) > FEW.get(name, len(instance.jobs)):
            continue
        with suppress(NotApplicableError):
            schedules.append(registered("epoch")[name].run(instance))
    if model.name == "rectangles":
        schedules.append(_rotation(instance))
    for schedule in schedules:
        if (best is None or schedule.overhead < best.overhead) and _keeps(schedule, rules):
            best = schedule
    return best


def _keeps(solution: Partitioned | Scheduled, rules: Sequence[Constraint]) -> bool:
    from schedopt.validation.epoch.schedules import check_rules
    from schedopt.validation.report import Report

    report = Report()
    check_rules(solution, rules, report)
    return report.ok


def _rotation(instance: Instance) -> Scheduled:
    """Return the schedule that gives each job the whole machine in turn (section 4)."""
    total, nodes = len(instance.jobs), instance.nodes
    times = [i / total for i in range(total + 1)]
    turns = zip(instance.names, times, times[1:], strict=False)
    pieces = {name: Rectangle(nodes=nodes, start=start, end=end) for name, start, end in turns}
    return Scheduled(rectangles=pieces)
