"""Checkers of dssp: selections and schedules."""

from collections.abc import Mapping, Sequence
from typing import Any

from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import (
    Instance,
    Scheduled,
    Selected,
    SelectedNights,
    SideConstraint,
)
from schedopt.solvers.result import Document
from schedopt.validation.dssp import schedule, selection
from schedopt.validation.report import Report

SENSE = "maximize"
CONSTRAINTS = tuple[SideConstraint, ...]
ANSWERS = {
    "selection": (Selected,),
    "schedule": (Scheduled,),
    "season": (SelectedNights,),
}
"""The solution records of each formulation."""

OF_ENCODING = 30.0  # larger than the default, since sums are exact: see `validation.documents`


def asks(night: Instance, formulation: str | None) -> Mapping[str, Any]:
    """Return the options that change the question, with their defaults: r, and those of risk."""
    del night
    if formulation == "schedule":
        return {}
    at_risk = dict.fromkeys(("risk", "scenarios", "seed"))
    return {"fill": 1.0} if formulation == "season" else {"fill": 1.0} | at_risk


def solution_type(solution: Mapping[str, Any]) -> type[Selected] | type[SelectedNights]:
    """Return the record type of a solution."""
    if "nights" in solution:
        return SelectedNights
    return Scheduled if "tasks" in solution else Selected


def check(
    night: Instance,
    solution: Selected | SelectedNights,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a selection, a schedule or a season: see `selection.check` and `schedule.check`."""
    if isinstance(solution, Scheduled):
        schedule.check(night, solution, claim, constraints, report)
    else:
        selection.check(night, solution, claim, constraints, report)


__all__ = ["ANSWERS", "CONSTRAINTS", "asks", "check", "solution_type"]
