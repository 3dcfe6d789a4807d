"""The checker of hesrpt: allocations of servers over time."""

from collections.abc import Mapping
from typing import Any

from schedopt.instances.hesrpt import Allocated, Instance, SideConstraint
from schedopt.validation.hesrpt.allocation import check

SENSE = "minimize"
CONSTRAINTS = tuple[SideConstraint, ...]
ANSWERS = {"allocation": (Allocated,)}  # for each formulation the records that its solution may be
NEAR = 1e-6  # the gap up to which an interior-point method's answer may be called optimal


def asks(instance: Instance, formulation: str | None) -> Mapping[str, Any]:
    """Return the options that change the question, with their defaults; no order stands for all."""
    del instance
    return {"order": None} if formulation else {}


def solution_type(solution: Mapping[str, Any]) -> type[Allocated]:
    """Return the record type of a solution."""
    del solution
    return Allocated


__all__ = ["ANSWERS", "CONSTRAINTS", "NEAR", "asks", "check", "solution_type"]
