"""The best choice by several objectives, one after another, under a few rows; greedy ones first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.arithmetic import exact_sum
from schedopt.solvers.clock import expired
from schedopt.solvers.few_row_ip.branch_and_bound import NEAR, BranchAndBound, narrow_to_core
from schedopt.solvers.few_row_ip.dominance import lexicographic_key, useful_counts
from schedopt.solvers.few_row_ip.lagrangian import Bound, Columns, Floats, Integers

Positions = NDArray[np.intp]

BLOCK = 1 << 10
"""Columns that are looked at together."""
TINY = 1e-12
"""Least part of what there is that a column counts as using."""
SURE = 1 - 1e-9
"""Part of what there is that a rounded sum may reach and surely fits."""


def greedy_choice(objectives: Integers, rows: Integers, room: Integers, most: Integers) -> Integers:
    """Return the better of two greedy choices: by all objectives, and by the first for its use."""
    at = np.flatnonzero(objectives[0] >= 0)
    use = (rows[:, at] / np.maximum(room, 1)[:, None]).sum(axis=0) + TINY
    in_order = use / (2 * use.max(initial=TINY)) - lexicographic_key(objectives[:, at])
    orders = (at[np.argsort(key)] for key in (in_order, -objectives[0, at] / use))
    choices = (_take_in_order(order, rows, room, most) for order in orders)
    return max(choices, key=lambda x: tuple((objectives @ x).tolist()))


def _take_in_order(order: Positions, rows: Integers, room: Integers, most: Integers) -> Integers:
    """Take columns in an order, each as often as it fits."""
    x, remaining = np.zeros(len(most), dtype=np.int64), room.copy()
    start, size = 0, BLOCK
    while start < len(order):
        at, start, size = order[start : start + size], start + size, 2 * size
        while True:
            for r in np.argsort(remaining / np.maximum(room, 1)).tolist():  # the scarcest first
                at = at[rows[r, at] <= remaining[r]]
            if not len(at):
                break
            block = at[:BLOCK]
            used = np.cumsum(rows[:, block] * most[block], axis=1, dtype=float)  # may be large
            count = int((used <= SURE * remaining[:, None]).all(axis=0).sum())
            x[block[:count]] = most[block[:count]]
            remaining = remaining - rows[:, block[:count]] @ most[block[:count]]
            if count < len(block):
                use, last = rows[:, block[count]], int(block[count])
                x[last] = min([int(most[last]), *(remaining[use > 0] // use[use > 0]).tolist()])
                remaining = remaining - use * x[last]
            at = at[count + (count < len(block)) :]
    return x


@dataclass(frozen=True, eq=False)
class LexicographicOptimum:
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
    until: float = inf,
    start: Sequence[Floats] = (),
) -> LexicographicOptimum:
    """Choose the best by the first objective, of these the best by the second, and so on.

    Parameters
    ----------
    objectives, uses : ndarray of int64, shape (objectives or resources, columns), or their rows
        Uses are at least 0.
    room : ndarray of int64, shape (resources,)
    counts : ndarray of int64, shape (columns,)
        How many there are of each column.
    until : float, optional
        When to give up, by the clock of `now`: then the best is returned that was found.
    start : sequence of ndarray, optional
        Prices that are near those looked for, such as those of a problem much like it.
    """
    most = counts.copy()
    for row, amount in zip(uses, room.tolist(), strict=True):
        most[row > amount] = 0
        often = np.flatnonzero(row * most > amount)
        most[often] = amount // row[often]
    x = np.zeros(len(counts), dtype=np.int64)
    at = np.flatnonzero(most)
    goals, asked = [row[at] for row in objectives], [row[at] for row in uses]
    most = most[at]
    if len(at) > 2 * NEAR:
        most = useful_counts(goals, asked, room, most)
    keep = np.flatnonzero(most)
    at, most = at[keep], most[keep]
    goals, asked = [row[keep] for row in goals], [row[keep] for row in asked]
    order, kind = _kinds([*goals, *asked])
    first = order[np.flatnonzero(np.diff(kind, prepend=-1))]
    choice = _choose_best(
        _OpenColumns.of(
            [row[first] for row in goals],
            [row[first] for row in asked],
            room,
            np.bincount(kind, weights=most[order]).astype(np.int64),
        ),
        until,
        start,
    )
    before = np.cumsum(most[order]) - most[order]
    before -= before[np.searchsorted(kind, kind)]
    x[at[order]] = np.clip(choice.x[kind] - before, 0, most[order])
    return replace(choice, x=x)


def _kinds(rows: Sequence[Integers]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return columns in an order in which equal ones follow each other, and the kind of each."""
    order = np.lexsort(rows)
    new = np.zeros(len(order), dtype=np.bool_)
    for row in rows:
        new[1:] |= np.diff(row[order]) != 0
    return order, np.cumsum(new)


