"""Certificates of bounds on allocations; `validation.hesrpt.bound` walks them, sharing no code."""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Rules, bounds_of
from schedopt.instances.constraints import Constraint, FairShare, Shares, label
from schedopt.instances.extras import installed
from schedopt.instances.hesrpt import Allocated
from schedopt.solvers.clock import now
from schedopt.solvers.hesrpt import closed_form
from schedopt.solvers.hesrpt.cone_programs import solve_program
from schedopt.solvers.hesrpt.decision_diagram import Diagram, Pass
from schedopt.solvers.hesrpt.dominance import MOST_JOBS, MOST_SETS, completes_after, count_sets
from schedopt.solvers.hesrpt.lagrangian import RentBound
from schedopt.solvers.hesrpt.lagrangian_kernels import (
    Path,
    Renter,
    cost_until,
    least_cost,
    least_cost_between,
    price_until,
)
from schedopt.solvers.hesrpt.lagrangian_search import LagrangianSearch
from schedopt.solvers.hesrpt.makespan import least_makespan
from schedopt.solvers.hesrpt.price_kernels import levels_of, prices_of
from schedopt.solvers.hesrpt.speedup_kernels import Floats, Ints, curves, slope, speed
from schedopt.solvers.result import Limits, Result

Certificate = dict[str, Any]
SLACK = 1e-11
"""Relative slack of prices, so that the checker's intervals find them feasible."""
ENOUGH = 5e-10
"""Share of a bound that a certificate may leave unproven; twice that counts as rounding."""
MOST_ORDERS = 2_000
"""Most orders that may be left for separate prices."""
ABOVE, LEFT = 3e-4, 400
"""How far above the bound diagrams close, and how many orders they may leave: the checker's prices
may be a little lower, and must close as many."""
MOST_SPREAD = 1e4
"""Costs that differ by more than this leave too few digits to prices beside each other."""
STEP = 0.2
"""Seconds between two looks at the clock."""
LONGEST = 30.0
"""Seconds that a certificate may take where there is no time limit."""


def certificate(
    model: Allocation,
    result: Result[Allocated],
    limits: Limits,
    holds: Callable[[Certificate], bool] = lambda _: True,
) -> Certificate | None:
    """Return data from which the bound of a result can be re-proved, None where none is found.

    `holds` is not called: what is returned may be short of the bound by a last digit.
    """
    del holds
    if result.bound is None or model.changed or model.instance.arrivals.any():
        return None
    maker = _PriceProof(model, float(result.bound), limits)
    if model.instance.objective == "makespan":
        return maker.together()
    if model.given:
        return maker.of_order(model.last_first)
    of_many = (maker.by_orders, maker.by_rents)
    if result.bounded_by == "rents":
        of_many = (maker.by_rents, maker.by_orders)
    return maker.by_ranks() or of_many[0]() or of_many[1]()


