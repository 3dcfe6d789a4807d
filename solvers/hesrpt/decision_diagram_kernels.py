"""Compiled arithmetic of decision diagrams over completion orders: see `decision_diagram`.

At price lambda and rent m of a server, job j gains at most pi_j(lambda, m) = max_k lambda s_j(k) -
m k. What some jobs can earn together is at most m N + the sum of their gains, at any rent m. So
what later prices need to know of an order is what its jobs so far gain in all at some rents.
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
"""Relative slack of prices against rounding."""
PATIENCE = 3
"""Rents in a row without a higher price after which that side is given up."""
MOST_PLAIN = 0.95
"""The largest p for which powers of prices by 1/(1 - p) surely stay within floats."""


class Grid(NamedTuple):
    """The rents at which gains are known.

    Jobs of s(k) = k^p without bounds are plain: their gain at a price is price^(1/(1-p)) times that
    at 1.
    """

    rents: Floats  # rising, (R,)
    unit: Floats  # gains at price 1, (M, R)
    plain: Bools  # (M,)


@kernel(python_up_to=6000)
def fill_unit_gains(c: Curves, grid: Grid) -> None:
    """Fill the gains at price 1 of plain jobs: (1 - p) (p/m)^(p/(1-p)), as if N were no bound."""
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
    """Fill the prices of the jobs that may be next at the nodes of a span, -1 for others.

    Any rent gives valid prices, so a good one is looked for, not the best. `sets` and `masks` hold
    the placed jobs and those that may be next, as bits, shape (n,); `gains` bounds the gains of the
    placed jobs, shape (n, R); `prices` has shape (n, M).
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
    """Return about the highest price whose gain stays within a budget at some rent, (R,)."""
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
    """Return what a job gains at a price and one of the rents."""
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
    """Raise ``out``, (n', R), to the gains that a span's edges bring to their end nodes.

    Edges are rows of (node, job, node at the end); `gains` are those of the nodes they leave, (n,
    R).
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
    """Put into ``out`` what all gain behind each edge at the rent ``at[e]``, shape (e,)."""
    for e in range(len(edges)):
        u, j = edges[e, 0], edges[e, 1]
        out[e] = gains[u, at[e]] + _gain(c, grid, j, prices[e], at[e])
