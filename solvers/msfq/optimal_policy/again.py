"""Optimal policies once more: Howard's policy iteration on a finite system, solved by sparse LU.

Arrivals that find no room are lost, which costs less than the infinite system does, by ever less as
there is more room. So two sizes are solved: where they agree, that is the optimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now
from schedopt.solvers.result import Limits, Result

if TYPE_CHECKING:
    from schedopt.formulations.msfq import OptimalPolicy
    from schedopt.formulations.msfq.process import Process

MOST = 120_000
"""States of the larger system: some seconds' work."""
SAME = 5e-7
"""Relative difference of two sizes that counts as none."""
PATIENCE = 60.0
"""Seconds that it may take where no time limit is given."""
Shape = tuple[int, int, int]


def solve(model: OptimalPolicy, result: Result, limits: Limits) -> Result | None:
    """Return a result with the optimum of systems that lose arrivals, None where they are large.

    Parameters
    ----------
    model : OptimalPolicy
    result : Result
        What is to be confirmed; its solution is kept.
    limits : Limits
        The time limit is kept, between two systems of linear equations.

    Notes
    -----
    Source: Puterman, Markov Decision Processes, Wiley 1994, section 8.6.
    """
    seconds = PATIENCE if limits.time_limit is None else limits.time_limit
    end = now() + seconds
    k, most = model.system.k, MOST
    large = round((most / ((k + 2) * max(2, k))) ** 0.5)  # a large job is k times a small one
    if large < 2 * k:
        return None
    small = max(2, k) * large
    costs = []
    for part in (0.7, 1.0):
        shape = k + 2, round(part * small), round(part * large)
        cost = least(model.model, shape, end)
        if cost is None:
            break
        costs.append(cost)
    near = len(costs) == 2 and abs(costs[1] - costs[0]) <= SAME * costs[1]
    return msgspec.structs.replace(
        result,
        solver="policy-iteration",
        termination="optimal" if near else "completed",
        solution_status="optimal" if near else "feasible",
        objective=costs[-1] if costs else None,
        bound=costs[-1] if near else None,
        gap=0.0 if near else None,
    )


def least(process: Process, shape: Shape, end: float) -> float | None:
    """Return the least long-run cost of a system with room for so many waiting jobs.

    Parameters
    ----------
    process : Process
    shape : tuple of int
        What runs, 0..k and k + 1 for a large job, small jobs waiting, large jobs waiting.
    end : float
        When to give up, of `solvers.clock.now`.
    """
    running, small, large = np.indices(shape)
    k = process.system.k
    runs = running == k + 1
    cost = process.small_cost * (small + np.where(runs, 0, running))
    cost = cost + process.large_cost * (large + runs)
    values = small + float(k) * large  # whatever can be started is
    gain = np.inf
    while now() < end:
        found, values = _evaluated(process, cost, _best(values, k))
        if found >= gain * (1 - 1e-13):
            return float(min(gain, found))
        gain = found
    return None


def _best(values: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Return for each state the state that the best decision leads to, as a flat index."""
    best = values.copy()
    where = np.arange(values.size, dtype=np.intp).reshape(values.shape)
    better = values[k + 1, :, :-1] < best[0, :, 1:]
    best[0, :, 1:] = np.where(better, values[k + 1, :, :-1], best[0, :, 1:])
    where[0, :, 1:] = np.where(better, where[k + 1, :, :-1], where[0, :, 1:])
    for c in range(k - 1, -1, -1):
        better = best[c + 1, :-1] < best[c, 1:]
        best[c, 1:] = np.where(better, best[c + 1, :-1], best[c, 1:])
        where[c, 1:] = np.where(better, where[c + 1, :-1], where[c, 1:])
    return where


def _evaluated(
    process: Process, cost: NDArray[np.float64], where: NDArray[np.intp]
) -> tuple[float, NDArray[np.float64]]:
    """Return the long-run cost of decisions, and relative values, the empty system's 0."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    k, l1, lk, m1, mk = process.system
    states = np.arange(cost.size, dtype=np.intp).reshape(cost.shape)
    rows: list[NDArray[np.intp]] = []
    columns: list[NDArray[np.intp]] = []
    rates: list[NDArray[np.float64]] = []

    def go(rate: float, here: NDArray[np.intp], there: NDArray[np.intp]) -> None:
        rows.extend((here.ravel(), here.ravel()))
        columns.extend((there.ravel(), here.ravel()))
        rates.extend((np.full(here.size, rate), np.full(here.size, -rate)))

    go(l1, states[:, :-1], where[:, 1:])
    go(lk, states[:, :, :-1], where[:, :, 1:])
    go(l1, states[:, -1], where[:, -1])  # lost, but time to decide again
    go(lk, states[:, :, -1], where[:, :, -1])
    go(mk, states[k + 1], where[0])
    for c in range(1, k + 1):
        go(c * m1, states[c], where[c - 1])
    row, column, rate = np.concatenate(rows), np.concatenate(columns), np.concatenate(rates)
    kept = column != 0  # the empty system's value is 0; its place is the gain's
    every = np.arange(cost.size)
    matrix = csc_array(
        (
            np.concatenate((rate[kept], np.full(cost.size, -1.0))),
            (
                np.concatenate((row[kept], every)),
                np.concatenate((column[kept], np.zeros_like(every))),
            ),
        )
    )
    found = splu(matrix).solve(-cost.ravel())
    gain, found[0] = float(found[0]), 0.0
    return gain, found.reshape(cost.shape)
