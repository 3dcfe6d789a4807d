"""Clarabel for convex programs in CVXPY: its answer is taken only with the bound it proves."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from importlib.metadata import version as installed
from typing import Any

SETTINGS = {
    "min_terminate_step_length": 1e-8,
    "tol_gap_rel": 1e-9,
    "tol_gap_abs": 1e-9,
    "tol_feas": 1e-9,
}
_INFEASIBLE = ("infeasible", "infeasible_inaccurate")
_UNBOUNDED = ("unbounded", "unbounded_inaccurate")


def version() -> str:
    """Return the engines' versions."""
    return f"{installed('clarabel')} (CVXPY {installed('cvxpy')})"


@dataclass(frozen=True)
class Solved:
    """What came of one convex program.

    Attributes
    ----------
    status : {"solved", "infeasible", "unbounded", "stopped", "failed"}
    solution : object or None
        The solution record.
    bound : float or None
        What the dual values prove, by the formulation's own arithmetic; None where that cannot say.
    seconds : float
    """

    status: str
    solution: Any | None = None
    bound: float | None = None
    seconds: float = 0.0


def solve(formulation: Any, time_limit: float | None = None) -> Solved:
    """Solve a formulation whose model is a convex program of CVXPY.

    Parameters
    ----------
    formulation : Formulation
        One that also has ``bound()``, what the dual values of its constraints prove.
    time_limit : float, optional
        Seconds; what an interior-point method has by then is no solution.
    """
    import cvxpy as cp

    began = time.perf_counter()
    program = formulation.model
    limit = {} if time_limit is None else {"time_limit": max(time_limit, 1e-3)}
    try:
        with warnings.catch_warnings():  # an inaccurate answer is judged by its bound
            warnings.simplefilter("ignore")
            program.solve(solver=cp.CLARABEL, **SETTINGS, **limit)
    except cp.error.SolverError:
        return Solved("failed", seconds=time.perf_counter() - began)
    spent = time.perf_counter() - began
    if program.status in _INFEASIBLE:
        return Solved("infeasible", seconds=spent)
    if program.status in _UNBOUNDED:
        return Solved("unbounded", seconds=spent)
    if program.value is None:
        return Solved("stopped", seconds=spent)
    solution = formulation.decode(lambda variable: variable.value)
    bound = formulation.bound()
    return Solved("solved", solution, bound, time.perf_counter() - began)


def feasible(program: Any) -> bool:
    """Tell whether a convex program of CVXPY is not found infeasible."""
    import cvxpy as cp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program.solve(solver=cp.CLARABEL, **SETTINGS)
    return program.status not in _INFEASIBLE
