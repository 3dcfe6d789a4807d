"""Certificates of dssp: branchings that are kept only where the checker re-proves the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from instances.dssp import bounding
from schedopt.problems.uncertified import NoCertificateError
from solvers.result import Limits, Result

if TYPE_CHECKING:
    from formulations.protocol import Formulation


def certificate(model: Formulation, result: Result, limits: Limits) -> dict[str, Any]:
    """Return what the checker re-proves the bound of a result from.

    A schedule's bound is that of the selection of what happens; one that CP-SAT has brought below
    that is believed.

    Parameters
    ----------
    model : Selection, Season or Schedule
    result : Result
    limits : Limits
        The time limit is kept, by the branching.

    Raises
    ------
    NoCertificateError
        If the branching does not end in time, or the checker does not follow it.
    """
    from formulations.dssp import Schedule, Season, Selection
    from solvers.binary.certificate import certificate as branched
    from validation.dssp.bound import reproved

    selection: Selection | Season
    if isinstance(model, Schedule):
        night = bounding(model.instance)
        selection = Selection(night).add(*(model.added if night is model.instance else ()))
    elif isinstance(model, Selection | Season):
        selection = model
    else:
        raise NoCertificateError(f"branchings say nothing of {model.name}")
    found, why = branched(selection, result, limits)
    if found is None:
        raise NoCertificateError(why)
    rules = [*model.instance.constraints, *model.added]
    wrong = reproved(model.instance, rules, found, result.document())
    if wrong:
        raise NoCertificateError(f"the branchings do not prove it, {wrong}")
    return found
