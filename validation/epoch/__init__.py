"""Checkers of epoch: partitions into epochs, and schedules of rectangles."""

from collections.abc import Mapping
from typing import Any

from schedopt.instances.epoch import Instance, Partitioned, Scheduled, SideConstraint
from schedopt.validation.epoch.schedules import check

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


__all__ = ["ANSWERS", "CONSTRAINTS", "asks", "check", "solution_type"]
