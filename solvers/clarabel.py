"""Clarabel for convex programs in CVXPY; what its answer is worth is for the caller to prove."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import version as installed
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import cvxpy as cp

Status = Literal["solved", "infeasible", "unbounded", "stopped", "failed"]
SETTINGS = {
    "min_terminate_step_length": 1e-8,
    "tol_gap_rel": 1e-9,
    "tol_gap_abs": 1e-9,
    "tol_feas": 1e-9,
}
_INFEASIBLE = ("infeasible", "infeasible_inaccurate")
_UNBOUNDED = ("unbounded", "unbounded_inaccurate")


@cache
def version() -> str:
    """Return the engines' versions."""
    return f"{installed('clarabel')} (CVXPY {installed('cvxpy')})"


def solve(program: cp.Problem, time_limit: float | None = None) -> Status:
    """Solve a convex program, and leave the values in its variables and constraints.

    Parameters
    ----------
    program : cvxpy.Problem
    time_limit : float, optional
        Seconds; what an interior-point method has by then is no solution.
    """
    import cvxpy as cp

    limit = {} if time_limit is None else {"time_limit": max(time_limit, 1e-3)}
    try:
        with warnings.catch_warnings():  # an inaccurate answer is judged by its bound
            warnings.simplefilter("ignore")
            program.solve(solver=cp.CLARABEL, **SETTINGS, **limit)
    except cp.error.SolverError:
        return "failed"
    if program.status in _INFEASIBLE:
        return "infeasible"
    if program.status in _UNBOUNDED:
        return "unbounded"
    return "stopped" if program.value is None else "solved"


def feasible(program: cp.Problem) -> bool:
    """Tell whether a convex program is not found infeasible."""
    return solve(program) != "infeasible"