class _PriceProof:
    """A bound to be proved from prices, with the bounds of single jobs: teams are left out."""

    def __init__(self, model: Allocation, bound: float, limits: Limits) -> None:
        self.model, self.instance = model, model.instance
        self.goal = bound * (1.0 - ENOUGH)
        self.until = now() + (LONGEST if limits.time_limit is None else limits.time_limit)
        self.names = [job.name for job in self.instance.jobs]
        self.declared: list[Constraint] = [*self.instance.constraints, *model.added]
        self.rules = self._rules_of_kinds(Shares)
        self.curves = curves(self.instance, bounds_of(self.rules, len(self.names)))

    def _rules_of_kinds(self, *kinds: type[Constraint], by: str | None = None) -> Rules:
        """Return the rules of some kinds, fair shares of one grouping alone."""
        rules = Rules(self.instance)
        for position, rule in enumerate(self.declared):
            if isinstance(rule, kinds) and (not isinstance(rule, FairShare) or rule.by == by):
                rules.take(rule, label(rule, position))
        return rules

    def seconds_left(self) -> float:
        """Return the seconds that are left."""
        return max(self.until - now(), 0.0)

    def worth(self, prices: Floats) -> float:
        """Return the bound that prices prove."""
        return float(prices @ self.instance.sizes)

    def named(self, kind: str, prices: Floats) -> Certificate:
        """Return prices by job."""
        lowered = (prices * (1.0 - SLACK)).tolist()
        return {"kind": kind, "prices": dict(zip(self.names, lowered, strict=True))}

    def prices(self, order: Ints) -> Floats | None:
        """Return prices that prove the goal for an order, one after another or by its program."""
        prices = prices_of(self.curves, order, levels_of(self.instance.costs, order))
        enough = self.worth(prices) * (1.0 - SLACK) >= self.goal
        if not enough and installed("clarabel"):
            program = Allocation(self.instance, order=[self.names[j] for j in order[::-1]])
            program.rules = self.rules
            solved = solve_program(program, self.seconds_left())
            prices = np.zeros(0) if solved.prices is None else solved.prices
        fine = len(prices) and self.goal <= self.worth(prices) * (1.0 - SLACK) < inf
        return prices if fine and self.seconds_left() else None

    def of_order(self, order: Ints) -> Certificate | None:
        """Return prices for the given order."""
        prices = self.prices(order)
        return None if prices is None else self.named("order", prices)

    def by_ranks(self) -> Certificate | None:
        """Return prices by place in the order, where jobs differ in size alone."""
        instance = self.instance
        if self.declared or len(instance.speedups) > 1 or np.ptp(instance.costs) > 0:
            return None
        rank = np.lexsort((-np.arange(len(self.names)), -instance.sizes))
        order: Ints = rank.astype(np.int64)
        slack = SLACK + len(order) * 1e-15
        levels = levels_of(instance.costs, order)
        if instance.power is not None:
            prices = closed_form.prices(levels, instance.power) / instance.servers**instance.power
        else:
            prices = prices_of(self.curves, order, levels)[order]
        if float(np.sort(prices) @ instance.sizes[order]) < self.goal:
            return None
        return {"kind": "ranks", "prices": (prices * (1.0 - slack)).tolist()}

    def by_orders(self) -> Certificate | None:
        """Return passes over sets of last jobs, and prices for the few remaining orders."""
        count, costs = len(self.names), self.instance.costs
        after = completes_after(self.instance, self.model.rules)
        many = count > MOST_JOBS or count_sets(after, MOST_SETS) > MOST_SETS
        if many or costs.max() > MOST_SPREAD * costs.min():
            return None
        diagram = Diagram(self.curves, self.instance.sizes, costs, after)
        goal = self.goal * (1.0 + ABOVE)
        while diagram.paths > LEFT and not diagram.stalled:
            for _ in diagram.advance(goal):
                if not self.seconds_left():
                    return None
        if diagram.paths > MOST_ORDERS:
            return None
        orders = []
        for order in diagram.orders():
            prices = self.prices(order)
            if prices is None:
                return None
            row = (prices[order] * (1.0 - SLACK)).tolist()
            orders.append({"last_first": order.tolist(), "prices": row})
        passes = [_pass_document(how) for how in diagram.history]
        goal *= 1.0 - 1e-9  # closed alike: nodes part alike
        return {"kind": "diagram", "goal": goal, "passes": passes, "orders": orders}

    def by_rents(self) -> Certificate | None:
        """Return falling rents, and what each of many jobs costs under them.

        Of teams those of one grouping are seen: the first of which a fair share speaks.
        """
        by = next((rule.by for rule in self.declared if isinstance(rule, FairShare)), None)
        rules, done = self._rules_of_kinds(Shares, FairShare, by=by), False
        if not bounds_of(rules, len(self.names)).whole:
            return None
        search = LagrangianSearch(self.instance, rules)
        while not done and search.rents.bound < self.goal:
            done = search.advance(min(self.seconds_left(), STEP))
            if not self.seconds_left():
                return None
        rent_bound = search.rents
        jobs = _job_proofs(rent_bound, self.seconds_left) if rent_bound.bound >= self.goal else None
        if jobs is None:
            return None
        times, rents = rent_bound.times.tolist(), rent_bound.rents[0].tolist()
        made: Certificate = {"kind": "rents", "times": times, "rents": rents, "jobs": jobs}
        if by is None:
            return made
        rows = {
            name: int(rent_bound.payers[of[0]]) for name, of in self.instance.groups[by].items()
        }
        teams = {name: rent_bound.rents[row].tolist() for name, row in rows.items() if row}
        return {**made, "by": by, "teams": teams}

    def together(self) -> Certificate | None:
        """Return prices of a makespan, in proportion to each job's marginal value of servers."""
        high, _, shares = least_makespan(self.instance)
        c, sizes = self.curves, self.instance.sizes
        k = shares * self.instance.servers
        prices = np.zeros(len(k))
        if shares.sum() < 1.0 - 1e-9:  # one job on all servers takes that long
            fastest = [speed(c, j, c.servers) for j in range(len(k))]
            longest = int(np.argmax(sizes / np.array(fastest)))
            prices[longest] = 1.0 / fastest[longest]
        else:
            for j in range(len(k)):
                prices[j] = 1.0 / max(slope(c, j, k[j] * (1.0 - 1e-9)), 1e-300)
            prices *= high / float(prices @ sizes)
        return self.named("together", prices) if self.worth(prices) >= self.goal else None


