"""Search over completion orders: the optimum of one order, or branch and bound over all."""

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
from schedopt.solvers.hesrpt import feasibility
from schedopt.solvers.hesrpt.attempt import Attempt, plain_timeline, run_attempt
from schedopt.solvers.hesrpt.closed_form import Optimum, least_makespan, optimum
from schedopt.solvers.hesrpt.decision_diagram import FEW_PATHS, Diagram
from schedopt.solvers.hesrpt.price_kernels import (
    Floats,
    Ints,
    Simulation,
    curves,
    most_servers,
    prices_of,
    simulate,
    speeds,
)
from schedopt.solvers.result import Result, Termination

ROUNDING = 1e-12
"""Relative difference of completion times below which they count as equal."""
MOST_SETS = 1 << 18
"""Most sets of last jobs for which decision diagrams are built."""
MOST_LEAVES = 20_000
"""Most leaves that branch and bound keeps for convex programs."""
MOST_REPLAYS = 12
"""Most times that the order of completions is simulated again with its own prices."""
WORK, GROWTH = 200_000, 16
"""Nodes times jobs cubed before the first check of the clock; its largest multiple later."""


def order_search(
    instance: Instance, rules: Rules | None = None, order: Sequence[int] | None = None
) -> GivenOrder | BestOrder:
    """Return a search for the best order: for one order if that is optimal, else for all."""
    rules = rules or Rules(instance)
    if feasibility.is_one_order(instance, rules, given=order is not None):
        return GivenOrder(instance, rules, order)
    return BestOrder(instance, rules)


class OrderSearch:
    """Base class of the searches: prices of orders, and the allocations that prices imply.

    Prices take the limits of single jobs and of disjoint teams into account. With other side
    constraints they still prove a bound, but the shares that they imply may violate constraints
    (``feasible_shares`` is False) and give no incumbent. If not all jobs can be present together,
    floors are ignored.

    ``value`` is infinite without a solution. ``order`` is from the last job to the first; at first
    it is Smith's order, or the one that is given. ``best`` is the simulation of ``best_prices``.
    """

    def __init__(
        self, instance: Instance, rules: Rules, order: Sequence[int] | None = None
    ) -> None:
        self.instance = instance
        self.sizes, self.costs = instance.sizes, instance.costs
        self.value, self.bound = inf, 0.0
        self.order = smiths_order(instance) if order is None else np.array(order, dtype=np.int64)
        self.best_prices, self.best = np.zeros(0), Simulation(*np.zeros((3, 0)))
        count = len(self.sizes)
        everyone = range(count)
        together = not instance.arrivals.any() or feasibility.servable(rules.bounds, everyone)
        bounds = bounds_of(rules if together else without_floors(rules), count)
        self.feasible_shares = together and bounds.whole
        self.curves = curves(instance, bounds)
        most = most_servers(self.curves)
        self.tops = speeds(self.curves, np.arange(count), most, np.zeros(count))
        self.starts = np.unique(np.append(0.0, instance.arrivals))
        self.groups = np.searchsorted(self.starts, instance.arrivals).astype(np.int64)

    def cost_each_alone(self) -> float:
        """Return the total cost if each job had its most servers from its arrival on."""
        with np.errstate(divide="ignore"):
            return float(self.costs @ (self.sizes / self.tops)) * (1.0 - kernels.NEAR)

    def prices(self, order: Order) -> Floats:
        """Return the price of each job's work for an order, shape (M,)."""
        return prices_of(self.curves, order, np.cumsum(self.costs[order]))

    def simulate(self, prices: Floats, record: Floats | None = None) -> Simulation:
        """Simulate the shares that maximize the value of work at these prices at every time."""
        if not np.isfinite(prices).all():  # in this order the jobs cannot complete
            return Simulation(np.full(len(prices), inf), np.zeros(0), np.zeros(0))
        shares = np.zeros((0, 0)) if record is None else record
        simulated: Simulation = simulate(
            self.curves, self.sizes, prices, self.starts, self.groups, shares
        )
        return simulated

    def cost(self, ends: Floats) -> float:
        """Return the cost of completion times, infinite if a job never completes."""
        return float(self.costs @ (ends - self.instance.arrivals))

    def try_prices(self, prices: Floats) -> tuple[float, Floats]:
        """Simulate prices and keep them if they are the best; return cost and completion times."""
        prices = np.maximum(prices, float(prices.max(initial=0.0)) * 1e-12)
        simulated = self.simulate(prices)
        value = self.cost(simulated.ends)
        if value < self.value:
            self.value, self.best_prices, self.best = value, prices, simulated
            self.order = np.argsort(-simulated.ends, kind="stable").astype(np.int64)
        return value, simulated.ends

    def replay(self, order: Order, improvement: float = 0.0) -> Iterator[None]:
        """Simulate the prices of an order, then of its order of completions, while costs fall."""
        last = inf
        for _ in range(MOST_REPLAYS):
            yield
            value, ends = self.try_prices(self.prices(order))
            if not value < last * (1.0 - improvement):
                return
            last, order = value, np.argsort(-ends, kind="stable").astype(np.int64)

    def solution(self) -> Allocated:
        """Return the best simulated solution."""
        return self.allocation(self.best_prices, self.order)

    def allocation(self, prices: Floats, order: Order) -> Allocated:
        """Return the simulated allocation of prices; ``order`` breaks ties of completion times."""
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
    """Return True if completion times are nondecreasing up to rounding."""
    return bool((ends[:-1] <= ends[1:] * (1.0 + ROUNDING)).all())


