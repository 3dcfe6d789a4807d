"""Checkers of epoch: partitions into epochs, and schedules of rectangles."""

from collections.abc import Mapping, Sequence
from typing import Any

from schedopt.instances.constraints import Constraint
from schedopt.instances.epoch import Instance, Partitioned, Scheduled, SideConstraint, Solution
from schedopt.solvers.result import Document
from schedopt.validation.epoch import partition, rectangles
from schedopt.validation.report import Report

SENSE = "minimize"
CONSTRAINTS = tuple[SideConstraint, ...]
ANSWERS = {"partition": (Partitioned,), "rectangles": (Scheduled,)}
"""The solution records of each formulation."""


def asks(instance: Instance, formulation: str | None) -> Mapping[str, Any]:
    """Return the options that change the question, with their defaults."""
    del instance
    return {"widths": "any"} if formulation == "rectangles" else {}


def solution_type(solution: Mapping[str, Any]) -> type[Partitioned] | type[Scheduled]:
    """Return the record type of a solution."""
    return Scheduled if "rectangles" in solution else Partitioned


def check(
    instance: Instance,
    solution: Solution,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a schedule: see `partition.check` and `rectangles.check`."""
    if isinstance(solution, Scheduled):
        rectangles.check(instance, solution, claim, constraints, report)
    else:
        partition.check(instance, solution, claim, constraints, report)


__all__ = ["ANSWERS", "CONSTRAINTS", "asks", "check", "solution_type"]
