"""A bound over all completion orders, by passes over sets of last jobs.

Orders that place the same jobs last, in whatever order, may meet at a node. Of all these, a node
knows the least cost so far, from below, and what the placed jobs gain at some rents of a server,
from above: at a rent m a job whose work is paid lambda gains max_k lambda s(k) - m k. Placed jobs
earn at most what servers cost at a rent and what they gain there. So a next job may be paid
whatever leaves that within what all cost; a job that is paid nothing earns nothing, and takes
servers away: that is always allowed. Where the way to the end costs the goal at the least, from a
node by one of its jobs, no order that goes there is of any interest in later passes. These may part
orders at a node by what they gain, to any number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.validation.hesrpt.earning import Servers
from schedopt.validation.hesrpt.intervals import Floats, Interval
from schedopt.validation.hesrpt.speedup_bounds import PowerCurve

Ints = NDArray[np.int64]
CHUNK = 1_000_000  # edges times rents that are processed together
SLACKS = (4e-12, 1e-9)
"""Amounts by which prices are lowered before checking; the first safe one is taken."""
STEPS, MOST_PLAIN = 25, 0.95
"""Steps of Newton's method towards a price; the largest p whose powers surely stay in floats."""
DIGITS = 1e-7  # the relative difference from which gains count as different


class Pass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rents, and how nodes are split.

    Parts are by what all gain at the rent that is ``beyond`` places after the one at which they
    earn least. ``block`` must be 0: certificates in the archive have this field.
    """

    rents: list[float]
    parts: int = 1
    beyond: int = 0
    block: int = 0


@dataclass
class _Nodes:
    sets: Ints
    old: Ints
    base: Floats
    gains: Floats


@dataclass
class _Layer:
    base: Floats
    prices: Floats
    child: Ints


class Diagram:
    """The remaining orders.

    ``sizes`` and ``costs`` are by job, shape (M,); ``after`` is for each job the set of those that
    need not complete before it, as a binary number.
    """

    def __init__(
        self, machine: Servers, sizes: Interval, costs: Interval, after: Sequence[int]
    ) -> None:
        self.machine = machine
        self.sizes, self.costs, self.after = sizes, costs, np.array(after, dtype=np.int64)
        self.layers: list[_Layer] = []

    def narrow(self, given: Pass, goal: float) -> None:
        """Make a pass, and remove what costs at least the goal."""
        rents = np.array(given.rents, dtype=np.float64)
        if not (len(rents) and np.isfinite(rents).all() and (rents > 0).all()):
            raise ValueError("diagram: rents are over 0")
        if not 1 <= given.parts <= 64 or given.block != 0:
            raise ValueError("diagram: not a number of parts, or a block")
        view = _PassGains(self, rents)
        one = np.zeros(1, dtype=np.int64)
        nodes = _Nodes(one, one, np.zeros(1), np.zeros((1, len(rents))))
        layers = []
        for depth in range(len(self.after)):
            layer, nodes = self._extended_layer(depth, nodes, view, given)
            layers.append(layer)
        self.layers = layers
        least = np.zeros(len(nodes.base))
        for layer in reversed(layers):
            part = np.nextafter(layer.prices * self.sizes.low, -np.inf)
            rest = np.nextafter(part + least[layer.child], -np.inf)
            rest = np.where(layer.child >= 0, rest, np.inf)
            whole = np.nextafter(layer.base[:, None] + rest, -np.inf)
            layer.child[whole >= goal] = -1
            least = rest.min(axis=1, initial=np.inf)

    def _extended_layer(
        self, depth: int, nodes: _Nodes, view: _PassGains, given: Pass
    ) -> tuple[_Layer, _Nodes]:
        """Return the edges that leave nodes, and the nodes where they end."""
        jobs = np.arange(len(self.after))
        if self.layers:
            goes = self.layers[depth].child[nodes.old]
            free = goes >= 0
        else:
            goes = nodes.sets[:, None] | (1 << jobs)
            inside = (nodes.sets[:, None] >> jobs) & 1 == 1
            free = ~inside & ((nodes.sets[:, None] & self.after) == self.after)
        prices, child = np.zeros(free.shape), np.full(free.shape, -1)
        layer = _Layer(nodes.base, prices, child)
        begin, job = np.nonzero(free)
        if not len(begin):
            none = np.zeros(0, dtype=np.int64)
            return layer, _Nodes(none, none, np.zeros(0), nodes.gains[:0])
        old, end = np.unique(goes[begin, job], return_inverse=True)
        end = end.ravel()
        for some, own in view.priced_edges(nodes, begin, job):
            prices[begin[some], job[some]] = own
        price = prices[begin, job]
        if given.parts > 1:
            tight = np.argmin(view.rents * self.machine.servers + nodes.gains, axis=1)
            highest = np.zeros(len(old), dtype=np.int64)
            np.maximum.at(highest, end, tight[begin])
            at = np.clip(highest[end] + given.beyond, 0, len(view.rents) - 1)
            values = np.zeros(len(begin))
            for some, behind in view.extended_gains(nodes.gains, begin, job, price):
                values[some] = behind[np.arange(len(some)), at[some]]
            end, old = _split_nodes(values, end, old, given.parts)
        child[begin, job] = end
        order = np.argsort(end, kind="stable")
        starts = np.searchsorted(end[order], np.arange(len(old)))
        part = np.nextafter(price * self.sizes.low[job], -np.inf)
        cost = np.nextafter(nodes.base[begin] + part, -np.inf)[order]
        gains = np.full((len(old), nodes.gains.shape[1]), -np.inf)
        for some, behind in view.extended_gains(nodes.gains, begin, job, price):
            rank = np.argsort(end[some], kind="stable")
            ends, at = np.unique(end[some][rank], return_index=True)
            gains[ends] = np.maximum(gains[ends], np.maximum.reduceat(behind[rank], at))
        first = order[starts]
        sets = nodes.sets[begin[first]] | (1 << job[first])
        old = old if self.layers else np.arange(len(old))
        return layer, _Nodes(sets, old, np.minimum.reduceat(cost, starts), gains)

    def orders(self, most: int) -> Iterator[tuple[int, ...]]:
        """Yield the remaining orders, last job first; raise where there are too many."""
        count = 0
        open_: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        while open_:
            node, begun = open_.pop()
            if len(begun) == len(self.layers):
                count += 1
                if count > most:
                    raise ValueError(f"diagram: over {most} orders are left")
                yield begun
                continue
            child = self.layers[len(begun)].child[node]
            open_ += [(int(child[j]), (*begun, int(j))) for j in np.flatnonzero(child >= 0)]


class _PassGains:
    """What jobs gain at the rents of a pass."""

    def __init__(self, diagram: Diagram, rents: Floats) -> None:
        self.diagram, self.rents = diagram, rents
        self.units: dict[int, tuple[float, Floats]] = {}
        machine = diagram.machine
        for j, curve in enumerate(machine.curves):
            free = machine.least[j] <= 0 and machine.most[j] >= machine.servers
            if isinstance(curve, PowerCurve) and curve.p <= MOST_PLAIN and free:
                one, p = Interval.exactly(1.0), Interval.decimals(curve.p)
                ratio = p / Interval.exactly(rents)
                self.units[j] = curve.p, ((one - p) * ratio.power(p / (one - p))).high

    def most_gain(self, j: int, price: Floats) -> Floats:
        """Return the most a job gains at each rent, shape (e, R)."""
        machine = self.diagram.machine
        if j in self.units:
            power, units = self.units[j]
            one, p = Interval.exactly(1.0), Interval.decimals(power)
            scale = Interval.exactly(np.maximum(price, 1e-300)).power(one / (one - p)).high
            return np.asarray(np.nextafter(scale[:, None] * units, np.inf))
        paid, rent = np.broadcast_arrays(np.maximum(price, 1e-300)[:, None], self.rents)
        return machine.gain_bounds(j, paid.ravel(), rent.ravel()).reshape(paid.shape)

    def _chunks(self, job: Ints) -> Iterator[tuple[int, Ints]]:
        size = max(1, CHUNK // len(self.rents))
        for j in np.unique(job).tolist():
            mine = np.flatnonzero(job == j)
            for first in range(0, len(mine), size):
                yield j, mine[first : first + size]

    def extended_gains(
        self, gains: Floats, begin: Ints, job: Ints, price: Floats
    ) -> Iterator[tuple[Ints, Floats]]:
        """Yield edges, and the gains of all placed jobs behind them, shape (some, R)."""
        for j, some in self._chunks(job):
            yield some, np.nextafter(gains[begin[some]] + self.most_gain(j, price[some]), np.inf)

    def priced_edges(self, nodes: _Nodes, begin: Ints, job: Ints) -> Iterator[tuple[Ints, Floats]]:
        """Yield edges, with safe prices for the jobs that they place."""
        diagram = self.diagram
        jobs, servers = np.arange(len(diagram.after)), Interval.exactly(diagram.machine.servers)
        fixed = (Interval.exactly(self.rents) * servers).high
        for j, some in self._chunks(job):
            sets = nodes.sets[begin[some]]
            there = ((sets[:, None] >> jobs) & 1 == 1) | (jobs == j)
            costs = Interval(
                np.where(there, diagram.costs.low, 0.0), np.where(there, diagram.costs.high, 0.0)
            )
            spent = np.nextafter(nodes.gains[begin[some]] + fixed, np.inf)
            budgets = np.nextafter(costs.total().low[:, None] - spent, -np.inf)
            guess = self._estimated_price(j, budgets)
            prices = np.zeros(len(some))
            for slack in SLACKS:
                tried = guess * (1.0 - slack)
                sure = (self.most_gain(j, tried) <= budgets).any(axis=1)
                prices = np.where((prices == 0) & sure, tried, prices)
            yield some, prices

    def _estimated_price(self, j: int, budgets: Floats) -> Floats:
        """Return about the best price at which a job gains a budget at some rent, shape (e,)."""
        machine, curve = self.diagram.machine, self.diagram.machine.curves[j]
        if j in self.units:
            power, units = self.units[j]
            return np.asarray((np.maximum(budgets, 0.0) / units).max(axis=1) ** (1.0 - power))
        ends = float(machine.least[j]), float(machine.most[j])
        top, low = ends[1], max(ends[0], 1e-300)
        with np.errstate(all="ignore"):
            price = (budgets + self.rents * top) / curve.estimate(np.array(top))
            price = np.minimum(price, (budgets + self.rents * low) / curve.estimate(np.array(low)))
            price = np.where(price > 0, price, 0.0)
            for _ in range(STEPS):  # what a job gains is convex in its price
                k = np.clip(curve.demand(self.rents / np.maximum(price, 1e-300)), *ends)
                s = curve.estimate(k)
                step = (price * s - self.rents * k - budgets) / s
                price = np.where((step > 0) & (step < price), price - step, price)
        return np.asarray(price.max(axis=1))


def _split_nodes(values: Floats, end: Ints, old: Ints, parts: int) -> tuple[Ints, Ints]:
    """Return ends after splitting nodes by values, and what the new nodes were."""
    order = np.argsort(end, kind="stable")
    starts = np.searchsorted(end[order], np.arange(len(old)))
    low = np.minimum.reduceat(values[order], starts)[end]
    high = np.maximum.reduceat(values[order], starts)[end]
    width = np.where(high - low > DIGITS * np.abs(high), high - low, np.inf)
    part = np.minimum((values - low) / width * parts + DIGITS, parts - 1)
    keys, ends = np.unique(end * parts + part.astype(np.int64), return_inverse=True)
    return ends.ravel(), old[keys // parts]
