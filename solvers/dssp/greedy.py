"""A greedy selection or season, for time limits that leave no time for a search.

Columns are selected by reward over demand, night after night, as long as every row has room.
Columns that meet a minimum come first, and predecessors come before their jobs. Then columns are
dropped until the rows with negative coefficients are satisfied. An infeasible selection is not
returned. The bound is the LP bound of a knapsack with the capacity of all nights.
"""

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp import Season, Selection
from schedopt.instances.decimals import Whole, as_written
from schedopt.instances.dssp import Instance
from schedopt.instances.rows import Row

SLIP = 1e-9
"""Relative error of sums of doubles."""

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]


def greedy_solution(model: Selection | Season) -> tuple[Any | None, float | None]:
    """Return a greedy solution or None, and an upper bound, for an unchanged model."""
    taken = _GreedyFilling(model)
    columns = taken.columns()
    return None if columns is None else model.selected(columns), _bound(model)


def _bound(model: Selection | Season) -> float:
    """Return the LP bound of the knapsack of the jobs that can be selected."""
    able = np.zeros(len(model.instance.jobs), dtype=np.bool_)
    able[_jobs(model)[model.open]] = True
    return knapsack_bound(model.instance, able, model.fill)


def knapsack_bound(night: Instance, able: Mask, fill: float = 1.0) -> float:
    """Return the LP bound of the knapsack of some jobs."""
    jobs = np.flatnonzero(able)
    rewards = night.rewards[jobs]
    demands = night.planned.demands.floats[jobs]
    pays = rewards > 0
    order = np.argsort(-rewards[pays] / np.maximum(demands[pays], 1e-300), kind="stable")
    worth, used = np.cumsum(rewards[pays][order]), np.cumsum(demands[pays][order])
    room = float(_capacity(night, fill)) * (1 + SLIP)
    whole = not used.size or used[-1] <= room
    last = used.size - 1 if whole else int(np.searchsorted(used, room, "right"))
    return float(worth[last]) * (1 + SLIP) if used.size else 0.0


def _capacity(night: Instance, fill: float) -> Fraction | float:
    """Return the capacity until the last deadline."""
    if not night.windowed:
        return night.exact_capacity(fill) * night.nights
    if night.nights > 1:
        return inf
    return as_written(fill) * night.machine.total.until(as_written(night.horizon))


def _jobs(model: Selection | Season) -> Places:
    """Return the job of each column."""
    return model.columns.jobs


class _FloatRow(NamedTuple):
    """A row in floating point; ``slip`` is the relative rounding error of its sums."""

    columns: Places
    parts: Floats
    low: float
    high: float
    slip: float

    @classmethod
    def of(cls, row: Row) -> Self:
        c = row.coefficients
        parts = c.floats if isinstance(c, Whole) else np.array([float(part) for part in c])
        slip = 0.0 if (parts % 1 == 0).all() else SLIP
        columns = np.asarray(row.columns, dtype=np.intp)
        return cls(columns, parts, float(row.lower), float(row.upper), slip)

    @property
    def has_negative(self) -> bool:
        """Whether a coefficient is negative, so that dropping a column can violate the row."""
        return bool((self.parts < 0).any())

    def excess(self, chosen: Mask) -> float:
        """Return the violation: positive above the upper bound, negative below the lower one."""
        used = self.parts[chosen[self.columns]]
        total, near = float(used.sum()), self.slip * float(np.abs(used).sum())
        return max(0.0, total + near - self.high) or min(0.0, total - near - self.low)


