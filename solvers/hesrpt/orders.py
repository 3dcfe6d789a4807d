"""Completion orders and their prices: the optimum of one, or the best of all by a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Order, Rules, bounds_of, smiths_order
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.clock import now
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.hesrpt import closed_form, makespan
from schedopt.solvers.hesrpt.alike import (
    MOST_JOBS,
    MOST_SETS,
    alike,
    count_sets,
    one_order,
)
from schedopt.solvers.hesrpt.attempt import Attempt, Leaf, attempted
from schedopt.solvers.hesrpt.decision_diagram import FEW_PATHS, Diagram
from schedopt.solvers.hesrpt.kernels import Floats, Ints, curves
from schedopt.solvers.hesrpt.price_kernels import levels_of, played, prices_of
from schedopt.solvers.hesrpt.tree_kernels import (
    NEAR,
    PAUSED,
    Late,
    Tree,
    explore,
    insertion,
    no_paths,
    open_bound,
    open_leaves,
    tree,
)
from schedopt.solvers.result import Result, Termination

MOST_SHARES = 1_000_000
"""Most shares written epoch by epoch; beyond, proportions replace them where possible."""
MOST_LEAVES = 20_000
TRIALS = 20_000
"""Moves that the local search tries at the most, beyond one round."""
WORK = 200_000
"""Nodes, or moves, times jobs cubed between two looks at the clock."""
TOGETHER = 1e-12
"""Completions this near, relatively, count as simultaneous: only rounding separates them."""
NOTHING = np.zeros((0, 0))


def order_search(
    instance: Instance, rules: Rules | None = None, order: Sequence[int] | None = None
) -> OneOrder | OrderTree:
    """Return the search for the best order: direct where there is a formula, else a tree."""
    rules = rules or Rules(instance)
    if one_order(instance, rules, given=order is not None):
        return OneOrder(instance, rules, order)
    return OrderTree(instance, rules)


class OrderSearch:
    """What all searches over completion orders share: prices, and the solutions made from them.

    Prices see bounds of single jobs and of disjoint teams. Where there are other side constraints,
    what prices prove is still a bound, but the shares they lead to need not satisfy all constraints
    (`playable` is False), and give no incumbent.

    `value` is infinite where there is no solution. Orders run from the last job to complete, and
    start from Smith's order unless one is given.
    """

    def __init__(
        self, instance: Instance, rules: Rules, order: Sequence[int] | None = None
    ) -> None:
        self.instance = instance
        self.sizes, self.costs = instance.sizes, instance.costs
        self.value, self.bound = inf, 0.0
        self.order = smiths_order(instance) if order is None else np.array(order, dtype=np.int64)
        bounds = bounds_of(rules, len(self.sizes))
        self.playable = bounds.whole
        self._curves = curves(instance, bounds)
        self._p = None if rules.bounds else instance.power

    def closed(self) -> closed_form.Optimum:
        """Return the optimum of the order in closed form, where all speedups are one k^p."""
        order = self.order
        return closed_form.optimum(
            self.sizes[order], self.costs[order], self._p or 1.0, self.instance.servers
        )

    def prices(self, order: Order | None = None) -> Floats:
        """Return the price of each job's work for an order, or the best, shape (M,)."""
        order = self.order if order is None else order
        return prices_of(self._curves, order, levels_of(self.costs, order))

    def solution(self) -> Allocated:
        """Return the best solution: shares by the prices of its order, played to the end."""
        if self._p is not None:
            return self._proportional()
        record = np.zeros((len(self.sizes), len(self.sizes)))
        ends = played(self._curves, self.sizes, self.prices(), record)
        return written(self.instance, ends, record, self.order)

    def _proportional(self) -> Allocated:
        """Return the closed form's solution; for many jobs without its epochs."""
        solved, order = self.closed(), self.order
        count = len(order)
        ends, first_first = np.empty(count), order[::-1].tolist()
        ends[order] = solved.completion
        if count * (count + 1) // 2 > MOST_SHARES:
            names = self.instance.jobs
            pairs = zip(order.tolist(), solved.proportions.tolist(), strict=True)
            logs = {names[j].name: log for j, log in pairs}
            return allocated(self.instance, ends, [], order=first_first, proportions=logs)
        epochs, start = [], 0.0
        for last in np.flatnonzero(np.diff(solved.completion, append=-inf) != 0)[::-1]:
            logs_left = solved.proportions[: last + 1]
            shares = np.exp(logs_left - logs_left.max())
            end = float(solved.completion[last])
            epochs.append((start, end, order[: last + 1], shares / shares.sum()))
            start = end
        return allocated(self.instance, ends, epochs, order=first_first)


