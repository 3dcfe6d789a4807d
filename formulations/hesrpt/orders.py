"""The search for the best completion order: incumbents from above, the dual bound from below."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.hesrpt import common, search_kernels
from formulations.hesrpt.kernels import speed
from formulations.hesrpt.prices import compiled, curves, levels_of, played, prices_of
from instances.errors import InputError, shown, suggestion
from instances.hesrpt import Allocated, Instance, allocated
from instances.options import Option

Order = NDArray[np.int64]
MOST_SHARES = 1_000_000
"""Shares that are written epoch by epoch; beyond, proportions stand for them where they can."""
MOST_LEAVES = 20_000
TRIALS = 20_000
"""Moves that the local search tries at the most, beyond one round."""
MOST_SEARCHED = 60
"""Jobs up to which branch and bound is tried; beyond, the bound is its root's."""
WORK = 200_000
"""Nodes, or moves, times jobs cubed between two looks at the clock."""

ORDER = Option(
    default=None,
    expected="names of all jobs, the first to complete first, with commas between",
    accepts=lambda value: isinstance(value, str | int | float),
)


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
        constraints: Sequence[Any] = (),
        order: Sequence[int] | None = None,
        incumbent: float = inf,
    ) -> None:
        self.instance = instance
        self.sizes, self.costs = instance.sizes, instance.costs
        self.playable = not constraints
        self.value, self.bound, self.rest = incumbent, 0.0, inf
        self.order: Order = self._first_order() if order is None else np.array(order)
        self._curves = curves(instance, constraints)
        self._classes = _alike(instance, constraints)
        self._tree: Any = None
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
        elif self._p is not None and len(self.sizes) <= common.MOST_JOBS:
            self.method = "subsets"

    def _first_order(self) -> Order:
        """Return Smith's order for shares as equal as can be, from the last to complete."""
        count = len(self.sizes)
        everyone = np.arange(count)
        even = np.full(count, self.instance.servers / count)
        rates = self.instance.each("at", everyone, even)
        return np.argsort(-self.sizes / rates / self.costs, kind="stable").astype(np.int64)

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
            self._tree = search_kernels.tree(len(self.sizes), MOST_LEAVES)
            self._tree.best[0], self._tree.found[:] = self.value, self.order
        tree = self._tree
        nodes = max(1, WORK // len(self.sizes) ** 3)
        status = search_kernels.PAUSED
        while status == search_kernels.PAUSED:
            status = search_kernels.explore(
                self._curves, tree, self.sizes, self.costs, self._classes, self.playable, nodes
            )
            if time.perf_counter() - began >= seconds:
                break
        if tree.best[0] < self.value:
            self.value, self.order = float(tree.best[0]), tree.found.copy()
        leaves = [bound for bound, _ in self.leaves()]
        self.rest = float(search_kernels.open_bound(tree))
        floor = min([self.rest, *leaves, self.value])
        self.bound = max(self.bound, float(floor))
        return bool(status != search_kernels.PAUSED)

    def _directly(self) -> None:
        """Set value and bound where a formula or a dynamic program has them."""
        if self._shortest_first:  # Theorem 5
            self.order = np.lexsort((-np.arange(len(self.sizes)), -self.sizes)).astype(np.int64)
        if self.method == "subsets":
            bound, self.order = common.best_by_subsets(
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
        if self._given and abs(self.value - self.bound) > search_kernels.NEAR * self.bound:
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
            cost, vain = search_kernels.insertion(
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
        limit = self.value * (1 - search_kernels.NEAR)
        rank = [i for i in np.argsort(values, kind="stable") if values[i] < limit]
        return [(float(values[i]), self._tree.leaves[i].copy()) for i in rank]

    def closed(self) -> common.Optimum:
        """Return the optimum of the order in closed form, where all speedups are one k^p."""
        order = self.order
        return common.optimum(
            self.sizes[order], self.costs[order], self._p or 1.0, self.instance.servers
        )

    def prices(self) -> Any:
        """Return the price of each job's work for the order, shape (M,)."""
        compiled()
        return prices_of(self._curves, self.order, levels_of(self.costs, self.order))

    def solution(self, certified: Any) -> Allocated:
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

    def _proportional(self, certified: Any) -> Allocated:
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


def least_makespan(instance: Instance) -> tuple[float, float, Any]:
    """Return the least makespan, a bound beside it, and the shares of all jobs.

    A share that is averaged over time does no less work, since speedups are concave: so a time T
    suffices if and only if all jobs together need no more than all servers to complete at T.

    Source: heSRPT paper, Theorem 1, for any concave speedups of the jobs.
    """
    everyone = np.arange(len(instance.jobs))
    sizes, servers = instance.sizes, float(instance.servers)

    def needed(time_: float) -> Any:
        return instance.each("servers_for", everyone, sizes / time_)

    high = float((sizes / instance.each("at", everyone, np.full(len(sizes), servers))).sum())
    low = high / (2.0 * len(sizes))
    while needed(low).sum() <= servers:
        high, low = low, low / 2
    while needed(high).sum() > servers:
        high *= 1 + 1e-15
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        if needed(middle).sum() <= servers:
            high = middle
        else:
            low = middle
    return high, low, needed(high) / servers


def _alike(instance: Instance, constraints: Sequence[Any]) -> Any:
    """Return a number for each job, the same for jobs that nothing tells apart, shape (M,)."""
    seen: dict[Any, int] = {}
    named = [set(getattr(c, "jobs", None) or ()) for c in constraints]
    found = []
    for j, job in enumerate(instance.jobs):
        key: tuple[Any, ...] = (instance.kinds[j], job.size, instance.costs[j])
        if constraints:
            key = (*key, tuple(sorted(job.groups.items())), *(job.name in some for some in named))
        found.append(seen.setdefault(key, j))
    return np.array(found)


def positions(instance: Instance, order: str) -> list[int]:
    """Return the positions of jobs, from the last to complete, of names from the first.

    Raises
    ------
    InputError
        If a job is missing, there twice or not known.
    """
    names = [name.strip() for name in str(order).split(",")]
    for name in names:
        if name not in instance.index:
            hint = suggestion(name, instance.index)
            raise InputError(f"the name of a job{hint}", found=shown(name), place="option order")
    if len(set(names)) < len(names) or len(names) < len(instance.jobs):
        raise InputError(ORDER.expected, found=shown(order), place="option order")
    return [instance.index[name] for name in reversed(names)]
