"""Clarabel: solves convex programs; the caller verifies its answers."""

from __future__ import annotations

import platform
from functools import cache
from typing import TYPE_CHECKING, Literal

from schedopt.instances.extras import installed, version_of

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
    """Return the versions of Clarabel and CVXPY, or that of Python if they are not installed."""
    if not (installed("clarabel") and installed("cvxpy")):
        return f"Python {platform.python_version()}"
    return f"{version_of('clarabel')} (CVXPY {version_of('cvxpy')})"


def solve(program: cp.Problem, time_limit: float | None = None) -> Status:
    """Solve a convex program; its variables and constraints get their values.

    Parameters
    ----------
    program : cvxpy.Problem
    time_limit : float, optional
        Seconds. There is no incumbent at the time limit.
    """
    import cvxpy as cp

    limit = {} if time_limit is None else {"time_limit": max(time_limit, 1e-3)}
    try:  # `program.solve` would warn of inaccurate answers, which the caller verifies
        options = {**SETTINGS, **limit}
        data, chain, inverse = program.get_problem_data(cp.CLARABEL, solver_opts=options)
        answer = chain.solve_via_data(program, data, solver_opts=options)
    except cp.error.SolverError:
        return "failed"
    solution = chain.invert(answer, inverse)
    if solution.status in cp.settings.ERROR:
        return "failed"
    program.unpack(solution)
    if program.status in _INFEASIBLE:
        return "infeasible"
    if program.status in _UNBOUNDED:
        return "unbounded"
    return "stopped" if program.value is None else "solved"


def feasible(program: cp.Problem) -> bool:
    """Return False if Clarabel proves that a program is infeasible, else True."""
    return solve(program) != "infeasible"