def written(instance: Instance, ends: Floats, record: Floats, order: Order) -> Allocated:
    """Return a solution from completions, and shares by epoch and job, shape (M, M).

    `order` settles the order of jobs that complete together.
    """
    times = np.unique(ends)
    starts = [0.0, *times[:-1].tolist()]
    everyone = np.arange(len(ends))
    epochs = [
        (start, end, everyone, shares)
        for start, end, shares in zip(starts, times.tolist(), record, strict=False)
    ]
    first_first = order[::-1]
    if not _in_order(ends[first_first]):
        first_first = np.argsort(ends, kind="stable")
    return allocated(instance, ends, epochs, order=first_first.tolist())


def _in_order(ends: Floats) -> bool:
    """Tell whether completions, of the first first, are in order but for rounding."""
    return bool((ends[:-1] <= ends[1:] * (1.0 + TOGETHER)).all())


class OneOrder(OrderSearch):
    """The optimum of a given order, or of shortest first, where that is best."""

    name = "closed-form"

    def __init__(
        self, instance: Instance, rules: Rules, order: Sequence[int] | None = None
    ) -> None:
        super().__init__(instance, rules, order)
        self._given = order is not None
        if not self._given:  # Theorem 5
            self.order = np.lexsort((-np.arange(len(self.sizes)), -self.sizes)).astype(np.int64)

    def advance(self, seconds: float) -> bool:
        """Set value and bound; that ends it."""
        del seconds
        if self._p is not None:
            found = self.closed()
            self.value = found.value
            self.bound = found.value if self._given else found.bound
            return True
        lam = self.prices()
        self.bound = float(lam @ self.sizes)
        if self.playable:
            ends = played(self._curves, self.sizes, lam, NOTHING)
            if not self._given or _in_order(ends[self.order[::-1]]):
                self.value = float(self.costs @ ends)
        return True


