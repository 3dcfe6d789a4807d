"""A bound over all completion orders, by passes over sets of last jobs.

Orders that place the same jobs last, in whatever order, may meet at a node. Of all these, a node
knows the least cost so far, from below, and what the placed jobs gain at some points, from above: a
point gives a rent to the servers and to each team, and at a rent m a job whose work is paid lambda
gains max_k lambda s(k) - m k. Placed jobs earn at most what servers cost at a point and what they
gain there. So a next job may be paid whatever leaves that within what all cost; a job that is paid
nothing earns nothing, and takes servers away: that is always allowed. Where the way to the end
costs the goal at the least, from a node by one of its jobs, no order that goes there is of any
interest in later passes. These may part orders at a node by what they gain, to any number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.validation.hesrpt.curves import PowerCurve
from schedopt.validation.hesrpt.earning import Servers, gain
from schedopt.validation.hesrpt.intervals import Floats, Interval

Ints = NDArray[np.int64]
CHUNK = 1_000_000  # edges times points that are processed together
SLACKS = (4e-12, 1e-9)
"""Amounts by which prices are lowered before checking; the first safe one is taken."""
STEPS, MOST_PLAIN = 25, 0.95
"""Steps of Newton's method towards a price; the largest p whose powers surely stay in floats."""
DIGITS = 1e-7  # the relative difference from which gains count as different


