"""Engines of msfq: thresholds, optimal policies, and bounds on logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedopt.solvers.engine import Certificate, Engine
    from schedopt.solvers.result import Limits, Result


def engines(formulation: str) -> tuple[Engine, ...]:
    """Return the engines of a formulation, in the order in which they are tried."""
    from schedopt.solvers.msfq import log_bound, optimal_policy, threshold

    modules = {"threshold": threshold, "optimal-policy": optimal_policy, "bound": log_bound}
    return modules[formulation].ENGINES if formulation in modules else ()


def certify(model: Any, result: Result, limits: Limits) -> Certificate | None:
    """Return a certificate of the bound of a result, or None."""
    if model.name == "bound":
        prices: Certificate = model.certificate()
        return prices
    certificate: Certificate | None = getattr(model, "certificate", None)
    return certificate
