"""Optimal policies by the search that suits the system, with certificates of their bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from schedopt.formulations.msfq import ClassPolicy
from schedopt.solvers.msfq.searching import QueueSearch, searched

if TYPE_CHECKING:
    from schedopt.formulations.msfq import OptimalPolicy
    from schedopt.solvers.engine import Certificate, Given
    from schedopt.solvers.result import Limits, Result


def solve(model: OptimalPolicy | ClassPolicy, given: Given) -> Result:
    """Search on ever larger boxes; the model keeps the certificate of the bound."""
    search: QueueSearch
    if isinstance(model, ClassPolicy):
        from schedopt.solvers.msfq.optimal_policy.classes import ClassSearch

        search = ClassSearch(model, given.limits.seed)
    else:
        from schedopt.solvers.msfq.optimal_policy.optimal import PolicySearch

        search = PolicySearch(model)
    result = searched(model, search, given.limits)
    model.certificate = search.certificate()
    return result


def certify(
    model: OptimalPolicy | ClassPolicy,
    result: Result,
    limits: Limits,
    holds: Callable[[Certificate], bool],
) -> Certificate | None:
    """Return the relative values of the last search; the checker judges them."""
    return model.certificate