class Pass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rents; points as indices into them; and how nodes are split.

    Parts are by what all gain, at the point that is ``beyond`` places after the one at which they
    earn least, in a block of points as long as the rents.
    """

    rents: list[float]
    points: list[list[int]] | None = None
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
        most = machine.most.copy()
        self.team = np.zeros(len(most), dtype=np.int64)
        for g, (team, cap) in enumerate(zip(machine.teams, machine.team_most, strict=True)):
            most[team] = np.minimum(most[team], cap)
            self.team[team] = g + 1
        self.machine = machine
        self.least, self.most = machine.least, np.maximum(most, machine.least)
        self.sizes, self.costs, self.after = sizes, costs, np.array(after, dtype=np.int64)
        self.layers: list[_Layer] = []

    def narrow(self, given: Pass, goal: float) -> None:
        """Make a pass, and remove what costs at least the goal."""
        rents = np.array(given.rents, dtype=np.float64)
        if not (len(rents) and np.isfinite(rents).all() and (rents > 0).all()):
            raise ValueError("diagram: rents are over 0")
        points = np.arange(len(rents))[:, None]
        if given.points is not None:
            points = np.array(given.points, dtype=np.int64)
        elif len(self.machine.teams):
            points = np.repeat(points, len(self.machine.teams) + 1, axis=1)
        if points.shape[1:] != (len(self.machine.teams) + 1,) or not len(points):
            raise ValueError("diagram: a rent for the servers, and one for each team")
        if points.min() < 0 or points.max() >= len(rents) or not 1 <= given.parts <= 64:
            raise ValueError("diagram: not a place among the rents, or not a number of parts")
        view = _View(self, rents, points)
        one = np.zeros(1, dtype=np.int64)
        nodes = _Nodes(one, one, np.zeros(1), np.zeros((1, len(points))))
        layers = []
        for depth in range(len(self.team)):
            layer, nodes = self._grown(depth, nodes, view, given)
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

    def _grown(self, depth: int, nodes: _Nodes, view: _View, given: Pass) -> tuple[_Layer, _Nodes]:
        """Return the edges that leave nodes, and the nodes where they end."""
        jobs = np.arange(len(self.team))
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
        values = np.zeros(len(begin))
        if given.parts > 1:
            values = self._compared(nodes, view, given, (begin, job, end))
        for some, own in view.priced(nodes, begin, job):
            prices[begin[some], job[some]] = own
        price = prices[begin, job]
        if given.parts > 1:
            values = view.at(nodes.gains, begin, job, price, values.astype(np.int64))
            end, old = _parted(values, end, old, given.parts)
        child[begin, job] = end
        order = np.argsort(end, kind="stable")
        starts = np.searchsorted(end[order], np.arange(len(old)))
        part = np.nextafter(price * self.sizes.low[job], -np.inf)
        cost = np.nextafter(nodes.base[begin] + part, -np.inf)[order]
        gains = np.full((len(old), nodes.gains.shape[1]), -np.inf)
        for some, behind in view.gained(nodes.gains, begin, job, price):
            rank = np.argsort(end[some], kind="stable")
            ends, at = np.unique(end[some][rank], return_index=True)
            gains[ends] = np.maximum(gains[ends], np.maximum.reduceat(behind[rank], at))
        first = order[starts]
        sets = nodes.sets[begin[first]] | (1 << job[first])
        old = old if self.layers else np.arange(len(old))
        return layer, _Nodes(sets, old, np.minimum.reduceat(cost, starts), gains)

    def _compared(
        self, nodes: _Nodes, view: _View, given: Pass, edges: tuple[Ints, Ints, Ints]
    ) -> Floats:
        """Return the points at which edges with one end are compared, shape (e,)."""
        begin, _, end = edges
        count = len(view.rents)
        tight = np.argmin(view.rents * self.machine.servers + nodes.gains[:, :count], axis=1)
        highest = np.zeros(int(end.max()) + 1, dtype=np.int64)
        np.maximum.at(highest, end, tight[begin])
        at = np.minimum(highest[end] + given.beyond, count - 1) + given.block * count
        points: Floats = np.minimum(at, len(view.points) - 1).astype(np.float64)
        return points

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


class _View:
    """The costs of jobs and servers at the points of a pass."""

    def __init__(self, diagram: Diagram, rents: Floats, points: Ints) -> None:
        self.diagram, self.rents, self.points = diagram, rents, points
        self.units: dict[int, Floats] = {}
        machine = diagram.machine
        for j, curve in enumerate(machine.curves):
            free = diagram.least[j] <= 0 and diagram.most[j] >= machine.servers
            if isinstance(curve, PowerCurve) and float(curve.p) <= MOST_PLAIN and free:
                one, p = Interval.exactly(1.0), Interval.decimals(curve.p)
                ratio = p / Interval.exactly(rents)
                self.units[j] = ((one - p) * ratio.power(p / (one - p))).high

    def own(self, j: int, price: Floats) -> Floats:
        """Return the most a job gains at each rent, shape (e, R)."""
        diagram, curve = self.diagram, self.diagram.machine.curves[j]
        if j in self.units and isinstance(curve, PowerCurve):
            power = Interval.exactly(1.0) / (Interval.exactly(1.0) - Interval.decimals(curve.p))
            scale = Interval.exactly(np.maximum(price, 1e-300)).power(power).high
            gains: Floats = np.nextafter(scale[:, None] * self.units[j], np.inf)
            return gains
        ends = float(diagram.least[j]), float(diagram.most[j])
        paid, rent = np.broadcast_arrays(np.maximum(price, 1e-300)[:, None], self.rents)
        k = np.clip(curve.wish(rent / paid), *ends)
        k = k.ravel()
        most = gain(curve.above(k), paid.ravel(), rent.ravel(), k, ends)
        return np.asarray(most.reshape(paid.shape))

    def _chunks(self, job: Ints) -> Iterator[tuple[int, Ints]]:
        size = max(1, CHUNK // len(self.points))
        for j in np.unique(job).tolist():
            mine = np.flatnonzero(job == j)
            for first in range(0, len(mine), size):
                yield j, mine[first : first + size]

    def gained(
        self, gains: Floats, begin: Ints, job: Ints, price: Floats
    ) -> Iterator[tuple[Ints, Floats]]:
        """Yield edges, and the gains of all placed jobs behind them, shape (some, Q)."""
        for j, some in self._chunks(job):
            own = self.own(j, price[some])[:, self.points[:, self.diagram.team[j]]]
            yield some, np.nextafter(gains[begin[some]] + own, np.inf)

    def at(self, gains: Floats, begin: Ints, job: Ints, price: Floats, points: Ints) -> Floats:
        """Return the gains of all placed jobs behind each edge, at its own point, shape (e,)."""
        behind = np.zeros(len(begin))
        for j, some in self._chunks(job):
            rent = self.points[points[some], self.diagram.team[j]]
            own = self.own(j, price[some])
            behind[some] = gains[begin[some], points[some]] + own[np.arange(len(some)), rent]
        return behind

    def _fixed(self, sets: Ints, j: int) -> Floats:
        """Return the most that servers cost with a set of jobs, and one more, present, (n, Q)."""
        machine, rents = self.diagram.machine, self.rents
        main = Interval.exactly(rents[self.points[:, 0]])
        total = (main * Interval.exactly(machine.servers)).high[None, :]
        jobs = np.arange(len(self.diagram.team))
        there = ((sets[:, None] >> jobs) & 1 == 1) | (jobs == j)
        for g, team in enumerate(machine.teams):
            mine = there & team
            sums = mine @ self.diagram.most
            top = np.minimum(sums * (1.0 + 1e-12), machine.team_most[g])
            low = np.minimum(machine.team_least[g], sums * (1.0 - 1e-12))
            above = Interval.exactly(rents[self.points[:, g + 1]]) - main
            held = np.where(above.high > 0, top[:, None], np.minimum(low, top)[:, None])
            part = np.nextafter(above.high * held, np.inf)
            total = np.nextafter(total + part, np.inf)
        return np.asarray(np.broadcast_to(total, (len(sets), len(self.points))))

    def priced(self, nodes: _Nodes, begin: Ints, job: Ints) -> Iterator[tuple[Ints, Floats]]:
        """Yield edges, with safe prices for the jobs that they place."""
        diagram = self.diagram
        jobs = np.arange(len(diagram.team))
        for j, some in self._chunks(job):
            sets = nodes.sets[begin[some]]
            there = ((sets[:, None] >> jobs) & 1 == 1) | (jobs == j)
            costs = Interval(
                np.where(there, diagram.costs.low, 0.0), np.where(there, diagram.costs.high, 0.0)
            )
            taken = np.nextafter(nodes.gains[begin[some]] + self._fixed(sets, j), np.inf)
            left = np.nextafter(costs.total().low[:, None] - taken, -np.inf)
            budgets = np.full((len(some), len(self.rents)), -np.inf)
            place = self.points[:, diagram.team[j]]
            rank = np.argsort(place, kind="stable")
            rents, at = np.unique(place[rank], return_index=True)
            budgets[:, rents] = np.maximum.reduceat(left[:, rank], at, axis=1)
            guess = self._guess(j, budgets)
            prices = np.zeros(len(some))
            for slack in SLACKS:
                tried = guess * (1.0 - slack)
                sure = (self.own(j, tried) <= budgets).any(axis=1)
                prices = np.where((prices == 0) & sure, tried, prices)
            yield some, prices

    def _guess(self, j: int, budgets: Floats) -> Floats:
        """Return about the best price at which a job gains a budget at some rent, shape (e,)."""
        diagram, curve = self.diagram, self.diagram.machine.curves[j]
        if j in self.units and isinstance(curve, PowerCurve):
            best = (np.maximum(budgets, 0.0) / self.units[j]).max(axis=1)
            return np.asarray(best ** (1.0 - float(curve.p)))
        ends = float(diagram.least[j]), float(diagram.most[j])
        top, low = ends[1], max(ends[0], 1e-300)
        with np.errstate(all="ignore"):
            price = (budgets + self.rents * top) / curve.about(np.array(top))
            price = np.minimum(price, (budgets + self.rents * low) / curve.about(np.array(low)))
            price = np.where(price > 0, price, 0.0)
            for _ in range(STEPS):  # what a job gains is convex in its price
                k = np.clip(curve.wish(self.rents / np.maximum(price, 1e-300)), *ends)
                s = curve.about(k)
                step = (price * s - self.rents * k - budgets) / s
                price = np.where((step > 0) & (step < price), price - step, price)
        return np.asarray(np.where(np.isfinite(budgets), price, 0.0).max(axis=1))


def _parted(values: Floats, end: Ints, old: Ints, parts: int) -> tuple[Ints, Ints]:
    """Return ends after splitting nodes by values, and what the new nodes were."""
    order = np.argsort(end, kind="stable")
    starts = np.searchsorted(end[order], np.arange(len(old)))
    low = np.minimum.reduceat(values[order], starts)[end]
    high = np.maximum.reduceat(values[order], starts)[end]
    width = np.where(high - low > DIGITS * np.abs(high), high - low, np.inf)
    part = np.minimum((values - low) / width * parts + DIGITS, parts - 1)
    keys, ends = np.unique(end * parts + part.astype(np.int64), return_inverse=True)
    return ends.ravel(), old[keys // parts]
