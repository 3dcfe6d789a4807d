"""Compiled arithmetic of decision diagrams over completion orders: see `solvers.hesrpt.diagram`.

At price lambda and rent m of a server, job j gains at most pi_j(lambda, m) = max_k lambda s_j(k) -
m k. What some jobs can earn together is at most m N + the sum of their gains, at any rent m; with
teams, each at a rent r of its own, it is m N + sum over teams (r - m) b + the sum of gains, b the
most servers of the team where r > m, the least where r < m. So what later prices need to know of an
order is what the jobs so far gain in all at some choices of rents, here called points.
"""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import njit, small
from schedopt.solvers.hesrpt.kernels import POWER, Curves, Floats, Ints, price_for, speed, taken

Bools = NDArray[np.bool_]
SAFE = 1.0 - 2e-12
"""Relative slack of prices against rounding."""
PATIENCE = 3
"""Rents in a row without a higher price after which that side is given up."""
MOST_PLAIN = 0.95
"""The largest p for which powers of prices by 1/(1 - p) surely stay within floats."""


class Grid(NamedTuple):
    """The points at which gains are known.

    Jobs of s(k) = k^p without bounds are plain: their gain at a price is price^(1/(1-p)) times that
    at 1.
    """

    rents: Floats  # rising, (R,)
    points: Ints  # which rent the jobs without a team have, and each team, (Q, G + 1)
    unit: Floats  # gains at price 1, (M, R)
    plain: Bools  # (M,)


@njit(cache=True, plain=small(6000, 6))
def units(c: Curves, grid: Grid) -> None:
    """Fill the gains at price 1 of plain jobs: (1 - p) (p/m)^(p/(1-p)), as if N were no bound."""
    for j in range(len(c.kinds)):
        p = c.pars[j]
        free = c.leasts[j] <= 0.0 and c.mosts[j] >= c.servers
        grid.plain[j] = c.kinds[j] == POWER and p <= MOST_PLAIN and free
        if grid.plain[j]:
            for r in range(len(grid.rents)):
                grid.unit[j, r] = (1.0 - p) * (p / grid.rents[r]) ** (p / (1.0 - p))


@njit(cache=True)
def _fixed(c: Curves, grid: Grid, done: int, also: int, out: Floats) -> None:
    """Put into ``out`` the server cost at each point with a set of jobs, and one more, present.

    Shape (Q,). A team is bound while any of its jobs is there.
    """
    for q in range(len(out)):
        out[q] = grid.rents[grid.points[q, 0]] * c.servers
    for g in range(len(c.team_mosts)):
        most, there = 0.0, False
        for j in range(len(c.kinds)):
            if c.teams[j] == g and ((done >> j) & 1 or j == also):
                most += c.mosts[j]
                there = True
        if not there:
            continue
        most = min(most, float(c.team_mosts[g]))
        least = min(float(c.team_leasts[g]), most)
        for q in range(len(out)):
            above = grid.rents[grid.points[q, g + 1]] - grid.rents[grid.points[q, 0]]
            out[q] += above * (most if above > 0.0 else least)


@njit(cache=True, plain=small(6000, 6))
def price_out(
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

    Any point gives valid prices, so a good one is looked for, not the best. `sets` and `masks` hold
    the placed jobs and those that may be next, as bits, shape (n,); `gains` bounds the gains of the
    placed jobs, shape (n, Q); `prices` has shape (n, M).
    """
    total, points = len(costs), len(grid.points)
    fixed, most = np.empty(points), np.empty(len(grid.rents))
    for u in range(span[0], span[1]):
        done, level = sets[u], 0.0
        for j in range(total):
            if (done >> j) & 1:
                level += costs[j]
        for j in range(total):
            prices[u, j] = -1.0
            if not (masks[u] >> j) & 1:
                continue
            own = c.teams[j] + 1
            _fixed(c, grid, done, j, fixed)
            for r in range(len(most)):
                most[r] = -inf
            for q in range(points):
                r = grid.points[q, own]
                most[r] = max(most[r], level + costs[j] - fixed[q] - gains[u, q])
            prices[u, j] = SAFE * _best_price(c, grid, j, most)


@njit(cache=True)
def _best_price(c: Curves, grid: Grid, j: int, budgets: Floats) -> float:
    """Return about the highest price whose gain stays within a budget, which depends on the rent.

    Budgets have shape (R,), and are minus infinity at rents that no point has.
    """
    start = np.argmax(budgets)
    best = 0.0
    for side in range(2):
        step = 1 if side == 0 else -1
        r = start if side == 0 else start - 1
        missed = 0
        while 0 <= r < len(budgets) and missed < PATIENCE:
            if budgets[r] > -inf:
                if grid.plain[j]:
                    value = max(budgets[r], 0.0) / grid.unit[j, r]
                else:
                    value = price_for(c, j, float(budgets[r]), grid.rents[r])
                missed = 0 if value > best else missed + 1
                best = max(best, value)
            r += step
    return best ** (1.0 - c.pars[j]) if grid.plain[j] else best


@njit(cache=True)
def _gains(c: Curves, grid: Grid, j: int, price: float, out: Floats) -> None:
    """Put into ``out`` what a job gains at each rent, shape (R,)."""
    if grid.plain[j]:
        scale = price ** (1.0 / (1.0 - c.pars[j]))
        for r in range(len(out)):
            out[r] = scale * grid.unit[j, r]
    else:
        for r in range(len(out)):
            k = taken(c, j, price, grid.rents[r])
            out[r] = price * speed(c, j, k) - grid.rents[r] * k


@njit(cache=True, plain=small(6000, 6))
def merged(
    c: Curves,
    grid: Grid,
    edges: Ints,
    prices: Floats,
    gains: Floats,
    span: tuple[int, int],
    out: Floats,
) -> None:
    """Raise ``out``, (n', Q), to the gains that a span's edges bring to their end nodes.

    Edges are rows of (node, job, node at the end); `gains` are those of the nodes they leave, (n,
    Q).
    """
    own = np.empty(len(grid.rents))
    for e in range(span[0], span[1]):
        u, j, v = edges[e, 0], edges[e, 1], edges[e, 2]
        g = c.teams[j] + 1
        _gains(c, grid, j, prices[e], own)
        for q in range(len(grid.points)):
            out[v, q] = max(out[v, q], gains[u, q] + own[grid.points[q, g]])


@njit(cache=True)
def features(
    c: Curves, grid: Grid, edges: Ints, prices: Floats, gains: Floats, points: Ints, out: Floats
) -> None:
    """Put into ``out`` what all gain behind each edge at one point, ``points[e]``, shape (e,)."""
    own = np.empty(len(grid.rents))
    for e in range(len(edges)):
        u, j, q = edges[e, 0], edges[e, 1], points[e]
        _gains(c, grid, j, prices[e], own)
        out[e] = gains[u, q] + own[grid.points[q, c.teams[j] + 1]]
