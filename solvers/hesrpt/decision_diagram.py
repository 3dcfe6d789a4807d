"""Lower bound over all completion orders by relaxed decision diagrams.

Symbols: m is the rent of a server, N the number of servers, W the total weight of the placed jobs.

A path places jobs from the last to complete to the first. Prices along a path prove a lower bound
if, for each prefix, the value of the placed jobs' work is at most their weight: at some rent m,
m N plus their gains is at most W. A node therefore stores, for all paths that end there, only the
least cost so far and the largest gains of their jobs at a few rents. From these follows a price
for the next job that is valid for every such path. An edge is removed if every path through it
costs at least as much as the incumbent. Each pass splits nodes whose paths have different gains,
so that prices rise. The passes end with few paths, or when they remove hardly any; branch and
bound with exact prices decides the rest.

Source: Bergman, Cire, van Hoeve and Hooker, Decision Diagrams for Optimization, 2016. The bound by
gains at rents is the dual of an order's program, which is separable in them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import kernel
from schedopt.solvers.hesrpt.branch_and_bound_kernels import Paths
from schedopt.solvers.hesrpt.price_kernels import (
    POWER,
    Curves,
    Floats,
    Ints,
    capped_jobs,
    demand,
    price_for,
    slope,
    speed,
)

Bools = NDArray[np.bool_]
SAFE = 1.0 - 2e-12
"""Factor by which prices are lowered against rounding errors."""
PATIENCE = 3
"""Number of rents in a row without a higher price after which the search in that direction ends."""
MOST_PLAIN = 0.95
"""Largest p for which powers of prices by 1/(1 - p) do not overflow."""
MOST_NODES, MOST_GAINS = 300_000, 400_000_000
"""No node is split beyond this number of nodes; the same for nodes times rents, times 16."""
CHUNK = 2_000_000
"""Rents times edges between two checks of the clock."""
FEW_PATHS = 100
"""Number of paths at which the passes end."""
STEPS = ((30_000, 0.1), (5_000, 0.05), (0, 0.025))
"""Numbers of remaining edges, and the step between logarithms of rents from each on."""
BEYOND = 0.7
"""How far above its rent, in logarithms, the gains of a node's paths are compared."""
KEPT, MOST_STALLED = 0.8, 3
"""A pass that keeps more than this fraction of the paths has stalled; so many in a row end it."""
TAILS = (1e-9, 1e-4, 1e-2), (3.0, 10.0, 100.0)
"""Factors of rents below and above the usual ones, for too many or too few servers."""
LEAST_ELASTICITY = 1e-3
"""Smaller elasticities of speedups count as this one."""
DIGITS = 1e-7
"""Relative difference below which gains count as equal."""


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
    """Fill the prices, (n, M), of the jobs that may come next at the nodes of a span; else -1.

    Every rent gives valid prices, so a good rent suffices. ``sets`` and ``masks`` are the placed
    jobs and those that may come next; ``gains``, (n, R), are upper bounds of the former's gains.
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


def rents_of(c: Curves, costs: Floats, step: float) -> Floats:
    """Return increasing rents, from below the rent of any single job to above that of all.

    ``step`` is the difference of their logarithms.
    """
    least = inf
    for j, cost in enumerate(costs.tolist()):
        most = float(c.mosts[j])
        elasticity = most * slope(c, j, most * (1 - 1e-12)) / speed(c, j, most)
        least = min(least, cost * max(elasticity, LEAST_ELASTICITY) / c.servers)
    most = 1.02 * float(costs.sum()) / c.servers
    rents = np.geomspace(least, most, int(log(most / least) / step) + 2)
    if c.bounded or not (c.pars > 0).all():
        few, many = (np.array(tail) for tail in TAILS)
        rents = np.concatenate([least * few, rents, most * many])
    return np.asarray(rents)


@dataclass
class Layer:
    """The nodes with the same number of placed jobs, and the edges that leave them."""

    base: Floats  # least cost of the placed jobs, (n,)
    prices: Floats  # of the job that an edge places, (n, M)
    child: Ints  # node of the next layer, int32, -1 where the edge is closed, (n, M)


class Split(NamedTuple):
    """How a pass splits nodes: the number of parts, and the rent at which gains are compared."""

    parts: int
    beyond: int  # places after the rent at which a node's jobs earn least


@dataclass
class _Frontier:
    """The nodes of the layer under construction: sets, nodes of the last pass, costs and gains."""

    sets: Ints
    old: Ints
    base: Floats
    gains: Floats


class Diagram:
    """The completion orders that may cost less than a goal, and possibly some more.

    Of the limits of teams, only the cap of each single job is taken into account. ``after`` has for
    each job the bit mask of the jobs that complete after it; they are placed first. ``bound`` is a
    lower bound on the cost of every order, or a value above the goal; ``paths`` is the number of
    orders that remain, and ``stalled`` whether the last passes removed hardly any.
    """

    def __init__(self, c: Curves, sizes: Floats, costs: Floats, after: Ints) -> None:
        self.c = capped_jobs(c)
        self.sizes, self.costs, self.after = sizes, costs, after
        self.layers: list[Layer] = []
        self.passes = 0
        self.bound, self.paths = 0.0, inf
        self.edges, self.nodes = 1 << 62, 0
        self.stalled, self._vain = False, 0

    def advance(self, goal: float) -> Iterator[None]:
        """Make one pass that removes orders whose cost reaches the goal; yields regularly.

        The goal must not increase from pass to pass.
        """
        step = next(step for least, step in STEPS if self.edges >= least)
        grid = self._grid(step)
        parts = 1
        if self.passes > 1:
            most = min(4 * MOST_NODES, MOST_GAINS // len(grid.rents))
            parts = next((k for k in (4, 2) if k**3 * self.nodes <= most), 1)
        split = Split(parts, round(BEYOND / step))
        layers: list[Layer] = []
        front = _Frontier(
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.zeros(1),
            np.zeros((1, len(grid.rents))),
        )
        for depth in range(len(self.sizes)):
            layer = Layer(front.base, np.empty(0), np.empty(0, np.int32))
            for following in self._fill_layer(depth, front, layer, grid, split):
                if following is None:
                    yield
                else:
                    front = following
            layers.append(layer)
        self.layers = layers
        self.passes += 1
        self.nodes = sum(len(layer.base) for layer in layers)
        before = self.paths
        self._remove_costly(goal, len(front.base))
        self._vain = self._vain + 1 if self.paths > KEPT * before else 0
        self.stalled = self._vain >= MOST_STALLED

    def _grid(self, step: float) -> Grid:
        """Return the rents of the next pass, and the gains of plain jobs at them."""
        rents, jobs = rents_of(self.c, self.costs, step), len(self.sizes)
        grid = Grid(rents, np.zeros((jobs, len(rents))), np.zeros(jobs, dtype=np.bool_))
        fill_unit_gains(self.c, grid)
        return grid

    def _fill_layer(
        self, depth: int, front: _Frontier, layer: Layer, grid: Grid, split: Split
    ) -> Iterator[_Frontier | None]:
        """Fill the edges of a layer, and yield the nodes at their ends; yields None regularly."""
        jobs = np.arange(len(self.sizes))
        inside = (front.sets[:, None] >> jobs) & 1 == 1
        if self.layers:
            goes = self.layers[depth].child[front.old]
            free = goes >= 0
        else:
            ready = (front.sets[:, None] & self.after) == self.after
            goes = front.sets[:, None] | (1 << jobs)
            free = ready & ~inside
        masks = (free * (1 << jobs)).sum(axis=1)
        layer.prices = np.empty(free.shape)
        layer.child = np.full(free.shape, -1, dtype=np.int32)
        rents = len(grid.rents)
        chunk = max(1, CHUNK // (8 * rents * len(jobs)))
        for first in range(0, len(masks), chunk):
            span = (first, min(first + chunk, len(masks)))
            at = (front.sets, masks, front.gains)
            price_edges(self.c, self.costs, grid, *at, span, layer.prices)
            yield None
        node, job = np.nonzero(free)
        prices = layer.prices[node, job]
        edges = np.stack([node, job, goes[node, job]], axis=1).astype(np.int64)
        old, edges[:, 2] = np.unique(edges[:, 2], return_inverse=True)
        if split.parts > 1:
            own = self._split_nodes(edges, prices, front, grid, split)
            keys, edges[:, 2] = np.unique(own, return_inverse=True)
            old = old[keys // split.parts]
        order = np.argsort(edges[:, 2], kind="stable")
        edges, prices = edges[order], prices[order]
        layer.child[edges[:, 0], edges[:, 1]] = edges[:, 2]
        starts = np.searchsorted(edges[:, 2], np.arange(len(old)))
        costs = front.base[edges[:, 0]] + prices * self.sizes[edges[:, 1]]
        gains = np.full((len(old), rents), -inf)
        chunk = max(1, CHUNK // rents)
        for first in range(0, len(edges), chunk):
            span = (first, min(first + chunk, len(edges)))
            merge_gains(self.c, grid, edges, prices, front.gains, span, gains)
            yield None
        yield _Frontier(
            sets=front.sets[edges[starts, 0]] | (1 << edges[starts, 1]),
            old=old if self.layers else np.arange(len(old)),
            base=np.minimum.reduceat(costs, starts) if len(starts) else np.zeros(0),
            gains=gains,
        )

    def _split_nodes(
        self, edges: Ints, prices: Floats, front: _Frontier, grid: Grid, split: Split
    ) -> Ints:
        """Return the part of the node that each edge leads to, by its paths' gains at one rent."""
        order = np.argsort(edges[:, 2], kind="stable")
        starts = np.searchsorted(edges[order, 2], np.arange(edges[:, 2].max(initial=-1) + 1))
        tight = np.argmin(grid.rents * self.c.servers + front.gains, axis=1)
        highest = np.maximum.reduceat(tight[edges[order, 0]], starts)[edges[:, 2]]
        at = np.minimum(highest + split.beyond, len(grid.rents) - 1)
        values = np.empty(len(edges))
        gains_behind(self.c, grid, edges, prices, front.gains, at, values)
        low = np.minimum.reduceat(values[order], starts)[edges[:, 2]]
        high = np.maximum.reduceat(values[order], starts)[edges[:, 2]]
        width = high - low
        width = np.where(width > DIGITS * np.abs(high), width, inf)
        part = np.minimum((values - low) / width * split.parts + DIGITS, split.parts - 1)
        return np.asarray(edges[:, 2] * split.parts + part.astype(np.int64))

    def _remove_costly(self, goal: float, ends: int) -> None:
        """Remove nodes and edges whose paths all reach the goal, from the last layer backwards."""
        least, paths = np.zeros(ends), np.ones(ends)
        self.edges = 0
        for layer in reversed(self.layers):
            there = layer.child >= 0
            rest = layer.prices * self.sizes + least[layer.child]
            rest = np.where(there, rest, inf)
            there &= layer.base[:, None] + rest < goal
            paths = np.where(there, paths[layer.child], 0.0).sum(axis=1)
            layer.child[~there] = -1
            self.edges += int(there.sum())
            least = rest.min(axis=1, initial=inf)
        self.bound, self.paths = float(least[0]), float(paths[0])

    def open_paths(self) -> Paths:
        """Return the remaining orders as paths, with the nodes of all layers in one array."""
        firsts = np.cumsum([0, *(len(layer.base) for layer in self.layers)])
        rest = [np.zeros(1)]
        children, costs = [], []
        for depth in reversed(range(len(self.layers))):
            layer = self.layers[depth]
            there = layer.child >= 0
            costs.append(np.where(there, layer.prices * self.sizes, inf))
            after = rest[-1][layer.child] if depth + 1 < len(self.layers) else 0.0
            rest.append((costs[-1] + after).min(axis=1, initial=inf))
            end = layer.child if depth + 1 < len(self.layers) else 0
            children.append(np.where(there, end + firsts[depth + 1], -1).astype(np.int64))
        return Paths(
            np.concatenate(children[::-1]), np.concatenate(costs[::-1]), np.concatenate(rest[::-1])
        )