class GivenOrder(OrderSearch):
    """The optimum of a given order, or of shortest first where that order is optimal."""

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
        """Return the optimum of the order in closed form, for one common speedup k^p."""
        sizes, costs = self.sizes[self.order], self.costs[self.order]
        return optimum(sizes, costs, self._p or 1.0, self.instance.servers)

    def advance(self, seconds: float) -> bool:
        """Compute value and bound; the search then has ended."""
        del seconds
        if self._p is not None:
            best = self.closed_form()
            self.value, self.bound = best.value, best.bound
            return True
        prices = self.prices(self.order)
        self.bound = float(prices @ self.sizes)
        if self.feasible_shares:
            ends = self.simulate(prices).ends
            if not self._given or in_order(ends[self.order[::-1]]):
                self.value = self.cost(ends)
        return True

    def solution(self) -> Allocated:
        """Return the solution of the closed form, or else the simulated one."""
        if self._p is None:
            return self.allocation(self.prices(self.order), self.order)
        solved, order = self.closed_form(), self.order
        ends = np.empty(len(order))
        ends[order] = solved.completion
        epochs, start = [], 0.0
        for last in np.flatnonzero(np.diff(solved.completion, append=-inf) != 0)[::-1]:
            logs_left = solved.proportions[: last + 1]
            shares = np.exp(logs_left - logs_left.max())
            end = float(solved.completion[last])
            epochs.append((start, end, order[: last + 1], shares / shares.sum()))
            start = end
        return allocated(self.instance, ends, epochs, order=order[::-1].tolist())


