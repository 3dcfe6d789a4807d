"""One completion order's program: solved by Clarabel, played, and bounded by its own prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Allocated
from schedopt.solvers import clarabel
from schedopt.solvers.hesrpt.dual import proven_by_prices

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Solved:
    """What came of one order's program.

    Attributes
    ----------
    status : {"solved", "infeasible", "unbounded", "stopped", "failed"}
    solution : Allocated or None
        Shares under which jobs really complete when it says.
    bound : float or None
        What the prices in the solver's dual values prove, whatever their accuracy; None where they
        prove nothing.
    prices : ndarray or None
        Of each job's work, which prove it, shape (M,).
    """

    status: clarabel.Status
    solution: Allocated | None = None
    bound: float | None = None
    prices: Floats | None = None


def solve_program(program: Allocation, time_limit: float | None = None) -> Solved:
    """Solve the program of an allocation's order, as declared.

    Parameters
    ----------
    program : Allocation
    time_limit : float, optional
        Seconds.
    """
    status = clarabel.solve(program.declared(), time_limit)
    if status != "solved":
        return Solved(status)
    duals = program.duals()
    proven = None if duals is None else proven_by_prices(program, duals)
    solution = program.decode(lambda variable: variable.value)
    return Solved("solved", solution, *(proven or ()))
