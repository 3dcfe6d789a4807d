"""Re-prove the bound of a best threshold, which needs no certificate, since all are recomputed.

The least of a curve that was recomputed by another exact method (see `validation.msfq.transforms`)
bounds what a threshold can get; nothing of the result is used but the claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from schedopt.instances.constraints import Constraint
from schedopt.instances.msfq import Instance
from schedopt.solvers.result import Document
from schedopt.validation.msfq.solved import least, recomputed
from schedopt.validation.report import Refuted


def reproved(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> str | None:
    """Re-prove a claimed bound: see `validation.documents`; there is no certificate to follow."""
    if claim.sense != "minimize":
        return f"response times are minimized, not {claim.sense}d"
    if claim.formulation != "threshold" or certificate:
        return f"no certificate says anything of {claim.formulation}"
    method = claim.solution.get("method", claim.options.get("method"))
    if method != "exact":
        return f"not of the exact curve, but by {method}"
    variant = claim.solution.get("variant", claim.options.get("variant"))
    found = recomputed(instance, str(variant))
    if found is None:
        return "the curve is not recomputed for as many servers"
    _, best = least(instance, constraints, found)
    bound = claim.bound
    if bound is None or not isfinite(bound) or not bound <= best * (1 + found[2]):
        return Refuted(f"the best threshold gets {best:.12g}, not {bound}")
    return None