class OrderTree(OrderSearch):
    """Find the order with the least cost of all, by diagrams and branch and bound; anytime.

    Only solutions cheaper than `incumbent` are looked for: those complete jobs `after` each other,
    as bits, where that is known. `sets` counts the sets of last jobs, 0 where there are too many
    jobs. `rest` bounds what is neither explored nor among the `leaves`; it is infinite at the end.
    """

    name = "tree"

    def __init__(
        self,
        instance: Instance,
        rules: Rules,
        order: Sequence[int] | None = None,
        incumbent: float = inf,
        after: Ints | None = None,
    ) -> None:
        super().__init__(instance, rules, order)
        self.value, self.rest = incumbent, inf
        own = alike(instance, rules)
        if after is not None:
            own |= after
        self.sets = count_sets(own, MOST_SETS) if len(own) <= MOST_JOBS else 0
        count, groups = len(self.sizes), np.zeros(len(self.sizes), dtype=np.int64)
        self._late = Late(
            self.sizes, self.costs, np.zeros(1), groups, own, self.playable, no_paths(count)
        )
        self.diagram: Diagram | None = None
        if 0 < self.sets <= MOST_SETS:
            self.diagram = Diagram(self._curves, self.sizes, self.costs, own)
        self._pass: Iterator[None] | None = None
        self._tree: Tree | None = None
        self._descended = False
        self._cost, self._move, self._vain = inf, 0, 0

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether bound and value are final."""
        until = now() + seconds
        if not self._descended:
            self._descended = self._descend(until)
            self.bound = max(self.bound, self._least())
            if not self._descended:
                return False
        if self.diagram is not None:
            return self._narrow(self.diagram, until)
        if len(self.sizes) > MOST_JOBS:
            self.rest = self.bound  # all orders are left
            return True
        return self._explore(until)

    def _narrow(self, diagram: Diagram, until: float) -> bool:
        """Make passes over the diagram until few orders remain, or a pass closes hardly any.

        Branch and bound then searches the orders that are left. Tell whether it has ended.
        """
        while self._tree is None:
            if self._pass is None:
                self._pass = diagram.advance(self.value * (1.0 - NEAR))
            for _ in self._pass:
                if now() >= until:
                    return False
            self._pass = None
            self.bound = max(self.bound, min(diagram.bound, self.value))
            if diagram.paths <= FEW_PATHS or diagram.stalled:
                self._tree, self._late = self._sown(), self._late._replace(paths=diagram.left())
        return self._explore(until)

    def _sown(self) -> Tree:
        """Return a tree with its root alone, and the best solution."""
        made = tree(len(self.sizes), 1, MOST_LEAVES)
        made.best[0], made.course[:] = self.value, self.order
        return made

    def _explore(self, until: float) -> bool:
        """Branch and bound; tell whether it has ended."""
        if self._tree is None:
            self._tree = self._sown()
        searched = self._tree
        nodes = max(1, WORK // len(self.sizes) ** 3)
        status = PAUSED
        while status == PAUSED:
            status = explore(self._curves, self._late, searched, nodes)
            if now() >= until:
                break
        if searched.best[0] < self.value:
            self.value, self.order = float(searched.best[0]), searched.course.copy()
        self.rest = float(open_bound(searched))
        floor = min([self.rest, self.value, *(bound for bound, _ in self.leaves())])
        self.bound = max(self.bound, float(floor))
        return bool(status != PAUSED)

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
                self._curves, self._late, self.order, self._cost, self._move, moves
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
        teams = np.append(self._curves.team_mosts, self._curves.servers)[self._curves.teams]
        room = np.minimum(self._curves.mosts, teams)
        with np.errstate(divide="ignore"):
            times = self.sizes / self.instance.each("at", np.arange(len(room)), room)
        return float(self.costs @ times)

    def leaves(self) -> list[tuple[float, Order]]:
        """Return (bound, order) of the orders that could still be better, the least bound first."""
        if self._tree is None:
            return []
        return open_leaves(self._tree, self.value * (1 - NEAR))


def solve_one(model: Allocation, task: EngineTask) -> Result[Allocated] | Partial:
    """Solve an allocation with a single order to try, or in which all complete together."""
    if model.instance.objective == "makespan":
        return makespan.solve(model, task)
    order = model.last_first.tolist() if model.given else None

    def work(attempt: Attempt) -> Termination:
        attempt.drive(OneOrder(model.instance, model.rules, order))
        attempt.message = "jobs of the given order would complete in another by its prices"
        return attempt.ended()

    result = attempted(model, task, "closed-form", work)
    goes_on = result.termination in ("completed", "error") and not task.alone
    return Partial(result, result.bound) if goes_on else result


def solve_all(model: Allocation, task: EngineTask) -> Result[Allocated]:
    """Solve an allocation over all orders; programs close what prices leave open."""

    def work(attempt: Attempt) -> Termination:
        order = None
        if task.incumbent is not None:
            order = [model.instance.index[name] for name in reversed(task.incumbent.order)]
        search = OrderTree(model.instance, model.rules, order, attempt.value, task.hints)
        if attempt.drive(search) and not attempt.near_enough():
            if search.rest < attempt.value * (1 - NEAR):
                attempt.message = "the diagrams of all orders stay too wide to prove more"
            leaves: list[Leaf] = [(bound, (o.tolist(), {})) for bound, o in search.leaves()]
            return attempt.over_programs(leaves, search.bound, min(search.rest, search.value))
        if search.diagram is None:
            attempt.message = "too many jobs to search all orders"
        return attempt.ended()

    return attempted(model, task, "tree", work)
