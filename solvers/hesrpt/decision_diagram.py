"""A bound over all completion orders: decision diagrams whose nodes merge orders of the same jobs.

An order is a path that places jobs from the last to complete. Prices along it prove what it costs
at least if, for each of its beginnings, all placed jobs together earn no more than they cost: at
some rent m of a server, m N plus their gains is at most W. So a node need know, of all the paths
that end there, only the least cost so far and, at a few rents, the most that their jobs gain: what
a next job may be paid follows, whichever of these paths was taken. An edge from which no way to the
end is cheaper than the best solution known is closed, and stays so. In each pass over what is left
nodes are split where the gains of their paths differ, and prices rise; it ends with few paths, or
with passes that close hardly any: branch and bound with exact prices ends it.

Relaxed decision diagrams: Bergman, Cire, van Hoeve and Hooker, Decision Diagrams for Optimization,
2016. The bound by gains at rents is the dual of an order's program, which is separable in them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log
from typing import NamedTuple

import numpy as np

from schedopt.solvers.hesrpt import decision_diagram_kernels as kernels
from schedopt.solvers.hesrpt.branch_and_bound_kernels import Paths
from schedopt.solvers.hesrpt.speedup_kernels import Curves, Floats, Ints, slope, speed

LEAST_ELASTICITY = 1e-3
TAILS = (1e-9, 1e-4, 1e-2), (3.0, 10.0, 100.0)
"""Factors of further rents below and above the usual ones: servers are left over, or short."""


def rents_of(c: Curves, costs: Floats, step: float) -> Floats:
    """Return rising rents, from below that of any one job to above that of all.

    `step` is the distance between their logarithms.
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


MOST_NODES = 300_000
"""Nodes beyond which none is split."""
MOST_GAINS = 400_000_000
"""The same limit for nodes times rents, times 16."""
CHUNK = 2_000_000
"""Rents times edges between two looks at the clock."""
FEW_PATHS = 100
"""Paths at which no more passes are made."""
FINE = ((30_000, 0.1), (5_000, 0.05), (0, 0.025))
"""Steps between rents, in logarithms, by how many edges are left at least."""
BEYOND = 0.7
"""How far above its rent, in logarithms, the gains of a node's paths are compared."""
HARDLY, MOST_VAIN = 0.8, 3
"""A pass that leaves more than this share of the paths is in vain; passes end after so many of
these."""
FINER, FEW_NODES = 1.5, 100_000
"""A pass is not in vain if it has this many times the nodes of all before, and fewer than these."""
DIGITS = 1e-7
"""Gains that differ relatively by less count as equal."""


@dataclass
class Layer:
    """The nodes with the same number of placed jobs, and the edges that leave them."""

    base: Floats  # least cost of the placed jobs, (n,)
    prices: Floats  # of the job that an edge places, (n, M)
    child: Ints  # node of the next layer, int32, -1 where the edge is closed, (n, M)


class Split(NamedTuple):
    """How a pass splits nodes: into how many parts, by gains at which rent."""

    parts: int
    beyond: int  # places after the rent at which a node's jobs earn least


@dataclass
class _Frontier:
    """Nodes of a layer while it is made: sets, nodes of the last pass, costs and gains."""

    sets: Ints
    old: Ints
    base: Floats
    gains: Floats


class Diagram:
    """All completion orders that may cost less than a goal, and a few more.

    `after` holds for each job the set of jobs that need not complete before it, as bits: they are
    placed first. `bound` is a lower bound on the cost of every order, or exceeds the goal; `paths`
    counts the orders that are left. `stalled` tells that the last passes closed hardly a path. Of
    teams only that a job has no more than its team is seen.
    """

    def __init__(self, c: Curves, sizes: Floats, costs: Floats, after: Ints) -> None:
        teams = np.append(c.team_mosts, c.servers)[c.teams]
        self.c = c._replace(mosts=np.maximum(np.minimum(c.mosts, teams), c.leasts))
        self.sizes, self.costs, self.after = sizes, costs, after
        self.layers: list[Layer] = []
        self.passes = 0
        self.bound, self.paths = 0.0, inf
        self.edges, self.nodes = 1 << 62, 0
        self.stalled, self._vain, self._widest = False, 0, 0

    def advance(self, goal: float) -> Iterator[None]:
        """Make one more pass, closing orders that cost as much as the goal; yields now and then.

        The goal must not rise from pass to pass.
        """
        step = next(step for least, step in FINE if self.edges >= least)
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
        finer = FINER * self._widest < self.nodes < FEW_NODES
        self._widest = max(self._widest, self.nodes)
        self._vain = self._vain + 1 if self.paths > HARDLY * before and not finer else 0
        self.stalled = self._vain >= MOST_VAIN

    def _grid(self, step: float) -> kernels.Grid:
        """Return the rents of the next pass, and what plain jobs gain at them."""
        rents, jobs = rents_of(self.c, self.costs, step), len(self.sizes)
        grid = kernels.Grid(rents, np.zeros((jobs, len(rents))), np.zeros(jobs, dtype=np.bool_))
        kernels.fill_unit_gains(self.c, grid)
        return grid

    def _fill_layer(
        self, depth: int, front: _Frontier, layer: Layer, grid: kernels.Grid, split: Split
    ) -> Iterator[_Frontier | None]:
        """Fill the edges of a layer, and yield the nodes at their ends; None now and then."""
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
            kernels.price_edges(self.c, self.costs, grid, *at, span, layer.prices)
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
            kernels.merge_gains(self.c, grid, edges, prices, front.gains, span, gains)
            yield None
        yield _Frontier(
            sets=front.sets[edges[starts, 0]] | (1 << edges[starts, 1]),
            old=old if self.layers else np.arange(len(old)),
            base=np.minimum.reduceat(costs, starts) if len(starts) else np.zeros(0),
            gains=gains,
        )

    def _split_nodes(
        self, edges: Ints, prices: Floats, front: _Frontier, grid: kernels.Grid, split: Split
    ) -> Ints:
        """Return which part of which node each edge leads to, by its paths' gains at one rent."""
        order = np.argsort(edges[:, 2], kind="stable")
        starts = np.searchsorted(edges[order, 2], np.arange(edges[:, 2].max(initial=-1) + 1))
        tight = np.argmin(grid.rents * self.c.servers + front.gains, axis=1)
        highest = np.maximum.reduceat(tight[edges[order, 0]], starts)[edges[:, 2]]
        at = np.minimum(highest + split.beyond, len(grid.rents) - 1)
        values = np.empty(len(edges))
        kernels.gains_behind(self.c, grid, edges, prices, front.gains, at, values)
        low = np.minimum.reduceat(values[order], starts)[edges[:, 2]]
        high = np.maximum.reduceat(values[order], starts)[edges[:, 2]]
        width = high - low
        width = np.where(width > DIGITS * np.abs(high), width, inf)
        part = np.minimum((values - low) / width * split.parts + DIGITS, split.parts - 1)
        return np.asarray(edges[:, 2] * split.parts + part.astype(np.int64))

    def _remove_costly(self, goal: float, ends: int) -> None:
        """Remove what cannot cost less than the goal, from the end backwards."""
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
        """Return the orders that are left as paths, the nodes of all layers in one row."""
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
