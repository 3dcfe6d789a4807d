"""Searches over completion orders: the optimum of one, or the best of all by branch and bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import (
    Order,
    Rules,
    Timeline,
    bounds_of,
    smiths_order,
    without_floors,
)
from schedopt.instances.extras import installed
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.clock import now
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.hesrpt import branch_and_bound_kernels as kernels
from schedopt.solvers.hesrpt import dominance
from schedopt.solvers.hesrpt.attempt import Attempt, run_attempt
from schedopt.solvers.hesrpt.decision_diagram import FEW_PATHS, Diagram
from schedopt.solvers.hesrpt.direct import Optimum, least_makespan, optimum
from schedopt.solvers.hesrpt.feasibility import servable
from schedopt.solvers.hesrpt.price_kernels import Simulation, levels_of, prices_of, simulate
from schedopt.solvers.hesrpt.speedup_kernels import Floats, Ints, curves, speeds
from schedopt.solvers.result import Result, Termination

MOST_SHARES = 1_000_000
"""Most shares written epoch by epoch; beyond, proportions replace them where possible."""
MOST_LEAVES = 20_000
REPLAYS = 12
"""How often the order in which jobs complete is priced and played again."""
WORK = 200_000
"""Nodes times jobs cubed between two looks at the clock."""
TOGETHER = 1e-12
"""Completions this near, relatively, count as simultaneous: only rounding separates them."""


def order_search(
    instance: Instance, rules: Rules | None = None, order: Sequence[int] | None = None
) -> GivenOrder | BestOrder:
    """Return the search for the best order: direct where there is a formula, else a tree."""
    rules = rules or Rules(instance)
    if dominance.is_one_order(instance, rules, given=order is not None):
        return GivenOrder(instance, rules, order)
    return BestOrder(instance, rules)


class OrderSearch:
    """What searches over completion orders share: prices, and the allocations that they lead to.

    Prices see bounds of single jobs and of disjoint teams. Where there are other side constraints,
    what prices prove is still a bound, but the shares they lead to need not satisfy all constraints
    (`playable` is False), and give no incumbent. Where not all jobs can be there together, floors
    are not seen.

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
        count = len(self.sizes)
        together = not instance.arrivals.any() or servable(rules.bounds, range(count))
        bounds = bounds_of(rules if together else without_floors(rules), count)
        self.playable = together and bounds.whole
        self.curves = curves(instance, bounds)
        teams = np.append(self.curves.team_mosts, self.curves.servers)[self.curves.teams]
        most = np.minimum(self.curves.mosts, teams)
        self.tops = speeds(self.curves, np.arange(count), most, np.zeros(count))
        self.starts = np.unique(np.append(0.0, instance.arrivals))
        self.groups = np.searchsorted(self.starts, instance.arrivals).astype(np.int64)

    def cost_each_alone(self) -> float:
        """Return what jobs cost if each has all servers that it may have from its arrival on."""
        with np.errstate(divide="ignore"):
            return float(self.costs @ (self.sizes / self.tops)) * (1.0 - kernels.NEAR)

    def prices(self, order: Order) -> Floats:
        """Return the price of each job's work for an order, shape (M,)."""
        return prices_of(self.curves, order, levels_of(self.costs, order))

    def simulate(self, prices: Floats, record: Floats | None = None) -> Simulation:
        """Serve those present so that they always earn the most at the prices."""
        if not np.isfinite(prices).all():  # those of an order in which jobs cannot complete
            return Simulation(np.full(len(prices), inf), np.zeros(0), np.zeros(0))
        shares = np.zeros((0, 0)) if record is None else record
        simulated: Simulation = simulate(
            self.curves, self.sizes, prices, self.starts, self.groups, shares
        )
        return simulated

    def cost(self, ends: Floats) -> float:
        """Return the cost of completions, infinite where some job is never done."""
        return float(self.costs @ (ends - self.instance.arrivals))

    def allocation(self, prices: Floats, order: Order) -> Allocated:
        """Return the play of prices; the order settles that of jobs that complete together."""
        everyone = np.arange(len(prices))
        record = np.zeros((len(prices) + len(self.starts), len(prices)))
        simulated = self.simulate(prices, record)
        times = simulated.times.tolist()
        epochs = zip([0.0, *times], times, [everyone] * len(times), record, strict=False)
        first_first = order[::-1]
        if not in_order(simulated.ends[first_first]):
            first_first = np.argsort(simulated.ends, kind="stable")
        return allocated(self.instance, simulated.ends, epochs, order=first_first.tolist())


