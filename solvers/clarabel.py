"""Clarabel for convex programs in CVXPY; what its answer is worth is for the caller to prove."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as installed
from typing import TYPE_CHECKING, Literal

import msgspec

from schedopt.solvers.clock import now
from schedopt.solvers.result import Limits, Result, Seconds, Termination
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    import cvxpy as cp

    from schedopt.formulations.protocol import Formulation

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


@dataclass(frozen=True)
class Solved:
    """How one convex program ended; where solved, its variables and constraints hold values.

    Attributes
    ----------
    status : {"solved", "infeasible", "unbounded", "stopped", "failed"}
    seconds : float
    """

    status: Status
    seconds: float


def solve(program: cp.Problem, time_limit: float | None = None) -> Solved:
    """Solve a convex program, and leave the values in its variables and constraints.

    Parameters
    ----------
    program : cvxpy.Problem
    time_limit : float, optional
        Seconds; what an interior-point method has by then is no solution.
    """
    import cvxpy as cp

    began = now()
    limit = {} if time_limit is None else {"time_limit": max(time_limit, 1e-3)}
    status: Status
    try:
        with warnings.catch_warnings():  # an inaccurate answer is judged by its bound
            warnings.simplefilter("ignore")
            program.solve(solver=cp.CLARABEL, **SETTINGS, **limit)
    except cp.error.SolverError:
        return Solved("failed", now() - began)
    if program.status in _INFEASIBLE:
        status = "infeasible"
    elif program.status in _UNBOUNDED:
        status = "unbounded"
    elif program.value is None:
        status = "stopped"
    else:
        status = "solved"
    return Solved(status, now() - began)


def feasible(program: cp.Problem) -> bool:
    """Tell whether a convex program is not found infeasible."""
    return solve(program).status != "infeasible"


def adapt(
    formulation: Formulation, limits: Limits | None = None, *, hint: object | None = None
) -> Result:
    """Solve a formulation whose model is a convex program of CVXPY.

    Nothing is claimed of the bound: an interior point's duals are no proof by themselves. A problem
    that can prove one from them has an engine of its own, as `solvers.hesrpt`.

    Parameters
    ----------
    formulation : Formulation
    limits : Limits, optional
    hint : object, optional
        Of no use to an interior-point method.

    Returns
    -------
    Result
        Not yet checked.
    """
    limits = limits or Limits()
    run = Run(limits)
    found = solve(formulation.model, limits.time_limit)
    known = found.status == "solved"
    stops: dict[Status, Termination] = {
        "solved": "completed",
        "infeasible": "infeasible",
        "unbounded": "unbounded",
        "stopped": "time-limit",
        "failed": "error",
    }
    result = make_result(
        formulation,
        run,
        solver="clarabel",
        version=version(),
        stopped=stops[found.status],
        solution=formulation.decode(lambda variable: variable.value) if known else None,
        bound=None,
        options={},
        message="to the solver's tolerance; no bound is claimed" if known else "",
    )
    seconds = Seconds(build=formulation.seconds, solve=found.seconds)
    return msgspec.structs.replace(result, seconds=seconds)