class _GreedyFilling:
    """Selects columns greedily, one night after the other."""

    def __init__(self, model: Selection | Season) -> None:
        self.model, self.jobs = model, _jobs(model)
        night = model.instance
        self.nights = model.columns.nights
        rewards = night.rewards[self.jobs]
        demands = night.planned.demands.floats[self.jobs]
        self.open = model.open & (rewards > 0)
        order = np.argsort(-rewards / np.maximum(demands, 1e-300), kind="stable")
        self.rank = np.empty(model.width, dtype=np.intp)
        self.rank[order] = np.arange(model.width)
        several = model.capacity if isinstance(model, Season) else model.own_rows
        self.rows = [_FloatRow.of(row) for row in [*several, *(row for _, row in model.side_rows)]]
        self.mixed = [row for row in self.rows if row.has_negative]
        self.plain = [row for row in self.rows if not row.has_negative]
        for row in self.plain:
            if row.low > 0:
                self._prioritize_floor(row)
        self._prioritize_predecessors()

    def _prioritize_floor(self, row: _FloatRow) -> None:
        """Rank the columns that meet a minimum before all others."""
        here = np.flatnonzero(self.model.open[row.columns] & (row.parts > 0))
        here = here[np.argsort(self.rank[row.columns[here]], kind="stable")]
        many = int(np.searchsorted(np.cumsum(row.parts[here]), row.low * (1 + row.slip))) + 1
        first = row.columns[here[:many]]
        self.open[first] = True
        self.rank[first] = np.minimum(self.rank[first], self.rank[first] - self.model.width)

    def _prioritize_predecessors(self) -> None:
        """Rank a column that another one requires, by a row of two columns, before that column."""
        needs: dict[int, list[int]] = {}
        for row in self.mixed:
            if len(row.columns) == 2:
                (a, b), (p, q) = row.columns.tolist(), row.parts.tolist()
                for one, other, part in ((a, b, p), (b, a, q)):
                    if not row.low <= part <= row.high:
                        needs.setdefault(one, []).append(other)
        for column in sorted(needs, key=self.rank.__getitem__):
            waiting = [column] if self.open[column] else []
            while waiting:
                one = waiting.pop()
                for other in needs.get(one, ()):
                    if self.rank[other] > self.rank[column] or not self.open[other]:
                        self.rank[other] = min(self.rank[other], self.rank[column])
                        if self.model.open[other]:
                            self.open[other] = True
                            waiting.append(other)

    def columns(self) -> Sequence[int] | None:
        """Return the columns that are 1, or None if a row is violated."""
        chosen = self._fill()
        self._drop(chosen)
        kept = all(not row.excess(chosen) for row in self.rows)
        return np.flatnonzero(chosen).tolist() if kept else None

    def _fill(self) -> Mask:
        """Return columns that satisfy the rows without negative coefficients."""
        parts: dict[int, list[tuple[int, Places, Floats]]] = {}
        rows = [row for row in self.plain if row.high < inf]
        for i, row in enumerate(rows):
            nights = self.nights[row.columns]
            for n in np.flatnonzero(np.bincount(nights)).tolist():
                here = nights == n
                parts.setdefault(n, []).append((i, row.columns[here], row.parts[here]))
        used = [0.0] * len(rows)
        done = np.zeros(len(self.model.instance.jobs), dtype=bool)
        by_night = np.argsort(self.nights, kind="stable")
        ends = np.searchsorted(self.nights[by_night], np.arange(1, self.nights.max(initial=1) + 2))
        wanted = np.zeros(self.model.width, dtype=bool)
        for n, (first, last) in enumerate(pairwise(ends), start=1):
            tonight = by_night[first:last]
            wanted[tonight] = self.open[tonight] & ~done[self.jobs[tonight]]
            for i, columns, amounts in parts.get(n, ()):
                asked = np.flatnonzero(wanted[columns])
                asked = asked[np.argsort(self.rank[columns[asked]], kind="stable")]
                room = rows[i].high * (1 - rows[i].slip) - used[i]
                wanted[columns[asked[np.cumsum(amounts[asked]) > room]]] = False
            for i, columns, amounts in parts.get(n, ()):
                used[i] += float(amounts[wanted[columns]].sum())
            done[self.jobs[tonight[wanted[tonight]]]] = True
        return wanted

    def _drop(self, chosen: Mask) -> None:
        """Drop columns of the worst rank until the rows with negative coefficients hold."""
        sizes = [len(row.columns) for row in self.mixed]
        every = np.concatenate([row.columns for row in self.mixed] or [self.jobs[:0]])
        by_column = np.argsort(every, kind="stable")
        every, of = every[by_column], np.repeat(np.arange(len(sizes)), sizes)[by_column]
        waiting = [(size, i) for i, size in enumerate(sizes)]  # rows of many columns come last
        heapify(waiting)
        queued = set(range(len(sizes)))
        while waiting:
            _, i = heappop(waiting)
            queued.remove(i)
            row = self.mixed[i]
            if not (excess := row.excess(chosen)):
                continue
            here = np.flatnonzero(chosen[row.columns] & (row.parts * excess > 0))
            here = here[np.argsort(-self.rank[row.columns[here]], kind="stable")]
            freed = np.cumsum(np.abs(row.parts[here]))
            dropped = row.columns[here[: int(np.searchsorted(freed, abs(excess))) + 1]]
            chosen[dropped] = False
            for column in dropped.tolist():
                first, last = np.searchsorted(every, (column, column + 1))
                for k in of[first:last].tolist():
                    if k not in queued:
                        queued.add(k)
                        heappush(waiting, (sizes[k], k))
