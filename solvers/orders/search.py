"""The search for the best completion order: incumbents from above, the dual bound from below."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from typing import Literal

import numpy as np
from msgspec import UNSET, UnsetType

from formulations.hesrpt.order import Order, smiths_order
from instances.constraints import Constraint
from instances.hesrpt import Allocated, Instance, allocated
from solvers.orders import closed_form, tree_kernels
from solvers.orders.kernels import Floats, Ints, speed
from solvers.orders.prices import compiled, curves, levels_of, played, prices_of

Certified = Literal["all", "given"] | UnsetType
MOST_SHARES = 1_000_000
"""Shares that are written epoch by epoch; beyond, proportions stand for them where they can."""
MOST_LEAVES = 20_000
TRIALS = 20_000
"""Moves that the local search tries at the most, beyond one round."""
MOST_SEARCHED = 60
"""Jobs up to which branch and bound is tried; beyond, the bound is its root's."""
WORK = 200_000
"""Nodes, or moves, times jobs cubed between two looks at the clock."""


class OrderSearch:
    """Find the order, and the shares, with the least cost of all; anytime.

    Parameters
    ----------
    instance : Instance
        All jobs at time 0, any objective but makespan.
    constraints : sequence of Constraint
        Side constraints. What prices prove then is a bound still; what they play is no incumbent,
        since it need not keep them: then `leaves` are the orders that may hold the optimum.
    order : sequence of int, optional
        This order alone (positions, from the last to complete).
    incumbent : float
        The cost of a solution that is known: only better ones are looked for.

    Attributes
    ----------
    value : float
        The cost of the best solution so far; infinite where there is none.
    bound : float
        A valid lower bound so far.
    order : ndarray of int64
        The best order, from the last to complete.
    rest : float
        A bound on what is neither explored nor among the `leaves`; infinite at the end.
    one_order : bool
        Whether one order is all there is to try: it is given, or shortest jobs first is optimal. It
        is for one speedup and equal costs: where a job completes before a smaller one, their
        remaining sizes were equal once, and from then on they can change places.
    method : str
        How the bound is proven: ``closed form``, ``subsets`` or ``branch and bound``.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        constraints: Sequence[Constraint] = (),
        order: Sequence[int] | None = None,
        incumbent: float = inf,
    ) -> None:
        self.instance = instance
        self.sizes, self.costs = instance.sizes, instance.costs
        self.playable = not constraints
        self.value, self.bound, self.rest = incumbent, 0.0, inf
        self.order = smiths_order(instance) if order is None else np.array(order, dtype=np.int64)
        self._curves = curves(instance, constraints)
        self._classes = _alike(instance, constraints)
        self._tree: tree_kernels.Tree | None = None
        self._descended = False
        self._cost, self._move, self._vain = inf, 0, 0
        self._given = order is not None
        self._p = instance.power if self.playable else None
        alike = len(instance.speedups) == 1 and bool(np.ptp(self.costs) == 0)
        self._shortest_first = alike and self.playable and not self._given
        self.one_order = self._given or self._shortest_first
        self.method = "branch and bound"
        if self.one_order:
            self.method = "closed form"
        elif self._p is not None and len(self.sizes) <= closed_form.MOST_JOBS:
            self.method = "subsets"

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether bound and value are final."""
        if self.method != "branch and bound":
            self._directly()
            return True
        began = time.perf_counter()
        compiled()
        if not self._descended:
            self._descended = self._descend(began + seconds)
            self.bound = max(self.bound, self._least())
            if not self._descended:
                return False
        if len(self.sizes) > MOST_SEARCHED:
            return True
        if self._tree is None:
            self._tree = tree_kernels.tree(len(self.sizes), MOST_LEAVES)
            self._tree.best[0], self._tree.found[:] = self.value, self.order
        searched = self._tree
        nodes = max(1, WORK // len(self.sizes) ** 3)
        status = tree_kernels.PAUSED
        while status == tree_kernels.PAUSED:
            status = tree_kernels.explore(
                self._curves, searched, self.sizes, self.costs, self._classes, self.playable, nodes
            )
            if time.perf_counter() - began >= seconds:
                break
        if searched.best[0] < self.value:
            self.value, self.order = float(searched.best[0]), searched.found.copy()
        leaves = [bound for bound, _ in self.leaves()]
        self.rest = float(tree_kernels.open_bound(searched))
        floor = min([self.rest, *leaves, self.value])
        self.bound = max(self.bound, float(floor))
        return bool(status != tree_kernels.PAUSED)

    def _directly(self) -> None:
        """Set value and bound where a formula or a dynamic program has them."""
        if self._shortest_first:  # Theorem 5
            self.order = np.lexsort((-np.arange(len(self.sizes)), -self.sizes)).astype(np.int64)
        if self.method == "subsets":
            bound, self.order = closed_form.best_by_subsets(
                self.sizes, self.costs, self._p or 1.0, self.instance.servers
            )
            self.bound = bound
        if self._p is not None:
            found = self.closed()
            self.value = found.value
            self.bound = found.value if self._given else max(self.bound, found.bound)
            return
        lam = self.prices()
        self.bound = float(lam @ self.sizes)
        if self.playable:
            self.value = float(self.costs @ played(self._curves, self.sizes, lam, NOTHING))
        if self._given and abs(self.value - self.bound) > tree_kernels.NEAR * self.bound:
            self.value = inf  # what was played has left the order

    def _descend(self, until: float) -> bool:
        """Move single jobs in the order while that helps; tell whether no move does any more."""
        count = len(self.sizes)
        if not self.playable:
            return True
        if self._cost == inf:
            self._cost = float(
                self.costs @ played(self._curves, self.sizes, self.prices(), NOTHING)
            )
        moves = max(1, WORK // count**3)
        while self._vain < count * count and self._move < TRIALS + count * count:
            cost, vain = tree_kernels.insertion(
                self._curves, self.sizes, self.costs, self.order, self._cost, self._move, moves
            )
            self._vain = vain if cost < self._cost else self._vain + moves
            self._cost, self._move = cost, self._move + moves
            self.value = min(self.value, cost)
            if time.perf_counter() >= until:
                return False
        return True

    @property
    def nodes(self) -> int:
        """How many nodes branch and bound has explored."""
        return 0 if self._tree is None else int(self._tree.numbers[2])

    def _least(self) -> float:
        """Return the bound of the root: each job at the price it has alone."""
        c = self._curves
        alone = [speed(c, j, min(c.servers, float(c.mosts[j]))) for j in range(len(self.sizes))]
        return float((self.costs * self.sizes / np.array(alone)).sum())

    def leaves(self) -> list[tuple[float, Order]]:
        """Return (bound, order) of the orders that could still be better, the least bound first."""
        if self._tree is None:
            return []
        count = int(self._tree.numbers[1])
        values = self._tree.values[:count]
        limit = self.value * (1 - tree_kernels.NEAR)
        rank = [i for i in np.argsort(values, kind="stable") if values[i] < limit]
        return [(float(values[i]), self._tree.leaves[i].copy()) for i in rank]

    def closed(self) -> closed_form.Optimum:
        """Return the optimum of the order in closed form, where all speedups are one k^p."""
        order = self.order
        return closed_form.optimum(
            self.sizes[order], self.costs[order], self._p or 1.0, self.instance.servers
        )

    def prices(self) -> Floats:
        """Return the price of each job's work for the order, shape (M,)."""
        compiled()
        return prices_of(self._curves, self.order, levels_of(self.costs, self.order))

    def solution(self, certified: Certified = UNSET) -> Allocated:
        """Return the best solution: shares by the prices of its order, played to the end."""
        if self._p is not None:
            return self._proportional(certified)
        count = len(self.sizes)
        record = np.zeros((count, count))
        ends = played(self._curves, self.sizes, self.prices(), record)
        times = np.unique(ends)
        starts = [0.0, *times[:-1].tolist()]
        everyone = np.arange(count)
        epochs = [
            (start, end, everyone, shares)
            for start, end, shares in zip(starts, times.tolist(), record, strict=False)
        ]
        return allocated(self.instance, ends, epochs, certified=certified)

    def _proportional(self, certified: Certified) -> Allocated:
        """Return the closed form's solution; for many jobs without its epochs."""
        found, order = self.closed(), self.order
        count = len(order)
        ends = np.empty(count)
        ends[order] = found.completion
        if count * (count + 1) // 2 > MOST_SHARES:
            names = self.instance.jobs
            pairs = zip(order.tolist(), found.proportions.tolist(), strict=True)
            logs = {names[j].name: log for j, log in pairs}
            return allocated(self.instance, ends, [], certified=certified, proportions=logs)
        epochs = []
        start = 0.0
        for last in np.flatnonzero(np.diff(found.completion, append=-inf) != 0)[::-1]:
            logs_left = found.proportions[: last + 1]
            shares = np.exp(logs_left - logs_left.max())
            end = float(found.completion[last])
            epochs.append((start, end, order[: last + 1], shares / shares.sum()))
            start = end
        return allocated(self.instance, ends, epochs, certified=certified)


NOTHING = np.zeros((0, 0))


def _alike(instance: Instance, constraints: Sequence[Constraint]) -> Ints:
    """Return a number for each job, the same for jobs that nothing tells apart, shape (M,)."""
    seen: dict[tuple[object, ...], int] = {}
    named = [set(getattr(c, "jobs", None) or ()) for c in constraints]
    found = []
    for j, job in enumerate(instance.jobs):
        key: tuple[object, ...] = (instance.kinds[j], job.size, instance.costs[j])
        if constraints:
            key = (*key, tuple(sorted(job.groups.items())), *(job.name in some for some in named))
        found.append(seen.setdefault(key, j))
    return np.array(found)