def in_order(ends: Floats) -> bool:
    """Tell whether completions, of the first first, are in order but for rounding."""
    return bool((ends[:-1] <= ends[1:] * (1.0 + TOGETHER)).all())


class GivenOrder(OrderSearch):
    """The optimum of a given order, or of shortest first, where that is best."""

    name = "closed-form"

    def __init__(
        self, instance: Instance, rules: Rules, order: Sequence[int] | None = None
    ) -> None:
        super().__init__(instance, rules, order)
        self._p = None if rules.bounds else instance.power
        self._given = order is not None
        if not self._given:  # Theorem 5
            self.order = np.lexsort((-np.arange(len(self.sizes)), -self.sizes)).astype(np.int64)

    def closed_form(self) -> Optimum:
        """Return the optimum of the order in closed form, where all speedups are one k^p."""
        sizes, costs = self.sizes[self.order], self.costs[self.order]
        return optimum(sizes, costs, self._p or 1.0, self.instance.servers)

    def advance(self, seconds: float) -> bool:
        """Set value and bound; that ends it."""
        del seconds
        if self._p is not None:
            best = self.closed_form()
            self.value, self.bound = best.value, best.bound
            return True
        prices = self.prices(self.order)
        self.bound = float(prices @ self.sizes)
        if self.playable:
            ends = self.simulate(prices).ends
            if not self._given or in_order(ends[self.order[::-1]]):
                self.value = self.cost(ends)
        return True

    def solution(self) -> Allocated:
        """Return the closed form's solution, for many jobs without its epochs, or a play."""
        if self._p is None:
            return self.allocation(self.prices(self.order), self.order)
        solved, order = self.closed_form(), self.order
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


