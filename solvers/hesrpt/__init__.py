"""Engines of hesrpt: closed forms, Lagrangian bound, search over orders, and convex programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedopt.solvers.engine import Certificate, Engine
    from schedopt.solvers.result import Limits, Result


def engines(formulation: str) -> tuple[Engine, ...]:
    """Return the engines of a formulation, in the order in which they are tried."""
    from schedopt.solvers.hesrpt.table import ENGINES

    return ENGINES if formulation == "allocation" else ()


def certify(model: Any, result: Result, limits: Limits) -> Certificate | None:
    """Return a certificate of the bound of a result, or None."""
    from schedopt.solvers.hesrpt.certificate import certificate

    return certificate(model, result, limits)