def _pass_document(how: Pass) -> dict[str, object]:
    """Return a pass as a document holds it."""
    entry: dict[str, object] = {"rents": how.rents}
    return {**entry, "parts": how.parts, "beyond": how.beyond} if how.parts > 1 else entry


LOWER = 1e-10
"""Relative slack in a job's cost, so that prices need not match it to the last digit."""
BELOW = 1e-12
"""Relative slack of the price at which a unit of time earns what it costs."""
DOUBLINGS = 60


def _job_proofs(rent_bound: RentBound, left: Callable[[], float]) -> list[dict[str, object]] | None:
    """Return each job's least cost under rents, with prices; None where time runs out."""
    paths, jobs = (
        [rent_bound.path(row) for row in range(len(rent_bound.servers))],
        list[dict[str, object]](),
    )
    for j in range(len(rent_bound.sizes)):
        job = _Job(rent_bound, paths[rent_bound.payers[j]], j).proof() if left() else None
        if job is None:
            return None
        jobs.append(job)
    return jobs


class _Job:
    """A single job that rents its servers."""

    def __init__(self, rent_bound: RentBound, path: Path, j: int) -> None:
        size, cost = float(rent_bound.sizes[j]), float(rent_bound.costs[j])
        self.one = Renter(rent_bound.curves, path, j, size, cost)
        self.stack, self.out = rent_bound.room
        self.cells = rent_bound.rents.shape[1]

    def proof(self) -> dict[str, object] | None:
        """Return the job's least cost, with prices by span of cells that prove it."""
        one, c = self.one, self.one.c
        least = least_cost(one, float(one.path.times[-1]), 0.0, self.stack, self.out)
        goal = least * (1.0 - LOWER)
        top = one.cost / speed(c, one.job, float(c.mosts[one.job]))
        last = price_until(one, self.cells, top)
        spans, until, prices = [(0, self.cells, inf, last)], list[int](), list[float]()
        while spans:
            a, b, high, low = spans.pop()
            price = self._price(a, b, (high, low), goal)
            if price is not None:
                until.append(b)
                prices.append(price)
            elif b == a + 1:
                return None
            else:
                half = (a + b) // 2
                middle = price_until(one, half, top)
                spans += [(half, b, middle, low), (a, half, high, middle)]
        beyond = min(last, top * (1.0 - BELOW))
        return {"cost": goal * (1.0 - LOWER), "until": until, "prices": prices, "beyond": beyond}

    def _price(self, a: int, b: int, ends: tuple[float, float], goal: float) -> float | None:
        """Return a price that proves a job's cost if it completes in a span."""
        high, low = ends
        if low < inf:
            value = least_cost_between(self.one, a, b, high, max(low, 1e-300), goal, self.out)
            return float(self.out[2]) if value >= goal else None
        price = goal / self.one.size  # it cannot be done by then
        for _ in range(DOUBLINGS):
            if min(float(cost_until(self.one, price, end)[0]) for end in (a, b)) >= goal:
                return price
            price *= 2.0
        return None
