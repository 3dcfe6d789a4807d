"""Solve epochs: a heuristic's schedule to start from, handed to the solver."""

from __future__ import annotations

from typing import Literal

from formulations.epoch import Partition, Rectangles
from instances.epoch import Instance, Partitioned, Rectangle, Scheduled
from solvers.result import Limits, Result

STARTS = {"partition": ("heuristic-epoch", "equi-epoch"), "rectangles": ("buddy-star",)}
"""For each formulation, policies whose schedules are of its kind."""


def solve(
    model: Partition | Rectangles, limits: Limits, solver: str | None = None
) -> Result[Partitioned] | Result[Scheduled]:
    """Solve a `Partition` or `Rectangles` from the best schedule that the policies know.

    Parameters
    ----------
    model : Partition or Rectangles
        The formulation.
    limits : Limits
        When to stop.
    solver : {"epochs", "cp-sat"}, optional
        Whether our own search goes first, or CP-SAT does all.
    """
    from solvers import epochs

    engine: Literal["epochs", "cp-sat"] = "cp-sat" if solver == "cp-sat" else "epochs"
    return epochs.solve(model, limits, start(model), engine=engine)


def start(model: Partition | Rectangles) -> Partitioned | Scheduled | None:
    """Return the best heuristic schedule that keeps all side constraints, None if there is none."""
    from policies.registry import NotApplicableError, registered
    from validation.epoch.jobs import check_constraints
    from validation.report import Report

    instance, best = model.instance, None
    rules = [*instance.constraints, *model.added]
    for name in STARTS[model.name]:
        found: Partitioned | Scheduled
        try:
            found = registered("epoch")[name].run(instance)
        except NotApplicableError:
            found = _rotation(instance)
        report = Report()
        if rules and isinstance(found, Partitioned):
            epoch_of = {job: e for e, epoch in enumerate(found.epochs) for job in epoch.nodes}
            check_constraints(epoch_of, rules, report)
        if report.ok and (best is None or found.overhead < best.overhead):
            best = found
    return best


def _rotation(instance: Instance) -> Scheduled:
    """Give each job the whole machine in turn: what is always possible (section 4)."""
    total, nodes = len(instance.jobs), instance.nodes
    return Scheduled(
        rectangles={
            job.name: Rectangle(nodes=nodes, start=i / total, end=(i + 1) / total)
            for i, job in enumerate(instance.jobs)
        }
    )
