"""The best integer solution of few rows over many columns, with proof that none is better.

Prices give a bound; what a column may lose of it fixes most of them. What is left is looked
through (see `meet_in_the_middle`): all ways to differ from the bound's own solution that lose no
more than there is to lose. Where these are too many, the relaxation's most undecided column is
split.
"""

from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now
from schedopt.solvers.few_row_ip.lagrangian import (
    Bound,
    Columns,
    Floats,
    Integers,
    Relaxed,
    bound_of,
    relax,
)
from schedopt.solvers.few_row_ip.meet_in_the_middle import best_change

NEAR = 1_500
"""Columns near their price that are searched together; more than twice as many are narrowed
first."""
MANY = 20_000
"""Columns of which the relaxation is solved."""
ROUNDS = 8
"""How often columns are narrowed to those near their price; each time the price moves."""

WAYS, MATCHES = 1 << 15, 1 << 22
"""Ways of each half, and matches of them, beyond which a branch is split."""
LOOKS = ((64, 1 << 14), (512, 1 << 16), (4_096, 1 << 18))
"""Ways of each half, and matches of them, that are looked at before a column is split."""


def relaxed(columns: Columns, until: float, most: int = MANY) -> Relaxed:
    """Solve the relaxation; of more than ``most`` columns that of a sample, for its prices."""
    count, seconds = len(columns.cost), until - now()
    if seconds <= 0:
        return Relaxed(np.zeros(len(columns.room)), np.zeros(count), True)
    every = slice(None, None, 1 + count // most if count > most else 1)
    room = columns.room // every.step
    parts = (columns.cost[every], columns.rows[:, every], room, columns.most[every])
    found = relax(*(part.astype(float) for part in parts), seconds=seconds)
    return found if every.step == 1 else Relaxed(found.prices, np.zeros(count), True)


@dataclass
class BranchAndBound:
    """A search: what is maximized, and the best found so far.

    ``x``: a solution that keeps the rows; ``until``: when to give up; ``bound``: no solution is
    worth more.
    """

    columns: Columns
    x: Integers
    until: float = inf
    bound: int = 0
    prices: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self.value = self.columns.worth(self.x)

    @property
    def proven(self) -> bool:
        """Whether nothing is worth more."""
        return self.value >= self.bound

    def offer(self, x: Integers) -> None:
        """Keep a solution if it is better."""
        if (self.columns.left(x) < 0).any():
            return
        if (value := self.columns.worth(x)) > self.value:
            self.x, self.value = x.copy(), value

    def run(self, *, start: Floats | None = None, look: bool = True, deep: bool = True) -> Bound:
        """Search to the end, or until time is over; return the bound at the root.

        `start` are prices that are known; `look` says whether to look at the core, `deep` whether
        to branch where that is not enough.
        """
        columns = self.columns
        most = int(np.maximum(columns.cost, 0) @ columns.most)
        if self.value >= most:  # as where an objective says nothing
            self.prices = np.zeros(len(columns.room))
        else:
            self.prices = relaxed(columns, self.until).prices
        root = bound_of(columns, self.prices)
        if start is not None:
            known = bound_of(columns, start)
            if known.value < root.value:  # as where time was over
                root, self.prices = known, start
        if self.value >= root.value:
            self.bound = self.value
            return root
        self.bound = max(root.value, self.value)
        if not self.proven and look:
            self._core(root)
        if not self.proven and deep:
            self._branch(root)
        return root

    def _core(self, root: Bound) -> None:
        """Enumerate what loses little: first for any solution, then for all better ones.

        Where all ways that lose no more than so much are looked through, the best of them is the
        best of all; where there is none, nothing that loses no more is better.
        """
        for limit, pairs in LOOKS:
            target = self.value + 1
            found = best_change(
                self.columns,
                root,
                target=target,
                limit=limit,
                pairs=pairs,
                cut=True,
                until=self.until,
            )
            if found.x is not None:
                self.offer(found.x)
            if found.reach >= root.slack_above(target):
                self.bound = self.value
            elif found.reach >= 0:
                self.bound = min(self.bound, (root.total - found.reach - 1) // root.scale)
                self.bound = max(self.bound, self.value)
            if self.proven or now() >= self.until:
                return

    def _branch(self, root: Bound) -> None:
        """Split columns until nothing is open."""
        columns = self.columns
        first = np.zeros(len(columns.cost), dtype=np.int64)
        waiting: list[tuple[int, Integers, Integers]] = [(root.value, first, columns.most)]
        while waiting:
            top = max(value for value, *_ in waiting)
            self.bound = max(self.value, top)
            if self.proven or now() >= self.until:
                return
            known, low, high = waiting.pop()
            if known <= self.value:
                continue
            waiting.extend((min(known, own), *ends) for own, *ends in self._node(low, high))
        self.bound = self.value

    def _node(self, low: Integers, high: Integers) -> list[tuple[int, Integers, Integers]]:
        """Explore a branch; return its children, the more promising one last."""
        columns = self.columns
        most = high - low
        at = np.flatnonzero(most)
        own = columns.take(at, low, most[at])
        base = columns.worth(low)
        if at.size == 0:
            self.offer(low)
            return []
        point = relaxed(own, self.until)
        bound = bound_of(own, point.prices)
        if not point.feasible:
            ray = Columns(own.cost * 0, own.rows, own.room, own.most)
            if bound_of(ray, point.prices).total < 0:
                return []
        target = self.value + 1 - base
        spare = bound.slack_above(target)
        if spare < 0:
            return []
        found = best_change(
            own,
            bound,
            target=target,
            limit=WAYS,
            pairs=MATCHES,
            cut=False,
            until=self.until,
        )
        if found.x is not None:
            x = low.copy()
            x[at] += found.x
            self.offer(x)
        if found.reach >= spare:
            return []
        size = np.abs(bound.reduced)
        low, high = low.copy(), high.copy()
        least = own.most
        if spare < 2**62:
            least = np.where(size > 0, spare // np.maximum(size, 1), own.most)
        up = bound.reduced > 0
        high[at] = np.where(up, high[at], low[at] + np.minimum(least, own.most))
        low[at] = np.where(up, low[at] + np.maximum(own.most - least, 0), low[at])
        return self._split(at, point.values, bound, (low, high), base)

    def _split(
        self,
        at: NDArray[np.intp],
        values: Floats,
        bound: Bound,
        ends: tuple[Integers, Integers],
        base: int,
    ) -> list[tuple[int, Integers, Integers]]:
        """Split a branch at its most fractional column."""
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


def narrow_to_core(
    columns: Columns, x: Integers, *, start: Floats | None, until: float
) -> tuple[Bound, Integers, bool]:
    """Return a bound for many columns, and a solution found among those near their price.

    Also return whether a look at these was enough to find their best.

    ``x``: a solution that keeps the rows; ``start``: prices that are near those looked for; by
    default those of a sample.
    """
    if start is None or len(start) != len(columns.room):
        start = relaxed(columns, until, NEAR).prices
    value, width = columns.worth(x), NEAR
    best: Bound | None = None
    enough, exact = True, False
    for _ in range(ROUNDS):
        bound = bound_of(columns, start)
        if best is not None and bound.value > best.value and not exact:
            start, exact = relaxed(columns, until).prices, True
            bound = bound_of(columns, start)
        if best is None or bound.total * best.scale < best.total * bound.scale:
            best = bound
        elif exact:
            break
        size = np.abs(best.reduced)
        if (size <= best.slack_above(value)).sum() <= 2 * NEAR or now() >= until:
            break
        near = np.argpartition(np.abs(bound.reduced), width)[:width]
        far = bound.at(columns.most)
        far[near] = 0
        own = columns.take(near, far, columns.most[near])
        part = BranchAndBound(own, np.zeros(width, dtype=np.int64), until)
        before = columns.worth(far)
        part.value = value - before
        part.run(deep=False)
        start, enough = part.prices, part.proven
        if part.value + before > value:
            x, value = far, part.value + before
            x[near] = part.x
    return best or bound_of(columns, start), x, enough
