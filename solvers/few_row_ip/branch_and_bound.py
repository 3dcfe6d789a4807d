"""The best integer solution of few rows over many columns, with proof that none is better.

Prices give a bound; what a column may lose of it fixes most of them. What is left is looked
through (see `meet_in_the_middle`): all ways to differ from the bound's own solution that lose no
more than there is to lose. Where these are too many, the relaxation's most undecided column is
split.
"""

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from schedopt.solvers.clock import expired, now
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
LOOKS = (64, 512, 4_096)
"""Ways of each half that are looked at before a column is split."""
WAYS = 1 << 15
"""Ways of each half that are looked at in a branch."""


def solve_relaxation(columns: Columns, until: float, most: int = MANY) -> Relaxed:
    """Solve the relaxation; of more than ``most`` columns that of a sample, for its prices."""
    count, seconds = len(columns.cost), until - now()
    if seconds <= 0:
        return Relaxed(np.zeros(len(columns.room)), np.zeros(count), True)
    every = slice(None, None, 1 + count // most if count > most else 1)
    room = columns.room // every.step
    parts = (columns.cost[every], columns.rows[:, every], room, columns.most[every])
    relaxed = relax(*(part.astype(float) for part in parts), seconds=seconds)
    return relaxed if every.step == 1 else Relaxed(relaxed.prices, np.zeros(count), True)


class Branch(NamedTuple):
    """Solutions between ``low`` and ``high``, none worth more than ``bound``."""

    bound: int
    low: Integers
    high: Integers


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
        if (self.columns.slack(x) < 0).any():
            return
        if (value := self.columns.worth(x)) > self.value:
            self.x, self.value = x.copy(), value

    def run(self, *, start: Floats | None = None, look: bool = True, deep: bool = True) -> Bound:
        """Search to the end, or until time is over; return the bound at the root.

        `start` are prices that are known; `look` says whether to look at the core, `deep` whether
        to branch where that is not enough.
        """
        columns = self.columns
        self.prices = np.zeros(len(columns.room))
        if self.value < int(np.maximum(columns.cost, 0) @ columns.most):
            self.prices = solve_relaxation(columns, self.until).prices
        root = bound_of(columns, self.prices)
        if start is not None and (tighter := bound_of(columns, start)).value < root.value:
            root, self.prices = tighter, start  # as where time was over
        self.bound = max(root.value, self.value)
        if not self.proven and look:
            self._look_through_core(root)
        if not self.proven and deep:
            self._branch()
        return root

    def _look_through_core(self, root: Bound) -> None:
        """Enumerate what loses little: first for any solution, then for all better ones.

        Where all ways that lose no more than so much are looked through, the best of them is the
        best of all; where there is none, nothing that loses no more is better.
        """
        for limit in LOOKS:
            target = self.value + 1
            change = best_change(self.columns, root, target=target, limit=limit, until=self.until)
            if change.x is not None:
                self.offer(change.x)
            if change.reach >= root.slack_above(target):
                self.bound = self.value
            elif change.reach >= 0:
                self.bound = min(self.bound, (root.total - change.reach - 1) // root.scale)
                self.bound = max(self.bound, self.value)
            if self.proven or expired(self.until):
                return

    def _branch(self) -> None:
        """Split columns until nothing is open."""
        waiting = [Branch(self.bound, np.zeros_like(self.columns.most), self.columns.most)]
        while waiting:
            self.bound = max(self.value, *(branch.bound for branch in waiting))
            if self.proven or expired(self.until):
                return
            branch = waiting.pop()
            if branch.bound > self.value:
                waiting.extend(self._split(branch))
        self.bound = self.value

    def _split(self, branch: Branch) -> list[Branch]:
        """Explore a branch; return its children, the more promising one last."""
        columns, (_, low, high) = self.columns, branch
        most, base = high - low, columns.worth(low)
        at = np.flatnonzero(most)
        if at.size == 0:
            self.offer(low)
            return []
        own = columns.take(at, low, most[at])
        point = solve_relaxation(own, self.until)
        bound = bound_of(own, point.prices)
        if not point.feasible:
            ray = Columns(own.cost * 0, own.rows, own.room, own.most)
            if bound_of(ray, point.prices).total < 0:
                return []
        target = self.value + 1 - base
        spare = bound.slack_above(target)
        if spare < 0:
            return []
        change = best_change(own, bound, target=target, limit=WAYS, until=self.until)
        if change.x is not None:
            x = low.copy()
            x[at] += change.x
            self.offer(x)
        if change.reach >= spare:
            return []
        loss = np.abs(bound.reduced)
        often = np.minimum(spare // np.maximum(loss, 1), own.most) if spare < 2**62 else own.most
        often = np.where(loss > 0, often, own.most)
        up, low, high = bound.reduced > 0, low.copy(), high.copy()
        low[at], high[at] = (
            np.where(up, high[at] - often, low[at]),
            np.where(up, high[at], low[at] + often),
        )
        open_ = high[at] > low[at]
        off = np.where(open_, np.abs(point.values - np.rint(point.values)), -1.0)
        j = int(off.argmax())
        if off[j] < 1e-6:
            j = int(np.where(open_, -loss.astype(float), -np.inf).argmax())
        column = int(at[j])
        cut = int(low[column] + np.floor(point.values[j]))
        cut = min(max(cut, int(low[column])), int(high[column]) - 1)
        down, up_ = high.copy(), low.copy()
        down[column], up_[column] = cut, cut + 1
        upper = min(branch.bound, base + bound.value)
        return [Branch(upper, low, down), Branch(upper, up_, high)]


def narrow_to_core(
    columns: Columns, x: Integers, *, start: Floats | None, until: float
) -> tuple[Bound, Integers, bool]:
    """Return a bound for many columns, and a solution found among those near their price.

    Also return whether a look at these was enough to find their best.

    ``x``: a solution that keeps the rows; ``start``: prices that are near those looked for; by
    default those of a sample.
    """
    if start is None or len(start) != len(columns.room):
        start = solve_relaxation(columns, until, NEAR).prices
    value, enough, whole = columns.worth(x), True, len(x) > MANY
    best = bound = bound_of(columns, start)
    for _ in range(ROUNDS):
        if (np.abs(best.reduced) <= best.slack_above(value)).sum() <= 2 * NEAR or expired(until):
            break
        near = np.argpartition(np.abs(bound.reduced), NEAR)[:NEAR]
        far = bound.at(columns.most)
        far[near] = 0
        own = columns.take(near, far, columns.most[near])
        part = BranchAndBound(own, np.zeros(NEAR, dtype=np.int64), until)
        before = columns.worth(far)
        part.value = value - before
        part.run(deep=False)
        enough, bound = part.proven, bound_of(columns, part.prices)
        if part.value + before > value:
            x, value = far, part.value + before
            x[near] = part.x
        elif bound.total == best.total:
            break
        if bound.value > best.value and not whole:  # their prices tell nothing of the others
            bound, whole = bound_of(columns, solve_relaxation(columns, until).prices), True
        if bound.total * best.scale < best.total * bound.scale:
            best = bound
    return best, x, enough
