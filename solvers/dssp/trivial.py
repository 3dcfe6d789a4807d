"""A quick selection or season, for where no search has time.

Jobs are taken by reward for their demand, those that a floor asks for first, night after night,
each as long as whatever comes before it leaves every row room. The bound is that of a knapsack as
large as all nights, which jobs may be cut for.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp import Season, Selection
from schedopt.formulations.dssp.rows import Row
from schedopt.instances.decimals import Whole

SLIP = 1e-9
"""Relative error of sums of doubles."""

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


def trivial(model: Selection | Season) -> tuple[Any | None, float | None]:
    """Return a solution or None, and a bound, for a model without native changes."""
    taken = _GreedyFilling(model)
    columns = taken.columns()
    return None if columns is None else model.selected(columns), _bound(model)


def _bound(model: Selection | Season) -> float:
    """Return the LP bound of the knapsack: the reward of a greedy filling whose last job is cut."""
    night = model.instance
    able = np.zeros(len(night.jobs), dtype=np.bool_)
    able[_jobs(model)[model.open]] = True
    jobs = np.flatnonzero(able)
    rewards = night.rewards[jobs]
    demands = night.planned.demands.floats[jobs]
    pays = rewards > 0
    order = np.argsort(-rewards[pays] / np.maximum(demands[pays], 1e-300), kind="stable")
    worth, used = np.cumsum(rewards[pays][order]), np.cumsum(demands[pays][order])
    room = float(night.exact_capacity(model.fill)) * night.nights * (1 + SLIP)
    whole = night.windowed or not used.size or used[-1] <= room
    last = used.size - 1 if whole else int(np.searchsorted(used, room, "right"))
    return float(worth[last]) * (1 + SLIP) if used.size else 0.0


def _jobs(model: Selection | Season) -> Places:
    """Return the job of each column."""
    if model.calendar is None:
        return np.arange(model.width)
    return model.calendar.jobs


class _GreedyFilling:
    """Takes columns one night after the other."""

    def __init__(self, model: Selection | Season) -> None:
        self.model, self.jobs = model, _jobs(model)
        night = model.instance
        self.nights = np.ones(model.width, dtype=np.intp)
        if model.calendar is not None:
            self.nights = model.calendar.nights
        rewards = night.rewards[self.jobs]
        demands = night.planned.demands.floats[self.jobs]
        self.open = model.open & (rewards > 0)
        order = np.argsort(-rewards / np.maximum(demands, 1e-300), kind="stable")
        self.rank = np.empty(model.width, dtype=np.intp)
        self.rank[order] = np.arange(model.width)
        self.rows: list[tuple[float, float]] = []
        self.used: list[float] = []
        self.parts: dict[int, list[tuple[int, Places, Floats]]] = {}
        several = model.nightly if isinstance(model, Season) else model.capacity
        stated = [*several, *(row for _, row in model.stated)]
        self.possible = all(self._read_row(row) for row in stated)

    def _read_row(self, row: Row) -> bool:
        """Read a row; tell whether this greedy filling can satisfy it."""
        columns = np.asarray(row.jobs, dtype=np.intp)
        c = row.coefficients
        parts = c.floats if isinstance(c, Whole) else np.array([float(part) for part in c])
        slip = 0.0 if (parts % 1 == 0).all() else SLIP
        low, high = float(row.lower) * (1 + slip), float(row.upper) * (1 - slip)
        if (parts < 0).any():  # who leaves all of them out keeps it
            self.open[columns] = False
            return low <= 0 <= high
        if low > 0:
            self._prioritize_floor(columns, parts, low)
        if isfinite(high) or low > 0:
            self.rows.append((low, high))
            self.used.append(0.0)
            nights = self.nights[columns]
            for n in np.flatnonzero(np.bincount(nights)).tolist():
                here = nights == n
                part = len(self.rows) - 1, columns[here], parts[here]
                self.parts.setdefault(n, []).append(part)
        return True

    def _prioritize_floor(self, columns: Places, parts: Floats, low: float) -> None:
        """Put the jobs that help meet a floor before all others."""
        here = np.flatnonzero(self.model.open[columns] & (parts > 0))
        here = here[np.argsort(self.rank[columns[here]], kind="stable")]
        many = int(np.searchsorted(np.cumsum(parts[here]), low)) + 1
        first = columns[here[:many]]
        self.open[first] = True
        self.rank[first] = np.minimum(self.rank[first], self.rank[first] - self.model.width)

    def columns(self) -> Sequence[int] | None:
        """Return the columns that are 1; None where a row is violated."""
        if not self.possible:
            return None
        done = np.zeros(len(self.model.instance.jobs), dtype=bool)
        chosen: list[Places] = []
        by_night = np.argsort(self.nights, kind="stable")
        ends = np.searchsorted(self.nights[by_night], np.arange(1, self.nights.max(initial=1) + 2))
        wanted = np.zeros(self.model.width, dtype=bool)
        for n, (first, last) in enumerate(pairwise(ends), start=1):
            tonight = by_night[first:last]
            wanted[tonight] = self.open[tonight] & ~done[self.jobs[tonight]]
            for i, columns, parts in self.parts.get(n, ()):
                asked = np.flatnonzero(wanted[columns])
                asked = asked[np.argsort(self.rank[columns[asked]], kind="stable")]
                room = self.rows[i][1] - self.used[i]
                wanted[columns[asked[np.cumsum(parts[asked]) > room]]] = False
            for i, columns, parts in self.parts.get(n, ()):
                self.used[i] += float(parts[wanted[columns]].sum())
            chosen.append(tonight[wanted[tonight]])
            done[self.jobs[chosen[-1]]] = True
        kept = all(low <= used for (low, _), used in zip(self.rows, self.used, strict=True))
        return np.sort(np.concatenate(chosen)).tolist() if kept else None
