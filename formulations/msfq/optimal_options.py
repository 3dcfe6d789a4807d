"""What both formulations of optimal policies are asked with, and what they refuse."""

from __future__ import annotations

from collections.abc import Mapping

from instances.constraints import Constraint
from instances.errors import InputError, shown
from instances.options import Option, is_count, is_number

OPTIONS: Mapping[str, Option] = {
    "tolerance": Option(1e-6, "a number above 0", lambda v: is_number(v) and v > 0),
    "most": Option(12_000_000, "a whole number of states", is_count),
}


def no_side_constraints(constraint: Constraint) -> InputError:
    """Return what is said where an optimal policy is given a side constraint."""
    return InputError(
        "no side constraints for an optimal policy (formulation threshold takes response-time)",
        found=shown(constraint.kind()),
        place="constraints",
    )
