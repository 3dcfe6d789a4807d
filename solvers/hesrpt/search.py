"""The search for the best completion order: incumbents from above, the dual bound from below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from schedopt.formulations.hesrpt.order import Order, smiths_order
from schedopt.formulations.hesrpt.rules import Rules
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.clock import now
from schedopt.solvers.hesrpt import closed_form
from schedopt.solvers.hesrpt.diagram import FEW_PATHS, MOST_SETS, Diagram
from schedopt.solvers.hesrpt.kernels import Floats, Ints
from schedopt.solvers.hesrpt.large import Large
from schedopt.solvers.hesrpt.price_kernels import played, prices_of
from schedopt.solvers.hesrpt.prices import bounds_of, compiled, curves, levels_of
from schedopt.solvers.hesrpt.tree_kernels import (
    NEAR,
    PAUSED,
    Search,
    Tree,
    explore,
    insertion,
    look_ahead,
    no_paths,
    open_bound,
    tree,
)

MOST_SHARES = 1_000_000
"""Shares that are written epoch by epoch; beyond, proportions stand for them where they can."""
MOST_LEAVES = 20_000
TRIALS = 20_000
"""Moves that the local search tries at the most, beyond one round."""
MOST_SEARCHED = 60
"""Jobs up to which branch and bound is tried; beyond, rents bound all orders, or its root."""
WORK = 200_000
"""Nodes, or moves, times jobs cubed between two looks at the clock."""
MOST_JOBS = 60
"""Jobs up to which sets of jobs are binary numbers."""
WORTH = 1.1
"""How much worse an order of a diagram may be than the best that jobs are moved in it."""
TOGETHER = 1e-12
"""Completions that are this near, relatively, are at one time: only rounding keeps them apart."""


class OrderSearch:
    """Find the order, and the shares, with the least cost of all; anytime.

    Parameters
    ----------
    instance : Instance
        All jobs at time 0, any objective but makespan.
    rules : Rules, optional
        Side constraints. Prices see bounds of single jobs and of disjoint teams. Where there is
        more, what they prove is a bound still, but what they play is no incumbent, since it need
        not keep all rules: then `leaves` are the orders that may hold the optimum.
    order : sequence of int, optional
        This order alone (positions, from the last to complete).
    incumbent : float
        The cost of a solution that is known: only better ones are looked for.

    Attributes
    ----------
    value, bound : float
        The cost of the best solution so far, infinite where there is none; a valid lower bound.
    order : ndarray of int64
        The best order, from the last to complete.
    rest : float
        A bound on what is neither explored nor among the `leaves`; infinite at the end.
    nodes : int
        How many nodes of diagrams, or of branch and bound, were made.
    one_order : bool
        Whether one order is all there is to try: it is given, or shortest jobs first is optimal. It
        is for one speedup and equal costs: where a job completes before a smaller one, their
        remaining sizes were equal once, and from then on they can change places.
    method : str
        How the bound is proven: ``closed form``, ``subsets``, ``diagrams``, or ``branch and bound``
        for more sets than these can hold, ``rents`` for more jobs than `MOST_SEARCHED`.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        rules: Rules | None = None,
        order: Sequence[int] | None = None,
        incumbent: float = inf,
    ) -> None:
        self.instance = instance
        self.sizes, self.costs = instance.sizes, instance.costs
        self.value, self.bound, self.rest = incumbent, 0.0, inf
        self.order = smiths_order(instance) if order is None else np.array(order, dtype=np.int64)
        count = len(self.sizes)
        rules = rules or Rules(instance)
        bounds = bounds_of(rules, count)
        self.playable = bounds.whole
        self._curves = curves(instance, bounds)
        self._given = order is not None
        self._p = None if rules.bounds else instance.power
        equal = len(instance.speedups) == 1 and bool(np.ptp(self.costs) == 0)
        self._shortest_first = equal and not rules.bounds and not self._given
        self.one_order = self._given or self._shortest_first
        self.method = "branch and bound"
        if self.one_order:
            self.method = "closed form"
        elif self._p is not None and count <= closed_form.MOST_JOBS:
            self.method = "subsets"
        classes, after, sets = alike(instance, rules)
        self.search = Search(self.sizes, self.costs, classes, self.playable)
        self.diagram: Diagram | None = None
        if self.method == "branch and bound" and sets <= MOST_SETS and count <= MOST_JOBS:
            self.method = "diagrams"
            self.diagram = Diagram(self._curves, self.sizes, self.costs, after)
        self.large: Large | None = None
        many = self.method == "branch and bound" and count > MOST_SEARCHED
        if many and not len(bounds.team_mosts):
            self.method = "rents"
            self.large = Large(self._curves, self.sizes, self.costs, self.order)
        self._pass: Iterator[None] | None = None
        self._tree: Tree | None = None
        self._paths = no_paths(count)
        self._descended = False
        self._cost, self._move, self._vain = inf, 0, 0

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether bound and value are final."""
        if self.method in ("closed form", "subsets"):
            self._directly()
            return True
        until = now() + seconds
        if self.large is not None:
            return self._at_large(self.large, until)
        compiled()
        if not self._descended:
            self._descended = self._descend(until)
            self.bound = max(self.bound, self._least())
            if not self._descended:
                return False
        if self.diagram is not None:
            return self._narrow(self.diagram, until)
        if len(self.sizes) > MOST_SEARCHED:
            self.rest = self.bound  # all orders are left
            return True
        return self._explore(until)

    def _at_large(self, large: Large, until: float) -> bool:
        """Move jobs and rents; tell whether no move does any more."""
        done = large.advance(until)
        if self.playable and large.value < self.value:
            self.value, self.order = large.value, large.order
        self.bound = self.rest = min(large.bound, self.value)
        return done

    def _narrow(self, diagram: Diagram, until: float) -> bool:
        """Make passes over the diagram until few orders are left, or more passes close hardly any.

        Branch and bound ends the search, among the orders that are left. Tell whether it has ended.
        """
        while self._tree is None:
            if self._pass is None:
                self._pass = diagram.advance(self.value * (1.0 - NEAR))
            for _ in self._pass:
                if now() >= until:
                    return False
            self._pass = None
            self.bound = max(self.bound, min(diagram.bound, self.value))
            if diagram.paths and self.playable:
                self._improve(diagram.cheapest(), until)
            if diagram.paths <= FEW_PATHS or diagram.stalled:
                self._tree, self._paths = self._sown(), diagram.left()
        return self._explore(until)

    def _improve(self, order: Order, until: float) -> None:
        """Move jobs in an order while that helps, a round at the most for each job.

        Under side constraints prices take far longer: there only an order that is better is moved.
        """
        vain, move, count = 0, 0, len(order)
        ends = played(self._curves, self.sizes, self.prices(order), NOTHING)
        cost = float(self.costs @ ends)
        moves = max(1, WORK // count**3)
        worth = self.value * (1.0 - NEAR if self._curves.bounded else WORTH)
        while vain < count * count and move < count**3 and cost < worth:
            better, last = insertion(self._curves, self.search, order, cost, move, moves)
            vain = last if better < cost else vain + moves
            cost, move = better, move + moves
            if now() >= until:
                break
        if cost < self.value:
            self.value, self.order = cost, order

    def _sown(self) -> Tree:
        """Return a tree with its root alone, and the best solution."""
        made = tree(len(self.sizes), MOST_LEAVES)
        made.best[0], made.found[:] = self.value, self.order
        return made

    def _explore(self, until: float) -> bool:
        """Branch and bound; tell whether it has ended."""
        if self._tree is None:
            self._tree = self._sown()
        searched = self._tree
        nodes = max(1, WORK // len(self.sizes) ** 3)
        status = PAUSED
        while status == PAUSED:
            status = explore(self._curves, self.search, self._paths, searched, nodes)
            if now() >= until:
                break
        if searched.best[0] < self.value:
            self.value, self.order = float(searched.best[0]), searched.found.copy()
        self.rest = float(open_bound(searched))
        floor = min([self.rest, self.value, *(bound for bound, _ in self.leaves())])
        self.bound = max(self.bound, float(floor))
        return bool(status != PAUSED)

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
            ends = played(self._curves, self.sizes, lam, NOTHING)
            if not self._given or _in_order(ends[self.order[::-1]]):
                self.value = float(self.costs @ ends)

    def _descend(self, until: float) -> bool:
        """Move single jobs in the order while that helps; tell whether no move does any more."""
        count = len(self.sizes)
        if not self.playable:
            return True
        if self._cost == inf:
            ends = played(self._curves, self.sizes, self.prices(), NOTHING)
            self._cost = float(self.costs @ ends)
        moves = max(1, WORK // count**3)
        while self._vain < count * count and self._move < TRIALS + count * count:
            cost, vain = insertion(
                self._curves, self.search, self.order, self._cost, self._move, moves
            )
            self._vain = vain if cost < self._cost else self._vain + moves
            self._cost, self._move = cost, self._move + moves
            self.value = min(self.value, cost)
            if now() >= until:
                return False
        return True

    @property
    def nodes(self) -> int:
        """How many nodes diagrams had, or branch and bound has explored."""
        made = 0 if self.diagram is None else self.diagram.made
        return made + (0 if self._tree is None else int(self._tree.numbers[2]))

    def _least(self) -> float:
        """Return the bound of the root: each job at the price it has alone."""
        alone = np.zeros(len(self.sizes))
        order, prices = np.zeros(len(self.sizes), dtype=np.int64), np.zeros(len(self.sizes))
        look_ahead(self._curves, self.costs, order, 0, 0.0, prices, alone)
        return float(alone @ self.sizes)

    def leaves(self) -> list[tuple[float, Order]]:
        """Return (bound, order) of the orders that could still be better, the least bound first."""
        if self._tree is None:
            return []
        limit = self.value * (1 - NEAR)
        count = int(self._tree.numbers[1])
        values = self._tree.values[:count]
        rank = [i for i in np.argsort(values, kind="stable") if values[i] < limit]
        return [(float(values[i]), self._tree.leaves[i].copy()) for i in rank]

    def closed(self) -> closed_form.Optimum:
        """Return the optimum of the order in closed form, where all speedups are one k^p."""
        order = self.order
        return closed_form.optimum(
            self.sizes[order], self.costs[order], self._p or 1.0, self.instance.servers
        )

    def prices(self, order: Order | None = None) -> Floats:
        """Return the price of each job's work for an order, or the best, shape (M,)."""
        compiled()
        order = self.order if order is None else order
        return prices_of(self._curves, order, levels_of(self.costs, order))

    def solution(self) -> Allocated:
        """Return the best solution: shares by the prices of its order, played to the end."""
        if self._p is not None:
            return self._proportional()
        count = len(self.sizes)
        record = np.zeros((count, count))
        if self.large is not None:
            ends = self.large.played(record)
        else:
            ends = played(self._curves, self.sizes, self.prices(), record)
        times = np.unique(ends)
        starts = [0.0, *times[:-1].tolist()]
        everyone = np.arange(count)
        epochs = [
            (start, end, everyone, shares)
            for start, end, shares in zip(starts, times.tolist(), record, strict=False)
        ]
        first_first = self.order[::-1]
        if not _in_order(ends[first_first]):
            first_first = np.argsort(ends, kind="stable")
        return allocated(self.instance, ends, epochs, order=first_first.tolist())

    def _proportional(self) -> Allocated:
        """Return the closed form's solution; for many jobs without its epochs."""
        found, order = self.closed(), self.order
        count = len(order)
        ends, first_first = np.empty(count), order[::-1].tolist()
        ends[order] = found.completion
        if count * (count + 1) // 2 > MOST_SHARES:
            names = self.instance.jobs
            pairs = zip(order.tolist(), found.proportions.tolist(), strict=True)
            logs = {names[j].name: log for j, log in pairs}
            return allocated(self.instance, ends, [], order=first_first, proportions=logs)
        epochs, start = [], 0.0
        for last in np.flatnonzero(np.diff(found.completion, append=-inf) != 0)[::-1]:
            logs_left = found.proportions[: last + 1]
            shares = np.exp(logs_left - logs_left.max())
            end = float(found.completion[last])
            epochs.append((start, end, order[: last + 1], shares / shares.sum()))
            start = end
        return allocated(self.instance, ends, epochs, order=first_first)


