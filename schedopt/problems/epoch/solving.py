"""Solve epochs: a heuristic's schedule to start from, handed to the solver."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.constraints import Constraint
from schedopt.instances.epoch import Instance, Partitioned, Rectangle, Scheduled
from schedopt.solvers.result import Limits, Result

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
    from schedopt.solvers import epoch as epochs

    engine: Literal["epochs", "cp-sat"] = "cp-sat" if solver == "cp-sat" else "epochs"
    return epochs.solve(model, limits, start(model), engine=engine)


def start(model: Partition | Rectangles) -> Partitioned | Scheduled | None:
    """Return the best heuristic schedule that keeps all side constraints, None if there is none."""
    from schedopt.policies.registry import NotApplicableError, registered

    instance, best = model.instance, None
    rules = [*instance.constraints, *model.added]
    known: list[Partitioned | Scheduled] = []
    for name in STARTS[model.name]:
        with suppress(NotApplicableError):
            known.append(registered("epoch")[name].run(instance))
    if model.name == "rectangles":
        known.append(_rotation(instance))
    for found in known:
        if (best is None or found.overhead < best.overhead) and _keeps(found, rules):
            best = found
    return best


def _keeps(found: Partitioned | Scheduled, rules: Sequence[Constraint]) -> bool:
    """Tell whether a schedule keeps side constraints."""
    from schedopt.validation.epoch import partition, rectangles
    from schedopt.validation.report import Report

    report = Report()
    if isinstance(found, Partitioned):
        partition.check_rules(found, rules, report)
    else:
        rectangles.check_rules(found, rules, report)
    return report.ok


def _rotation(instance: Instance) -> Scheduled:
    """Give each job the whole machine in turn: what is always possible (section 4)."""
    total, nodes = len(instance.jobs), instance.nodes
    return Scheduled(
        rectangles={
            job.name: Rectangle(nodes=nodes, start=i / total, end=(i + 1) / total)
            for i, job in enumerate(instance.jobs)
        }
    )
