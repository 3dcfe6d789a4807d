"""Certificates of dssp: branchings, and of plain knapsacks what needs none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedopt.instances.dssp import bounding
from schedopt.solvers.door import NoCertificateError
from schedopt.solvers.result import Limits, Result

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Selection
    from schedopt.formulations.protocol import Formulation


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
        If the branching does not end in time.
    """
    from schedopt.formulations.dssp import Schedule, Season, Selection
    from schedopt.solvers.dssp.selection.binary.certificate import certificate as branched

    selection: Selection | Season
    if isinstance(model, Schedule):
        night = bounding(model.instance)
        selection = Selection(night).add(*(model.added if night is model.instance else ()))
    elif isinstance(model, Selection | Season):
        selection = model
        if isinstance(model, Selection) and (short := _of_a_knapsack(model, result)):
            return short
    else:
        raise NoCertificateError(f"branchings say nothing of {model.name}")
    found, why = branched(selection, result, limits)
    if found is None:
        raise NoCertificateError(why)
    return found


def _of_a_knapsack(model: Selection, result: Result) -> dict[str, Any] | None:
    """Return what the checker re-proves a plain knapsack from without a branch, if it does."""
    from schedopt.solvers.dssp.selection.knapsack.certificate import certificates
    from schedopt.validation.dssp.bound import reproved

    for found in certificates(model, result):
        rules = [*model.instance.constraints, *model.added]
        if reproved(model.instance, rules, found, result.document()) is None:
            return found
    return None
