"""Certificates of dssp: branchings that are kept only where the checker re-proves the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from instances.dssp import bounding
from solvers.result import Limits, Result

if TYPE_CHECKING:
    from formulations.protocol import Formulation


def certificate(model: Formulation, result: Result, limits: Limits) -> dict[str, Any] | None:
    """Return what the checker re-proves the bound of a result from, None where nothing is found.

    A schedule's bound is that of the selection of what happens; one that CP-SAT has brought below
    that is believed.

    Parameters
    ----------
    model : Selection or Schedule
    result : Result
    limits : Limits
        The time limit is kept, by the branching.
    """
    from formulations.dssp import Schedule, Selection
    from solvers.binary.certificate import certificate as branched
    from validation.dssp.bound import reproved

    if isinstance(model, Schedule):
        night = bounding(model.instance)
        selection = Selection(night).add(*(model.added if night is model.instance else ()))
    elif isinstance(model, Selection):
        selection = model
    else:
        return None
    found, _ = branched(selection, result, limits)
    rules = [*model.instance.constraints, *model.added]
    if found is None or reproved(model.instance, rules, found, result.document()):
        return None
    return found