class BestOrder(OrderSearch):
    """Branch and bound over all completion orders, and over the positions of arrivals in them.

    Without arrivals, decision diagrams first exclude most orders. The search can be interrupted. It
    starts from ``order`` and looks for solutions cheaper than ``incumbent``; in each of them, the
    jobs of the bit mask ``after[j]`` complete after job j. ``sets`` is the number of sets of last
    jobs, 0 with arrivals. ``rest`` is a lower bound of what is neither explored nor among the
    leaves, infinite at the end.
    """

    name = "branch-and-bound"

    def __init__(
        self,
        instance: Instance,
        rules: Rules,
        order: Sequence[int] | None = None,
        incumbent: float = inf,
        after: Ints | None = None,
    ) -> None:
        super().__init__(instance, rules, order)
        count, own = len(self.sizes), feasibility.completes_after(instance, rules)
        own |= 0 if after is None else after
        few = count <= feasibility.MOST_JOBS and not instance.arrivals.any()
        self.sets = feasibility.count_sets(own, MOST_SETS) if few else 0
        self.diagram: Diagram | None = None
        if 0 < self.sets <= MOST_SETS:
            self.diagram = Diagram(self.curves, self.sizes, self.costs, own)
        self._pass: Iterator[None] | None = None
        self._data = kernels.TimelineData(
            self.sizes,
            self.costs,
            self.starts,
            self.groups,
            own,
            self.feasible_shares,
            kernels.no_paths(count),
        )
        self._tree = kernels.new_tree(count, len(self.starts), MOST_LEAVES)
        self.value, self.rest = incumbent, inf
        if self.feasible_shares:
            for _ in self.replay(self.order):
                pass
        self.bound = self.cost_each_alone()

    def advance(self, seconds: float) -> bool:
        """Work for about ``seconds``; return True when bound and value are final."""
        until = now() + seconds
        if len(self.sizes) > feasibility.MOST_JOBS:
            self.rest = self.bound  # no order was excluded
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
        """Run branch and bound; return True if it has ended."""
        searched, status = self._tree, kernels.PAUSED
        searched.best[0] = self.value
        least = nodes = max(1, WORK // len(self.sizes) ** 3)
        while status == kernels.PAUSED:
            status = kernels.advance_search(self.curves, self._data, searched, nodes)
            nodes = min(2 * nodes, GROWTH * least)  # a long search is compiled
            if now() >= until:
                break
        if searched.best[0] < self.value:
            self.value, self.best_prices = float(searched.best[0]), searched.incumbent.copy()
            placed = searched.course
            self.order = placed[placed != kernels.ARRIVAL].copy()
        self.rest = float(kernels.open_bound(searched))
        floor = min([self.rest, self.value, *(bound for bound, _ in self.leaves()[:1])])
        self.bound = max(self.bound, float(floor))
        return bool(status != kernels.PAUSED)

    def leaves(self) -> list[tuple[float, Timeline]]:
        """Return (bound, timeline) of the open leaves, in increasing order of their bounds."""
        leaves = kernels.open_leaves(self._tree, self.value * (1 - kernels.NEAR))
        return [(bound, self._timeline(leaf.tolist())) for bound, leaf in leaves]

    def _timeline(self, placed: list[int]) -> Timeline:
        """Return the order from the last job, and the number of completions before each arrival."""
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


def solve_one(model: Allocation, task: EngineTask) -> Result[Allocated] | Partial:
    """Solve an allocation with one order to try, or a makespan without arrivals."""
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
        attempt.message = "the prices of the given order complete the jobs in another order"
        return attempt.end_status()

    result = run_attempt(model, task, "closed-form", work)
    goes_on = result.termination in ("completed", "error") and not task.alone
    return Partial(result, result.bound) if goes_on else result


def solve_all(model: Allocation, task: EngineTask) -> Result[Allocated]:
    """Solve an allocation over all orders; convex programs solve the leaves that remain."""

    def work(attempt: Attempt) -> Termination:
        instance, order = model.instance, None
        start = task.incumbent or (task.heuristic() if instance.arrivals.any() else None)
        if start is not None:
            order = [instance.index[name] for name in reversed(start.order)]
            if task.incumbent is None:
                attempt.take(start, None)
        search = BestOrder(instance, model.rules, order, attempt.value, task.fixed)
        if not search.feasible_shares and installed("clarabel"):
            attempt.take_program(*plain_timeline(instance))
            search.value = attempt.value
        if attempt.run_search(search) and not attempt.is_closed():
            if search.rest < attempt.value * (1 - kernels.NEAR):
                attempt.message = "there are too many completion orders to prove a better bound"
            pruned = min(search.rest, search.value)
            return attempt.solve_leaves(search.leaves(), search.bound, pruned)
        return attempt.end_status()

    return run_attempt(model, task, "branch-and-bound", work)
