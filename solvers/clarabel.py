"""Clarabel: solves convex programs; the caller verifies its answers."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.extras import installed, version_of

if TYPE_CHECKING:
    import cvxpy as cp

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Terms = Sequence[tuple[Ints, "Floats | float"]]
"""Sums, row by row: for each term, the variable of each row and its coefficients."""
Triplets = tuple[Ints, Ints, Floats]
"""Rows, columns and values."""

Status = Literal["solved", "infeasible", "unbounded", "stopped", "failed"]
SETTINGS = {
    "min_terminate_step_length": 1e-8,
    "tol_gap_rel": 1e-9,
    "tol_gap_abs": 1e-9,
    "tol_feas": 1e-9,
}
_STATUS: dict[str, Status] = {
    "Solved": "solved",
    "AlmostSolved": "solved",
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
    "MaxTime": "stopped",
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


class Cones:
    """Rows of a program in Clarabel's own form: A x + s = b, s in a product of cones.

    Parameters
    ----------
    variables : int
    """

    def __init__(self, variables: int) -> None:
        self.variables, self.rows = variables, 0
        self.kinds: list[tuple[str, int]] = []
        self.triplets: list[Triplets] = []
        self.right: list[Floats] = []

    def _append_rows(
        self, right: Floats, triplets: Triplets, kinds: list[tuple[str, int]]
    ) -> slice:
        row, column, value = triplets
        first, self.rows = self.rows, self.rows + len(right)
        self.triplets.append((row + first, column, value))
        self.right.append(right)
        self.kinds += kinds
        return slice(first, self.rows)

    def equal(self, right: Floats, triplets: Triplets) -> slice:
        """Add rows sums = right; return their positions."""
        return self._append_rows(right, triplets, [("zero", len(right))])

    def at_most(self, right: Floats, sums: Terms | Triplets) -> slice:
        """Add rows sums <= right; return their positions."""
        triplets = sums if isinstance(sums, tuple) else _triplets_of(sums)
        return self._append_rows(right, triplets, [("nonnegative", len(right))])

    def new(self, count: int) -> Ints:
        """Add variables; return their positions."""
        self.variables += count
        return np.arange(self.variables - count, self.variables)

    def below_means(self, z: Terms, x: Terms, y: Terms) -> None:
        """Add rows z² <= x y with x and y at least 0, for each row of z, x and y."""
        count = len(z[0][0])
        corners = [[*x, *y], [(at, 2.0 * value) for at, value in z]]
        corners.append([*x, *((at, -value) for at, value in y)])
        parts = [
            (3 * row + i, column, -value)
            for i, corner in enumerate(corners)
            for row, column, value in [_triplets_of(corner)]
        ]
        row, column, value = (np.concatenate(each) for each in zip(*parts, strict=True))
        self._append_rows(np.zeros(3 * count), (row, column, value), [("second-order", 3)] * count)


def _triplets_of(terms: Terms) -> Triplets:
    """Return the triplets of sums."""
    rows = np.arange(len(terms[0][0]))
    return (
        np.concatenate([rows for _ in terms]),
        np.concatenate([columns for columns, _ in terms]),
        np.concatenate([np.broadcast_to(value, len(rows)) for _, value in terms]),
    )


def solve_cones(
    costs: Floats, cones: Cones, time_limit: float | None = None
) -> tuple[Status, Floats, Floats]:
    """Minimize costs over cones; return the status, the variables and the dual values of rows."""
    import clarabel
    from scipy.sparse import csc_matrix

    rows, columns, values = (np.concatenate(each) for each in zip(*cones.triplets, strict=True))
    matrix = csc_matrix((values, (rows, columns)), (cones.rows, cones.variables))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name, value in SETTINGS.items():
        setattr(settings, name, value)
    if time_limit is not None:
        settings.time_limit = max(time_limit, 1e-3)
    kinds = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "second-order": clarabel.SecondOrderConeT,
    }
    cone = [kinds[kind](size) for kind, size in cones.kinds if size]
    nothing = csc_matrix((cones.variables, cones.variables))
    solver = clarabel.DefaultSolver(
        nothing, costs, matrix, np.concatenate(cones.right), cone, settings
    )
    solved = solver.solve()
    status = _STATUS.get(str(solved.status).rsplit(".", 1)[-1], "failed")
    return status, np.array(solved.x), np.array(solved.z)
