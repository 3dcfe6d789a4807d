"""Checkers of dssp: of selections, and of schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from instances.constraints import Constraint
from instances.dssp import Instance, Scheduled, Selected, SideConstraint
from solvers.result import Document
from validation.dssp import schedule, selection
from validation.report import Report

SENSE = "maximize"
CONSTRAINTS = tuple[SideConstraint, ...]


def solution_type(solution: Mapping[str, Any]) -> type[Selected]:
    """Return the record that a solution of this shape is."""
    return Scheduled if "tasks" in solution else Selected


def check(
    night: Instance,
    solution: Selected,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a selection or a schedule: see `selection.check` and `schedule.check`."""
    if isinstance(solution, Scheduled):
        schedule.check(night, solution, claim, constraints, report)
    else:
        selection.check(night, solution, claim, constraints, report)


__all__ = ["CONSTRAINTS", "check", "solution_type"]