NOTHING = np.zeros((0, 0))


def _in_order(ends: Floats) -> bool:
    """Tell whether completions, of the first first, are in order but for rounding."""
    return bool((ends[:-1] <= ends[1:] * (1.0 + TOGETHER)).all())


def alike(instance: Instance, rules: Rules) -> tuple[Ints, Ints, float]:
    """Return which jobs nothing tells apart, who need not complete before whom, and how many sets.

    Of jobs of one speedup, and side constraints, one that is as large and costs no more need not
    complete before the other: where it does, their remaining sizes were equal once, and from then
    on they can change places. With arrivals it must also arrive no earlier. Of equal ones the last
    in the file completes last.

    Returns
    -------
    classes : ndarray of int64
        The same number for jobs that nothing tells apart, shape (M,).
    after : ndarray of int64
        For each job those that complete after it, as binary numbers, shape (M,); 0 for all where
        there are more than `MOST_JOBS`.
    sets : float
        How many sets of last jobs there are, at the most.
    """
    asked: list[list[object]] = [[] for _ in instance.jobs]
    for number, bound in enumerate(rules.bounds):
        for j in bound.jobs:
            alone = len(bound.jobs) == 1
            asks = (bound.name, bound.at_least, bound.at_most)
            asked[j].append(asks if alone else number)
    groups: dict[tuple[object, ...], list[int]] = {}
    for j in range(len(instance.jobs)):
        groups.setdefault((instance.kinds[j], *asked[j]), []).append(j)
    sizes, costs, arrivals = instance.sizes, instance.costs, instance.arrivals
    classes, after = np.arange(len(sizes)), np.zeros(len(sizes), dtype=np.int64)
    sets = 1.0
    for jobs in groups.values():
        jobs.sort(key=lambda j: (-sizes[j], costs[j], -arrivals[j], -j))
        chain, most, first = True, -np.inf, np.inf
        for place, j in enumerate(jobs):
            chain = chain and most <= costs[j] and arrivals[j] <= first
            most, first = max(most, costs[j]), min(first, arrivals[j])
            i = jobs[max(place - 1, 0)]  # equal ones stand together
            if all(of[i] == of[j] for of in (sizes, costs, arrivals)):
                classes[j] = classes[i]
            if len(sizes) <= MOST_JOBS:
                for i in jobs[:place]:
                    if costs[i] <= costs[j] and arrivals[i] >= arrivals[j]:
                        after[j] |= 1 << i
        sets *= len(jobs) + 1.0 if chain else 2.0 ** min(len(jobs), 1000)
    return classes, after, sets
