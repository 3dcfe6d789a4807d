"""Compiled kernels of `decision_diagram`.

At work price lambda and server rent m, job j gains at most pi_j(lambda, m) = max_k lambda s_j(k) -
m k. The value of the work of some jobs is at most m N plus the sum of their gains, for every m. So
the gains of the placed jobs at some rents determine valid prices of the next job.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import kernel
from schedopt.solvers.hesrpt.speedup_kernels import (
    POWER,
    Curves,
    Floats,
    Ints,
    demand,
    price_for,
    speed,
)

Bools = NDArray[np.bool_]
SAFE = 1.0 - 2e-12
"""Factor by which prices are lowered against rounding errors."""
PATIENCE = 3
"""Number of rents in a row without a higher price after which the search in that direction ends."""
MOST_PLAIN = 0.95
"""Largest p for which powers of prices by 1/(1 - p) do not overflow."""


class Grid(NamedTuple):
    """The rents at which gains are stored.

    Jobs with s(k) = k^p and without limits are plain: their gain at a price is price^(1/(1-p))
    times their gain at price 1.
    """

    rents: Floats  # rising, (R,)
    unit: Floats  # gains at price 1, (M, R)
    plain: Bools  # (M,)


@kernel(python_up_to=6000)
def fill_unit_gains(c: Curves, grid: Grid) -> None:
    """Fill the gains of plain jobs at price 1, (1 - p) (p/m)^(p/(1-p)), for unlimited servers."""
    for j in range(len(c.kinds)):
        p = c.pars[j]
        free = c.leasts[j] <= 0.0 and c.mosts[j] >= c.servers
        grid.plain[j] = c.kinds[j] == POWER and p <= MOST_PLAIN and free
        if grid.plain[j]:
            for r in range(len(grid.rents)):
                grid.unit[j, r] = (1.0 - p) * (p / grid.rents[r]) ** (p / (1.0 - p))


@kernel(python_up_to=6000)
def price_edges(
    c: Curves,
    costs: Floats,
    grid: Grid,
    sets: Ints,
    masks: Ints,
    gains: Floats,
    span: tuple[int, int],
    prices: Floats,
) -> None:
    """Fill the prices of the jobs that may come next at the nodes of a span; -1 for other jobs.

    Every rent gives valid prices, so a good rent suffices.

    Parameters
    ----------
    sets, masks : ndarray of int, shape (n,)
        The placed jobs and the jobs that may come next, as bit masks.
    gains : ndarray, shape (n, R)
        Upper bounds of the gains of the placed jobs.
    prices : ndarray, shape (n, M)
        Output.
    """
    budgets = np.empty(len(grid.rents))
    for u in range(span[0], span[1]):
        level = 0.0
        for j in range(len(costs)):
            if (sets[u] >> j) & 1:
                level += costs[j]
        for j in range(len(costs)):
            prices[u, j] = -1.0
            if (masks[u] >> j) & 1:
                for r in range(len(budgets)):
                    budgets[r] = level + costs[j] - grid.rents[r] * c.servers - gains[u, r]
                prices[u, j] = SAFE * _best_price(c, grid, j, budgets)


def _best_price(c: Curves, grid: Grid, j: int, budgets: Floats) -> float:
    """Return about the highest price whose gain is within a budget at some rent; budgets (R,)."""
    start = np.argmax(budgets)
    best = 0.0
    for side in range(2):
        step = 1 if side == 0 else -1
        r = start if side == 0 else start - 1
        missed = 0
        while 0 <= r < len(budgets) and missed < PATIENCE:
            if grid.plain[j]:
                value = max(budgets[r], 0.0) / grid.unit[j, r]
            else:
                value = price_for(c, j, float(budgets[r]), grid.rents[r])
            missed = 0 if value > best else missed + 1
            best = max(best, value)
            r += step
    return best ** (1.0 - c.pars[j]) if grid.plain[j] else best


def _gain(c: Curves, grid: Grid, j: int, price: float, r: int) -> float:
    """Return the gain of a job at a price and one of the rents."""
    if grid.plain[j]:
        return float(price ** (1.0 / (1.0 - c.pars[j])) * grid.unit[j, r])
    k = demand(c, j, price, grid.rents[r])
    return float(price * speed(c, j, k) - grid.rents[r] * k)


@kernel(python_up_to=6000)
def merge_gains(
    c: Curves,
    grid: Grid,
    edges: Ints,
    prices: Floats,
    gains: Floats,
    span: tuple[int, int],
    out: Floats,
) -> None:
    """Raise ``out``, shape (n', R), to the gains that the edges of a span bring to their end nodes.

    Edges are rows of (node, job, end node); ``gains``, shape (n, R), are those of the start nodes.
    """
    for e in range(span[0], span[1]):
        u, j, v = edges[e, 0], edges[e, 1], edges[e, 2]
        if grid.plain[j]:
            scale = prices[e] ** (1.0 / (1.0 - c.pars[j]))
            for r in range(len(grid.rents)):
                out[v, r] = max(out[v, r], gains[u, r] + scale * grid.unit[j, r])
        else:
            for r in range(len(grid.rents)):
                out[v, r] = max(out[v, r], gains[u, r] + _gain(c, grid, j, prices[e], r))


@kernel(python_up_to=6000)
def gains_behind(
    c: Curves, grid: Grid, edges: Ints, prices: Floats, gains: Floats, at: Ints, out: Floats
) -> None:
    """Store in ``out`` the total gain behind each edge at the rent ``at[e]``, shape (e,)."""
    for e in range(len(edges)):
        u, j = edges[e, 0], edges[e, 1]
        out[e] = gains[u, at[e]] + _gain(c, grid, j, prices[e], at[e])
