"""The best choice by several objectives, one after another, under a few rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.alike import alike
from schedopt.solvers.columns.linear import Floats
from schedopt.solvers.columns.search import NEAR, Best, Lean, narrowed
from schedopt.solvers.columns.whole import Bound, Columns, Integers

MANY = 30_000
"""Most columns among which equal ones are looked for; beyond, the caller has done so."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """The best by several objectives in order."""

    x: Integers  # how often each column is taken; shape (columns,)
    # values, bounds: of each objective: what it comes to, and what is the most with the earlier
    # ones as they are.
    values: list[int]
    bounds: list[int]
    proven: bool  # whether all bounds are met
    prices: list[Floats]  # of the rows, for each objective; then of the earlier objectives


def best_in_order(
    objectives: Sequence[Integers] | Integers,
    uses: Sequence[Integers] | Integers,
    room: Integers,
    counts: Integers,
    *,
    stop: Callable[[], bool] = lambda: False,
    start: Sequence[Floats] = (),
) -> Chosen:
    """Choose the best by the first objective, of these the best by the second, and so on.

    Parameters
    ----------
    objectives, uses : ndarray of int64, shape (objectives or resources, columns), or their rows
        Uses are at least 0.
    room : ndarray of int64, shape (resources,)
    counts : ndarray of int64, shape (columns,)
        How many there are of each column.
    stop : callable
        Says whether to give up: then the best is returned that was found.
    start : sequence of ndarray, optional
        Prices that are near those looked for, such as those of a problem much like it.
    """
    count = len(counts)
    kinds = alike([*objectives, *uses]) if 1 < count <= MANY else None
    if kinds is None:
        return _best(objectives, _Open.of(objectives, uses, room, counts), stop, start)
    first, kind = kinds
    goals = np.array([row[first] for row in objectives])
    asked = np.array([row[first] for row in uses], dtype=np.int64).reshape(len(uses), len(first))
    every = np.bincount(kind, weights=counts, minlength=len(first)).astype(np.int64)
    found = _best(goals, _Open.of(goals, asked, room, every), stop, start)
    order = np.argsort(kind, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    before -= before[np.searchsorted(kind[order], kind[order])]
    x = np.zeros(count, dtype=np.int64)
    x[order] = np.clip(found.x[kind[order]] - before, 0, counts[order])
    return replace(found, x=x)


def _best(
    objectives: Sequence[Integers] | Integers,
    open_: _Open,
    stop: Callable[[], bool],
    start: Sequence[Floats],
) -> Chosen:
    """Choose the best, of columns that differ."""
    values: list[int] = []
    bounds: list[int] = []
    prices: list[Floats] = []
    lean: Lean | None = None
    for k in range(len(objectives)):
        look = True
        if len(open_.at) > 2 * NEAR:
            columns = Columns(open_.goals[k], open_.rows, open_.free, open_.most)
            near = start[k] if k < len(start) else None
            bound, x, look = narrowed(
                columns, open_.goals[k + 1 :], open_.x, start=near, lean=lean, stop=stop
            )
            open_.x = x
            open_.settle(bound, bound.spare(columns.worth(x)))
        step = int(np.gcd.reduce(open_.goals[k])) or 1
        columns, common = open_.columns(k, step)
        search = Best(columns, open_.goals[k + 1 :], open_.x, stop)
        root = search.run(lean, look=look)
        open_.x = search.x
        before = int(objectives[k] @ open_.base)
        values.append(before + step * search.value)
        bounds.append(before + step * search.bound)
        prices.append(root.prices / root.scale / common * step)
        if k == len(objectives) - 1:
            break
        lean = Lean(np.append(prices[-1], 1.0), step * (root.total / root.scale - search.value))
        open_.hold(k, root, step * search.value, root.spare(search.value))
    x = open_.base.copy()
    x[open_.at] += open_.x
    return Chosen(x, values, bounds, values == bounds, prices)


@dataclass
class _Open:
    """The open columns, and what the others leave of the rows.

    ``at``: their positions; ``rows``, ``free``, ``most``, ``goals``: of them: uses and what is
    held, what is left of each row, counts, and the objectives; ``x``: the best that is known;
    ``base``: what all columns are for sure.
    """

    at: NDArray[np.intp]
    rows: Integers
    free: Integers
    most: Integers
    goals: Integers
    x: Integers
    base: Integers

    @classmethod
    def of(
        cls,
        goals: Sequence[Integers] | Integers,
        uses: Sequence[Integers] | Integers,
        room: Integers,
        counts: Integers,
    ) -> _Open:
        """Open every column that fits by itself."""
        able = counts > 0
        for row, amount in zip(uses, room, strict=True):
            able &= row <= amount
        at, rows, most = np.flatnonzero(able), np.asarray(uses, dtype=np.int64), counts
        if len(at) < len(counts):
            rows = np.array([row[at] for row in uses], dtype=np.int64).reshape(len(uses), len(at))
            goals = [row[at] for row in goals]
            most = counts[at]
        if (most > 1).any():
            most = most.copy()
            for row, amount in zip(rows, room, strict=True):
                some = row > 0
                most[some] = np.minimum(most[some], amount // row[some])
        nothing = np.zeros(len(counts), dtype=np.int64)
        return cls(at, rows, room.copy(), most, np.asarray(goals), nothing[at], nothing)

    def columns(self, k: int, step: int) -> tuple[Columns, Integers]:
        """Return the columns with an objective, in units of ``step``, and each row's divisor."""
        common = np.maximum(np.gcd.reduce(self.rows, axis=1), 1)
        goal = self.goals[k] // step
        return Columns(goal, self.rows // common[:, None], self.free // common, self.most), common

    def settle(self, bound: Bound, spare: int) -> None:
        """Close the columns whose change would lose more than the slack of the bound."""
        loose = np.abs(bound.reduced) <= spare
        settled = np.flatnonzero(~loose & (bound.reduced > 0))
        self.free = self.free - self.rows[:, settled] @ self.most[settled]
        self.base[self.at[settled]] += self.most[settled]
        keep = np.flatnonzero(loose)
        self.at, self.most, self.x = self.at[keep], self.most[keep], self.x[keep]
        self.rows, self.goals = self.rows.take(keep, axis=1), self.goals.take(keep, axis=1)

    def hold(self, k: int, bound: Bound, value: int, spare: int) -> None:
        """Hold an objective at its value, and close the columns that this fixes."""
        self.rows = np.vstack([self.rows, -self.goals[k]])
        self.free = np.append(self.free, -value)
        self.settle(bound, spare)
