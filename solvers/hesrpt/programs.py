"""One completion order's program: solved by Clarabel, played, and bounded by its own prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Allocated
from schedopt.solvers import clarabel
from schedopt.solvers.hesrpt.dual import proven_by_prices
from schedopt.solvers.hesrpt.replay import as_planned, replayed

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
    """Solve the program of an allocation's order.

    Parameters
    ----------
    program : Allocation
    time_limit : float, optional
        Seconds.
    """
    done = clarabel.solve(program.model, time_limit)
    if done.status != "solved":
        return Solved(done.status)
    duals = None if program.natives else program.duals()  # of those of natives we know nothing
    proven = None if duals is None else proven_by_prices(program, duals)
    if proven is None:
        return Solved("solved", _played(program))
    return Solved("solved", _played(program), *proven)


def _played(program: Allocation) -> Allocated:
    """Return the shares that the program found, played until each job is really done."""
    instance, epochs = program.instance, program.epochs
    durations, used = program.amounts(lambda variable: variable.value)
    if instance.arrivals.any():
        return replayed(instance, epochs, durations, used)
    planned = as_planned(instance, epochs, durations, used, rules=program.rules)
    if program.given or program.rules.names or program.natives:  # which hold in these epochs only
        return planned
    return min(planned, replayed(instance, epochs, durations, used), key=instance.objective_of)
