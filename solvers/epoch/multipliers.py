"""Multipliers on jobs: the largest sum in one epoch bounds the number of epochs.

They are the prices of the covering of all items by epochs, whose linear relaxation is solved by
column generation: HiGHS prices the items, and a knapsack for each leader finds what an epoch can be
worth at most. Prices are made whole numbers before that, and the knapsack is exact; so every round
gives a bound that holds, whatever HiGHS has rounded (Farley, Operations Research 38, 1990).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import highspy
import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now
from schedopt.solvers.compiling import njit
from schedopt.solvers.epoch.items import Items

Longs = NDArray[np.int64]

SCALE = 10**7
"""The integer that stands for a multiplier of 1, that of an epoch."""

NEAR = 1e-6
"""Error allowed to HiGHS, in epochs; it only decides whether to go on."""

MOST_WORK = 2 * 10**9
"""Cells of all knapsacks of a round beyond which there is none."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on the number of epochs, and its proof."""

    epochs: int
    multipliers: list[int]  # for one item of each kind
    most: int  # no epoch is worth more than this


class Multipliers:
    """Column generation, round by round, for a possible instance with k >= 1.

    Bounds beyond ``goal`` epochs are of no use. ``known`` is a partition, as positions of jobs, to
    start from.
    """

    def __init__(self, items: Items, goal: int, known: list[list[int]]) -> None:
        self.goal = goal
        self.best: Bound | None = None
        self._machine = _EpochLimits(items)
        self._columns = _columns(items, known)
        self._master: _Master | None = None

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether the bound can no longer improve."""
        if self._machine.work > MOST_WORK:
            return True
        until = now() + seconds
        if self._master is None:
            self._master = _Master(self._machine.counts, self._columns)
        while True:
            if self._price_once(self._master):
                return True
            if now() >= until:
                return False

    def _price_once(self, master: _Master) -> bool:
        """Price items and epochs once; tell whether further rounds are useless."""
        value, prices = master.solve_relaxation()
        whole = np.rint(np.maximum(prices, 0.0) * SCALE).astype(np.int64)
        most, fillings = self._machine.worth(whole)
        epochs = -(-int(whole @ self._machine.counts) // most) if most else 0
        if self.best is None or epochs > self.best.epochs:
            self.best = Bound(epochs, whole.tolist(), most)
        reachable = ceil(value - NEAR)
        if reachable <= self.best.epochs or reachable < self.goal or self.best.epochs >= self.goal:
            return True
        return not master.add(fillings)


class _Master:
    """The covering by known epochs, as a linear program."""

    def __init__(self, counts: Longs, columns: Longs) -> None:
        kinds = len(counts)
        self._engine = engine = highspy.Highs()
        engine.silent()
        for count in counts.tolist():
            engine.addRow(float(count), highspy.kHighsInf, 0, [], [])
        self._rows = np.arange(kinds, dtype=np.int32)
        self._seen: set[bytes] = set()
        self.add(columns)

    def add(self, columns: Longs) -> bool:
        """Add epochs, each a row of counts; tell whether one was new."""
        fresh = False
        for column in columns:
            key = column.tobytes()
            if key in self._seen:
                continue
            self._seen.add(key)
            fresh = True
            held = np.flatnonzero(column)
            counts = column[held].astype(np.float64)
            self._engine.addCol(1.0, 0.0, highspy.kHighsInf, len(held), self._rows[held], counts)
        return fresh

    def solve_relaxation(self) -> tuple[float, NDArray[np.float64]]:
        """Return the least number of epochs, in fractions, and the price of an item by kind."""
        self._engine.run()
        value = float(self._engine.getInfo().objective_function_value)
        return value, np.array(self._engine.getSolution().row_dual)


class _EpochLimits:
    """What epochs can hold: for each leader, the kinds no larger than it, and their widths."""

    def __init__(self, items: Items) -> None:
        kinds = items.kinds
        self.nodes = items.nodes
        self.counts = np.array([len(kind.items) for kind in kinds], dtype=np.int64)
        tops = sorted({kind.top for kind in kinds}, reverse=True)
        self.firsts = np.array([next(i for i, k in enumerate(kinds) if k.top == v) for v in tops])
        floors = [max(1, v - items.inequity) for v in tops]
        self.widths = np.array(
            [[sum(max(s, floor) for s in kind.sizes) for kind in kinds] for floor in floors]
        )

    @property
    def work(self) -> int:
        """Cells of all knapsacks of a round."""
        return self.widths.size * (self.nodes + 1)

    def worth(self, multipliers: Longs) -> tuple[int, Longs]:
        """Return the largest value of an epoch, and for each leader an epoch of largest value."""
        shape = (len(self.firsts), len(self.counts))
        fillings = np.zeros(shape, dtype=np.int64)
        table = np.zeros((shape[1] + 1, self.nodes + 1), dtype=np.int64)
        most = 0
        for leader, first in enumerate(self.firsts.tolist()):
            kinds = np.stack([self.widths[leader], self.counts, multipliers])
            most = max(most, _knapsack(kinds, first, table, fillings[leader]))
        return most, fillings


def _columns(items: Items, known: list[list[int]]) -> Longs:
    """Return known epochs as rows of counts."""
    kind_of = {j: t for t, kind in enumerate(items.kinds) for item in kind.items for j in item}
    size_of = np.array([len(kind.sizes) for kind in items.kinds])
    columns = np.zeros((len(known), len(items.kinds)), dtype=np.int64)
    for e, epoch in enumerate(known):
        for j in epoch:
            columns[e, kind_of[j]] += 1
    whole: Longs = columns // size_of
    return whole


@njit(cache=True)
def _knapsack(items: Longs, first: int, table: Longs, filling: Longs) -> int:
    """Fill an epoch with the kinds from the first on; return what it is worth at most.

    The rows of ``items`` are what one item takes, how many there are, and what one is worth.
    """
    kinds, nodes = table.shape[0] - 1, table.shape[1] - 1
    widths, counts, worth = items[0], items[1], items[2]
    for room in range(nodes + 1):
        table[kinds, room] = 0
    for t in range(kinds - 1, first - 1, -1):
        width, gain = widths[t], worth[t]
        for room in range(nodes + 1):
            best = table[t + 1, room]
            if gain > 0:
                for q in range(1, min(counts[t], room // width) + 1):
                    best = max(best, table[t + 1, room - q * width] + q * gain)
            table[t, room] = best
    room = nodes
    for t in range(first, kinds):
        q = 0
        while table[t, room] != table[t + 1, room - q * widths[t]] + q * worth[t]:
            q += 1
        filling[t] = q
        room -= q * widths[t]
    value: int = table[first, nodes]
    return value