def _choose_best(
    open_: _OpenColumns, until: float, start: Sequence[Floats]
) -> LexicographicOptimum:
    """Choose the best, of columns that differ."""
    objectives = open_.goals
    open_.x = greedy_choice(objectives, open_.rows, open_.free, open_.most)
    values: list[int] = []
    bounds: list[int] = []
    prices: list[Floats] = []
    for k in range(len(objectives)):
        if k and expired(until):
            values.append(int(objectives[k] @ open_.base + open_.goals[k] @ open_.x))
            rest = exact_sum(np.maximum(open_.goals[k], 0) * open_.most)
            bounds.append(int(objectives[k] @ open_.base) + rest)
            continue
        look, relaxed = True, None
        if len(open_.at) > 2 * NEAR:
            columns = Columns(open_.goals[k], open_.rows, open_.free, open_.most)
            near = start[k] if k < len(start) else None
            bound, x, look = narrow_to_core(columns, open_.x, start=near, until=until)
            open_.x, relaxed = x, bound.prices / bound.scale
            open_.close_columns(bound, bound.slack_above(columns.worth(x)))
        step = int(np.gcd.reduce(open_.goals[k])) or 1
        columns, common = open_.columns(k, step)
        search = BranchAndBound(columns, open_.x, until)
        if relaxed is not None:
            relaxed = relaxed * common / step
        root = search.run(start=relaxed, look=look)
        open_.x = search.x
        before = int(objectives[k] @ open_.base)
        values.append(before + step * search.value)
        bounds.append(before + step * search.bound)
        prices.append(root.prices / root.scale / common * step)
        if k == len(objectives) - 1:
            break
        open_.hold_objective(k, root, step * search.value, root.slack_above(search.value))
    x = open_.base.copy()
    x[open_.at] += open_.x
    return LexicographicOptimum(x, values, bounds, values == bounds, prices)


@dataclass
class _OpenColumns:
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
        goals: Sequence[Integers],
        uses: Sequence[Integers],
        room: Integers,
        most: Integers,
    ) -> _OpenColumns:
        """Open every column."""
        count = len(most)
        rows = np.array(uses, dtype=np.int64).reshape(len(uses), count)
        nothing = np.zeros(count, dtype=np.int64)
        return cls(
            np.arange(count), rows, room.copy(), most, np.array(goals), nothing, nothing.copy()
        )

    def columns(self, k: int, step: int) -> tuple[Columns, Integers]:
        """Return the columns with an objective, in units of ``step``, and each row's divisor."""
        common = np.maximum(np.gcd.reduce(self.rows, axis=1), 1)
        goal = self.goals[k] // step
        return Columns(goal, self.rows // common[:, None], self.free // common, self.most), common

    def close_columns(self, bound: Bound, spare: int) -> None:
        """Close the columns whose change would lose more than the slack of the bound."""
        loose = np.abs(bound.reduced) <= spare
        settled = np.flatnonzero(~loose & (bound.reduced > 0))
        self.free = self.free - self.rows[:, settled] @ self.most[settled]
        self.base[self.at[settled]] += self.most[settled]
        keep = np.flatnonzero(loose)
        self.at, self.most, self.x = self.at[keep], self.most[keep], self.x[keep]
        self.rows, self.goals = self.rows.take(keep, axis=1), self.goals.take(keep, axis=1)

    def hold_objective(self, k: int, bound: Bound, value: int, spare: int) -> None:
        """Hold an objective at its value, and close the columns that this fixes."""
        self.rows = np.vstack([self.rows, -self.goals[k]])
        self.free = np.append(self.free, -value)
        self.close_columns(bound, spare)