class BestOrder(OrderSearch):
    """Find the least cost over all orders, and over what arrives between which completions.

    Diagrams, where all are there at once, leave some orders to branch and bound; anytime. Only what
    is cheaper than `incumbent` is looked for: there jobs complete `after` each other, as bits,
    where that is known. `sets` counts the sets of last jobs, 0 where jobs arrive. `rest` bounds
    what is neither explored nor among the `leaves`; it is infinite at the end.
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
        count, own = len(self.sizes), dominance.completes_after(instance, rules)
        own |= 0 if after is None else after
        few = count <= dominance.MOST_JOBS and not instance.arrivals.any()
        self.sets = dominance.count_sets(own, dominance.MOST_SETS) if few else 0
        self.diagram: Diagram | None = None
        if 0 < self.sets <= dominance.MOST_SETS:
            self.diagram = Diagram(self.curves, self.sizes, self.costs, own)
        self._pass: Iterator[None] | None = None
        self._data = kernels.TimelineData(
            self.sizes,
            self.costs,
            self.starts,
            self.groups,
            own,
            self.playable,
            kernels.no_paths(count),
        )
        self._tree = kernels.new_tree(count, len(self.starts), MOST_LEAVES)
        self.value, self.rest = incumbent, inf
        self._replay()
        self.bound = self.cost_each_alone()

    def _replay(self) -> None:
        """Simulate the prices of an order, then of the order in which jobs complete, and so on."""
        last, order = inf, self.order
        for _ in range(REPLAYS if self.playable else 0):
            prices = self.prices(order)
            ends = self.simulate(prices).ends
            cost = self.cost(ends)
            if cost < self.value:
                self.value, self.order, self._tree.incumbent[:] = cost, order, prices
            if not cost < last:
                break
            last, order = cost, np.argsort(-ends, kind="stable").astype(np.int64)

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether bound and value are final."""
        until = now() + seconds
        if len(self.sizes) > dominance.MOST_JOBS:
            self.rest = self.bound  # all orders are left
            return True
        while self.diagram is not None and not len(self._data.paths.child):
            if self._pass is None:
                self._pass = self.diagram.advance(self.value * (1.0 - kernels.NEAR))
            for _ in self._pass:
                if now() >= until:
                    return False
            self._pass = None
            self.bound = max(self.bound, min(self.diagram.bound, self.value))
            if self.diagram.paths <= FEW_PATHS or self.diagram.stalled:
                self._data = self._data._replace(paths=self.diagram.open_paths())
        return self._explore(until)

    def _explore(self, until: float) -> bool:
        """Branch and bound; tell whether it has ended."""
        searched, status = self._tree, kernels.PAUSED
        searched.best[0] = self.value
        nodes = max(1, WORK // len(self.sizes) ** 3)
        while status == kernels.PAUSED:
            status = kernels.advance_search(self.curves, self._data, searched, nodes)
            if now() >= until:
                break
        if searched.best[0] < self.value:
            self.value = float(searched.best[0])
            placed = searched.course
            self.order = placed[placed != kernels.ARRIVAL].copy()
        self.rest = float(kernels.open_bound(searched))
        floor = min([self.rest, self.value, *(bound for bound, _ in self.leaves()[:1])])
        self.bound = max(self.bound, float(floor))
        return bool(status != kernels.PAUSED)

    def leaves(self) -> list[tuple[float, Timeline]]:
        """Return (bound, timeline) of those that could still be better, the least bound first."""
        leaves = kernels.open_leaves(self._tree, self.value * (1 - kernels.NEAR))
        return [(bound, self._timeline(leaf.tolist())) for bound, leaf in leaves]

    def _timeline(self, placed: list[int]) -> Timeline:
        """Return the order from the last, and how many complete before each arrival."""
        order = [j for j in placed if j != kernels.ARRIVAL]
        arrived: dict[str, int] = {}
        group, completed = 0, 0
        for j in reversed(placed):
            if j != kernels.ARRIVAL:
                completed += 1
                continue
            group += 1
            for i in np.flatnonzero(self.groups == group):
                arrived[self.instance.jobs[i].name] = completed
        return order, arrived

    @property
    def best_prices(self) -> Floats:
        """The prices of each job's work that lead to the incumbent, shape (M,)."""
        return self._tree.incumbent

    def solution(self) -> Allocated:
        """Return the best solution that was played."""
        return self.allocation(self.best_prices, self.order)


def solve_one(model: Allocation, task: EngineTask) -> Result[Allocated] | Partial:
    """Solve an allocation with a single order to try, or in which all complete together."""
    order = model.last_first.tolist() if model.given else None

    def work(attempt: Attempt) -> Termination:
        if model.instance.objective == "makespan":
            high, low, shares = least_makespan(model.instance)
            every = np.arange(len(shares))
            ends, epochs = np.full(len(every), high), [(0.0, high, every, shares)]
            first_first = order[::-1] if order else None
            together = allocated(model.instance, ends, epochs, order=first_first)
            attempt.take(together, "closed-form")
            attempt.raise_bound(low, "closed-form")
            return "completed"
        attempt.run_search(GivenOrder(model.instance, model.rules, order))
        attempt.message = "jobs of the given order would complete in another by its prices"
        return attempt.end_status()

    result = run_attempt(model, task, "closed-form", work)
    goes_on = result.termination in ("completed", "error") and not task.alone
    return Partial(result, result.bound) if goes_on else result


def solve_all(model: Allocation, task: EngineTask) -> Result[Allocated]:
    """Solve an allocation over all orders and timelines; programs close what prices leave open."""

    def work(attempt: Attempt) -> Termination:
        instance, order = model.instance, None
        start = task.incumbent or (task.heuristic() if instance.arrivals.any() else None)
        if start is not None:
            order = [instance.index[name] for name in reversed(start.order)]
            if task.incumbent is None:
                attempt.take(start, None)
        search = BestOrder(instance, model.rules, order, attempt.value, task.hints)
        if not search.playable and installed("clarabel"):
            attempt.take_even_split()
            attempt.take_program(*plain_timeline(instance))
            search.value = attempt.value
        if attempt.run_search(search) and not attempt.is_closed():
            if search.rest < attempt.value * (1 - kernels.NEAR):
                attempt.message = "the diagrams of all orders stay too wide to prove more"
            rest = min(search.rest, search.value)
            return attempt.over_programs(search.leaves(), search.bound, rest)
        return attempt.end_status()

    return run_attempt(model, task, "tree", work)


def plain_timeline(instance: Instance) -> Timeline:
    """Return a good timeline without side constraints.

    It is the order from the last job to complete, and how many have completed at each arrival.
    """
    free = OrderSearch(instance, Rules(instance))
    ends = free.simulate(instance.costs / free.tops).ends
    late = np.flatnonzero(instance.arrivals)
    arrived = {instance.names[j]: int((ends <= instance.arrivals[j]).sum()) for j in late}
    return np.argsort(-ends, kind="stable").tolist(), arrived
