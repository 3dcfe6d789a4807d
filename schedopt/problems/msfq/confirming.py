"""The best threshold once more, by the checker's own exact method."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import msgspec

from schedopt.solvers.result import Result

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation


def recomputed(model: Formulation, result: Result) -> Result | None:
    """Return a result with the least of the recomputed curve, None where none is recomputed."""
    from schedopt.formulations.msfq import Threshold
    from schedopt.validation.msfq.solved import least_objective, recompute_curve

    if not isinstance(model, Threshold) or model.method != "exact":
        return None
    found = recompute_curve(model.instance, model.variant)
    if found is None:
        return None
    _, best = least_objective(model.instance, [*model.instance.constraints, *model.added], found)
    possible = isfinite(best)
    return msgspec.structs.replace(
        result,
        solver="the checker's recomputation",
        termination="optimal" if possible else "infeasible",
        solution_status="optimal" if possible else "none",
        objective=best if possible else None,
        bound=best if possible else None,
        gap=0.0 if possible else None,
    )
