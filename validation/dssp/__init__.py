"""Checkers of dssp: of selections, and of schedules."""

from collections.abc import Mapping, Sequence
from typing import Any

from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import (
    Instance,
    Scheduled,
    ScheduledNights,
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
    "season": (SelectedNights, ScheduledNights),
}
"""For each formulation the records that its solution may be."""

PLAIN = {Selected: "selected"}
"""Answers whose fields hold no records, and need not be decoded again; and the field with names of
jobs, of which an instance's ``are_latest`` says whether the instance itself made them."""
OF_ENCODING = 30.0  # exact sums take longer than names do to be written: see `validation.documents`


def asks(night: Instance, formulation: str | None) -> Mapping[str, Any]:
    """Return the options that change what is asked, with their defaults: r, and those of risk."""
    del night
    if formulation == "schedule":
        return {}
    at_risk = dict.fromkeys(("risk", "scenarios", "seed"))
    return {"fill": 1.0} if formulation == "season" else {"fill": 1.0} | at_risk


def solution_type(solution: Mapping[str, Any]) -> type[Selected] | type[SelectedNights]:
    """Return the record type of a solution of this shape."""
    if "nights" in solution:
        return ScheduledNights if "schedules" in solution else SelectedNights
    return Scheduled if "tasks" in solution else Selected


def check(
    night: Instance,
    solution: Selected | SelectedNights,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a selection, a schedule or a season: see `selection` and `schedule`."""
    if isinstance(solution, Scheduled):
        schedule.check(night, solution, claim, constraints, report)
    else:
        selection.check(night, solution, claim, constraints, report)


__all__ = ["ANSWERS", "CONSTRAINTS", "asks", "check", "solution_type"]
