"""Engines of dssp: selections, seasons and schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedopt.solvers.engine import Certificate, Engine
    from schedopt.solvers.result import Limits, Result


def engines(formulation: str) -> tuple[Engine, ...]:
    """Return the engines of a formulation, in the order in which they are tried."""
    from schedopt.solvers.dssp import schedule, selection

    tables = {
        "schedule": schedule.ENGINES,
        "selection": selection.ENGINES,
        "season": selection.SEASON_ENGINES,
    }
    return tables.get(formulation, ())


def certify(model: Any, result: Result, limits: Limits) -> Certificate | None:
    """Return a certificate of the bound of a result, or None."""
    from schedopt.solvers.dssp import certificate

    if model.name == "schedule":
        return certificate.certify_schedule(model, result, limits)
    return certificate.certify(model, result, limits)
