"""The best whole solution of few rows over many columns, and that there is no better.

Prices give a bound; what a column may lose of it fixes most of them. What is left is looked
through (see `ways`): all ways to differ from the bound's own solution that lose no more than there
is to lose. Where these are too many, the relaxation's most undecided column is split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.columns.linear import Floats, Relaxed, relax
from schedopt.solvers.columns.ways import ways
from schedopt.solvers.columns.whole import (
    Bound,
    Columns,
    Integers,
    bound_of,
)

NEAR = 1_500
"""Columns near their price that are looked at together: more than twice as many are narrowed."""
ROUNDS = 8
"""How often columns are narrowed down to those near their price, which moves it."""

WAYS = 3_000
"""Ways that are open at a time, beyond which a column is split."""
CORES = (12, 20, 28, 40, 60)
"""Columns that are looked through in search of a solution, before the rest."""
BEFORE = 48
"""Branches that are looked at before HiGHS is asked."""
GUESS = 2.0
"""Seconds that HiGHS may look for a solution to start from."""
FEW = 8
"""Whole values that are tried one by one, rather than as many at a time as columns say."""
BEAM = 4_000
"""Ways that are kept in search of a solution."""


class Lean(NamedTuple):
    """Prices of the rows, those of earlier objectives too, that nearly attain their bound.

    Where an objective does not tell columns apart, as where all that fits is worth its price, these
    say which are likely: a part of them is added to its own prices, small enough to leave its
    rounded bound as it is.
    """

    prices: Floats
    excess: float


def _leaning(columns: Columns, prices: Floats, root: Bound, lean: Lean) -> Bound:
    """Return a bound that rounds down to no worse, and tells more columns apart."""
    free = (root.value + 1) - root.total / root.scale
    part = 0.9 * free / max(lean.excess, 1e-3)
    for _ in range(4):
        bound = bound_of(columns, prices + part * lean.prices)
        if bound.value <= root.value:
            return bound
        part /= 4
    return root


def _relaxed(columns: Columns) -> Relaxed:
    parts = (columns.cost, columns.rows, columns.room, columns.most)
    return relax(*(part.astype(float) for part in parts))


@dataclass
class Best:
    """A search for the best value, then of ``later`` objectives, and the best found so far."""

    columns: Columns
    later: Integers  # break ties, in order, (objectives, columns)
    x: Integers  # a feasible solution
    stop: Callable[[], bool] = field(default=lambda: False)  # tells whether to give up
    bound: int = 0  # no solution is worth more
    nodes: int = 0  # branches visited
    prices: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self.value = self.columns.worth(self.x)
        self.tied = tuple((self.later @ self.x).tolist())

    @property
    def proven(self) -> bool:
        """Whether nothing is worth more."""
        return self.value >= self.bound

    def offer(self, x: Integers) -> None:
        """Keep a solution if it is better."""
        if (self.columns.left(x) < 0).any():
            return
        value, tied = self.columns.worth(x), tuple((self.later @ x).tolist())
        if (value, tied) > (self.value, self.tied):
            self.x, self.value, self.tied = x.copy(), value, tied

    def run(self, lean: Lean | None = None, *, deep: bool = True) -> Bound:
        """Search to the end, or until `stop` says so; return the bound at the root.

        ``lean`` comes from the objective before. Without ``deep`` nothing is branched on.
        """
        columns = self.columns
        most = int(np.maximum(columns.cost, 0) @ columns.most)
        if self.value >= most:  # as where an objective says nothing
            self.prices = np.zeros(len(columns.room))
        else:
            self.prices = _relaxed(columns).prices
        root = bound_of(columns, self.prices)
        if lean is None:  # of columns that are alike, those that ask for little
            lean = Lean(1 / np.maximum(columns.room, 1), float(len(columns.room)))
        root = _leaning(columns, self.prices, root, lean)
        self.bound = max(root.value, self.value)
        if not self.proven:
            self._filled(root)
        if not self.proven:
            self._core(root)
        if not self.proven and deep:
            self._branch(root)
        return root

    def _filled(self, root: Bound) -> None:
        """Offer the bound's own solution with what does not fit taken out, and filled up."""
        columns = self.columns
        gain = root.reduced.astype(float)
        x = root.at(columns.most)
        over = columns.left(x)
        shares = columns.rows / np.maximum(columns.room, 1)[:, None].astype(float)
        if (over < 0).any():
            taken = np.flatnonzero(x)
            helps = shares[over < 0][:, taken].sum(axis=0)
            order = taken[np.argsort(gain[taken] / np.maximum(helps, 1e-12), kind="stable")]
            for j in order.tolist():
                if (over >= 0).all():
                    break
                rows = columns.rows[:, j]
                if (rows[over < 0] <= 0).all():
                    continue
                lack = max(
                    -(int(over[i]) // int(rows[i])) for i in np.flatnonzero((over < 0) & (rows > 0))
                )
                less = min(lack, int(x[j]))
                x[j] -= less
                over = over + less * rows
        if (over < 0).any():
            return
        open_ = np.flatnonzero((x < columns.most) & (columns.rows <= over[:, None]).all(axis=0))
        open_ = open_[columns.cost[open_] > 0]
        while open_.size:
            j = int(open_[np.argmax(gain[open_])])
            rows = columns.rows[:, j]
            fits = min(
                [int(over[i]) // int(rows[i]) for i in np.flatnonzero(rows > 0)]
                + [int(columns.most[j] - x[j])]
            )
            x[j] += fits
            over = over - fits * rows
            open_ = open_[(open_ != j) & (columns.rows[:, open_] <= over[:, None]).all(axis=0)]
        self.offer(x)

    def _core(self, root: Bound) -> None:
        """Look through the columns that lose little: few at first, then more.

        Where all ways that lose no more than a limit are looked through, the best of them is the
        best of all; where there is none, no solution that loses no more than that is better.
        """
        size = np.abs(root.reduced)
        for count in CORES:
            level = spare = -1
            if count < len(size):
                order = np.argpartition(size, count)
                level, order = int(size[order[count]]), order[:count]
            else:
                order = np.arange(len(size))
            while spare < level or level < 0:
                most, lacks = root.spare(self.value + 1), root.spare(self.bound)
                whole = level < 0 or level > lacks
                spare = most if level < 0 else lacks
                if whole and (2 * lacks < level or level - lacks > FEW * root.scale):
                    spare = level - 1
                spare = min(spare, most)
                near = order[size[order] <= spare]
                found, complete = ways(
                    self.columns,
                    root,
                    near,
                    spare=spare,
                    later=self.later,
                    limit=BEAM,
                    beam=True,
                )
                if found is not None:
                    self.offer(found)
                if whole and complete:
                    none = found is None and spare < most
                    self.bound = (root.total - spare - 1) // root.scale if none else self.value
                    self.bound = max(self.bound, self.value)
                if self.proven or spare == most or (whole and not complete):
                    return
                if not whole or spare == level - 1:
                    break

    def _guessed(self, root: Bound) -> None:
        """Offer what HiGHS finds among the columns that are open."""
        from schedopt.solvers.columns.guess import guess

        open_ = np.abs(root.reduced) <= root.spare(self.value + 1)
        x = np.where(open_, 0, root.at(self.columns.most))
        at = np.flatnonzero(open_)
        found = guess(self.columns.take(at, x, self.columns.most[at]), GUESS)
        if found is not None:
            x[at] = found
            self.offer(x)

    def _branch(self, root: Bound) -> None:
        """Split columns until nothing is open."""
        columns = self.columns
        first = np.zeros(len(columns.cost), dtype=np.int64)
        waiting: list[tuple[int, Integers, Integers]] = [(root.value, first, columns.most)]
        while waiting:
            top = max(value for value, *_ in waiting)
            self.bound = max(self.value, top)
            if self.proven or self.stop():
                return
            known, low, high = waiting.pop()
            if known <= self.value:
                continue
            waiting.extend(self._node(low, high))
            if self.nodes == BEFORE:
                self._guessed(root)
        self.bound = self.value

    def _node(self, low: Integers, high: Integers) -> list[tuple[int, Integers, Integers]]:
        """Look at a branch; return those that it is split into, the likelier one last."""
        self.nodes += 1
        columns = self.columns
        most = high - low
        at = np.flatnonzero(most)
        own = columns.take(at, low, most[at])
        base = columns.worth(low)
        if at.size == 0:
            self.offer(low)
            return []
        relaxed = _relaxed(own)
        bound = bound_of(own, relaxed.prices)
        if not relaxed.feasible:
            ray = Columns(own.cost * 0, own.rows, own.room, own.most)
            if bound_of(ray, relaxed.prices).total < 0:
                return []
        target = self.value + 1 - base
        spare = bound.spare(target)
        if spare < 0:
            return []
        size = np.abs(bound.reduced)
        near = np.flatnonzero(size <= spare)
        found, complete = ways(
            own, bound, near, spare=spare, later=self.later[:, at], limit=WAYS, beam=False
        )
        if found is not None:
            x = low.copy()
            x[at] += found
            self.offer(x)
        if complete:
            return []
        low, high = low.copy(), high.copy()
        least = np.where(size > 0, spare // np.maximum(size, 1), own.most)
        up = bound.reduced > 0
        high[at] = np.where(up, high[at], low[at] + np.minimum(least, own.most))
        low[at] = np.where(up, low[at] + np.maximum(own.most - least, 0), low[at])
        return self._split(at, relaxed.values, bound, (low, high), base)

    def _split(
        self,
        at: NDArray[np.intp],
        values: Floats,
        bound: Bound,
        ends: tuple[Integers, Integers],
        base: int,
    ) -> list[tuple[int, Integers, Integers]]:
        """Return the two halves of a branch, by the column that is most undecided."""
        low, high = ends
        open_ = high[at] > low[at]
        off = np.abs(values - np.rint(values))
        off = np.where(open_, off, -1.0)
        j = int(off.argmax())
        if off[j] < 1e-6:
            j = int(np.where(open_, -np.abs(bound.reduced).astype(float), -np.inf).argmax())
        column = int(at[j])
        cut = int(low[column] + np.floor(values[j]))
        cut = min(max(cut, int(low[column])), int(high[column]) - 1)
        down, up = high.copy(), low.copy()
        down[column], up[column] = cut, cut + 1
        known = base + bound.value
        return [(known, low, down), (known, up, high)]


def narrowed(
    columns: Columns,
    later: Integers,
    x: Integers,
    *,
    start: Floats | None,
    lean: Lean | None,
    stop: Callable[[], bool],
) -> tuple[Bound, Integers]:
    """Return a bound for many columns, and a solution found among those near their price.

    ``x`` is feasible; ``start`` holds prices close to the optimal ones, by default those of a
    sample.
    """
    if start is None or len(start) != len(columns.room):
        every = len(columns.cost) // NEAR + 1
        rows, room = columns.rows[:, ::every], columns.room // every
        sample = Columns(columns.cost[::every], rows, room, columns.most[::every])
        start = _relaxed(sample).prices
    value, width = columns.worth(x), 2 * NEAR
    best: Bound | None = None
    for _ in range(ROUNDS):
        bound = bound_of(columns, start)
        if best is None or bound.total * best.scale < best.total * bound.scale:
            best = bound
        size = np.abs(best.reduced)
        if (size <= best.spare(value)).sum() <= 2 * NEAR or stop():
            break
        near = np.argpartition(np.abs(bound.reduced), width)[:width]
        far = bound.at(columns.most)
        far[near] = 0
        own = columns.take(near, far, columns.most[near])
        part = Best(own, later[:, near], np.zeros(width, dtype=np.int64), stop)
        before = columns.worth(far)
        part.value = value - before
        part.run(lean, deep=False)
        start = part.prices
        if part.value + before > value:
            x, value = far, part.value + before
            x[near] = part.x
    return best or bound_of(columns, start), x
