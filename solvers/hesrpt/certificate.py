"""Certificates of bounds on allocations; `validation.hesrpt.bound` walks them, sharing no code."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from math import inf
from typing import Any

import msgspec
import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import (
    Rules,
    bounds_of,
    count_timelines,
    timelines,
    without_floors,
)
from schedopt.instances.constraints import Constraint, FairShare, Shares, label
from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.solvers.clock import now
from schedopt.solvers.hesrpt import closed_form
from schedopt.solvers.hesrpt.alike import MOST_JOBS, MOST_SETS, alike, count_sets
from schedopt.solvers.hesrpt.diagram import Diagram, Pass
from schedopt.solvers.hesrpt.kernels import Floats, Ints, curves, slope, speed, speeds
from schedopt.solvers.hesrpt.makespan import least_makespan
from schedopt.solvers.hesrpt.orders import OneOrder
from schedopt.solvers.hesrpt.path_kernels import (
    Path,
    cheapest,
    cost_until,
    least_between,
    price_until,
)
from schedopt.solvers.hesrpt.paths import Rents
from schedopt.solvers.hesrpt.price_kernels import levels_of, prices_of
from schedopt.solvers.hesrpt.programs import Solved, solve_program
from schedopt.solvers.hesrpt.rents import RentSearch
from schedopt.solvers.hesrpt.slots import in_slots
from schedopt.solvers.result import Limits, Result

LOWER = 1e-10
"""Relative slack in a job's cost, so that prices need not match it to the last digit."""
BELOW = 1e-12
"""Relative slack of the price at which a unit of time earns what it costs."""
DOUBLINGS = 60


def shown(found: Rents, left: Callable[[], float]) -> dict[str, object] | None:
    """Return a certificate of the best rents found, None where time runs out."""
    paths, jobs = [found.path(row) for row in range(len(found.servers))], list[dict[str, object]]()
    for j in range(len(found.sizes)):
        job = _Job(found, paths[found.payers[j]], j).shown() if left() else None
        if job is None:
            return None
        jobs.append(job)
    times, rents = found.times.tolist(), found.rents[0].tolist()
    return {"kind": "rents", "times": times, "rents": rents, "jobs": jobs}


class _Job:
    """A single job that rents its servers."""

    def __init__(self, found: Rents, path: Path, j: int) -> None:
        size, cost = float(found.sizes[j]), float(found.costs[j])
        self.what = (found.curves, path, j, size, cost)
        self.stack, self.out = found.room
        self.cells = found.rents.shape[1]

    def shown(self) -> dict[str, object] | None:
        """Return the job's least cost, with prices by span of cells that prove it."""
        c, path, j, size, cost = self.what
        least = cheapest(*self.what, float(path.times[-1]), 0.0, self.stack, self.out)
        goal = least * (1.0 - LOWER)
        top = cost / speed(c, j, float(c.mosts[j]))
        last = price_until(c, path, j, size, self.cells, top)
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
                middle = price_until(c, path, j, size, half, top)
                spans += [(half, b, middle, low), (a, half, high, middle)]
        beyond = min(last, top * (1.0 - BELOW))
        return {"cost": goal * (1.0 - LOWER), "until": until, "prices": prices, "beyond": beyond}

    def _price(self, a: int, b: int, ends: tuple[float, float], goal: float) -> float | None:
        """Return a price that proves a job's cost if it completes in a span."""
        high, low = ends
        if low < inf:
            value = least_between(*self.what, a, b, high, max(low, 1e-300), goal, self.out)
            return float(self.out[2]) if value >= goal else None
        price = goal / self.what[3]  # it cannot be done by then
        for _ in range(DOUBLINGS):
            if min(float(cost_until(*self.what, price, end)[0]) for end in (a, b)) >= goal:
                return price
            price *= 2.0
        return None


Certificate = dict[str, Any]
SLACK = 1e-11
"""Relative slack of prices, so that the checker's intervals find them feasible."""
ENOUGH = 5e-10
"""Share of a bound that a certificate may leave unproven; twice that counts as rounding."""
MOST_ORDERS = 2_000
"""Most orders that may be left for separate prices."""
MOST_IN_TEAMS = 7
"""Most jobs for which each order gets separate prices where there are teams: by rents of teams the
checker closes fewer orders than the solver."""
FEW = 3
"""Most jobs for which each order gets separate prices, without passes."""
ABOVE, LEFT = 3e-4, 400
"""How far above the bound diagrams close, and how many orders they may leave: the checker's prices
may be a little lower, and must close as many."""
BEYOND = 1e300
"""A cost above that of any order, so that nothing is closed."""
MOST_TIMELINES = 2_000
MOST_SPREAD = 1e4
"""Costs that differ by more than this leave too few digits to prices beside each other."""
SHRINKINGS = 30
"""Bisection steps towards the job sizes at which a timeline becomes feasible."""
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
    if result.bound is None or model.changed:
        return None
    maker = _Maker(model, result, limits)
    if model.instance.arrivals.any():
        return maker.after_arrivals() or maker.by_timelines()
    if model.instance.objective == "makespan":
        return maker.together()
    if model.given:
        return maker.of_order()
    if result.bounded_by == "rents":
        return maker.by_ranks() or maker.by_rents() or maker.by_orders()
    return maker.by_ranks() or maker.by_orders() or maker.by_rents()


class _Maker:
    """A result, with the rules that a proof can use: those of jobs, and of one grouping's teams."""

    def __init__(self, model: Allocation, result: Result[Allocated], limits: Limits) -> None:
        self.model, self.result = model, result
        self.instance, self.goal = model.instance, float(result.bound or 0.0) * (1.0 - ENOUGH)
        limit = LONGEST if limits.time_limit is None else limits.time_limit
        self.until = now() + limit
        self.names = [job.name for job in model.instance.jobs]
        self.by, self.rules = _seen(model)
        self.curves = curves(self.instance, bounds_of(self.rules, len(self.names)))

    def named(self, kind: str, prices: Floats) -> Certificate:
        """Return prices by job."""
        lowered = (prices * (1.0 - SLACK)).tolist()
        found: Certificate = {"kind": kind, "prices": dict(zip(self.names, lowered, strict=True))}
        return {**found, "by": self.by} if self.by else found

    def worth(self, prices: Floats) -> float:
        """Return the bound that prices prove."""
        return float(prices @ self.instance.sizes)

    def of_order(self) -> Certificate | None:
        """Yield prices for the given order: trivial, closed-form or dual."""
        order, instance = self.model.last_first, self.instance
        prices = prices_of(self.curves, order, levels_of(instance.costs, order))
        p = instance.power
        if self.worth(prices) < self.goal and p is not None and p < 1.0:
            search = OneOrder(instance, Rules(instance), order.tolist())
            prices[order] = np.exp(search.closed().proportions * (1.0 - p)) / instance.servers**p
        if not self.worth(prices) >= self.goal:
            solved = self._solved(self._program(order))
            if solved.prices is not None:
                prices = solved.prices
        return self.named("order", prices) if self.worth(prices) >= self.goal else None

    def _program(
        self,
        order: Sequence[int] | Ints,
        arrived: Mapping[str, int] | None = None,
        instance: Instance | None = None,
    ) -> Allocation:
        """Return the program of an order, from the last job to complete."""
        names = [self.names[j] for j in order[::-1]]
        return Allocation(instance or self.instance, order=names, arrived=arrived)

    def _solved(self, program: Allocation, rules: Rules | None = None) -> Solved:
        """Solve a program under the rules of the proof."""
        program.rules = rules or self.rules
        return solve_program(program, self.left())

    def left(self) -> float:
        """Return the seconds that are left."""
        return max(self.until - now(), 0.0)

    def by_ranks(self) -> Certificate | None:
        """Return prices by place in the order, where jobs differ in size alone."""
        instance = self.instance
        declared = [*instance.constraints, *self.model.added]
        if declared or len(instance.speedups) > 1 or np.ptp(instance.costs) > 0:
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

    def by_rents(self) -> Certificate | None:
        """Return falling rents, and what each of many jobs costs under them."""
        bounds = bounds_of(self.rules, len(self.names))
        if not bounds.whole:
            return None
        quick, done = in_slots(self.instance, self.rules), False
        search = RentSearch(self.instance, self.rules, known=quick.completion if quick else None)
        while not done and search.rents.bound < self.goal:
            done = search.advance(min(self.left(), STEP))
            if not self.left():
                return None
        if search.rents.bound < self.goal:
            return None
        made = shown(search.rents, self.left)
        if made is None or self.by is None:
            return made
        teams = {
            name: search.rents.rents[int(search.rents.payers[jobs[0]])].tolist()
            for name, jobs in self.instance.groups[self.by].items()
            if search.rents.payers[jobs[0]]
        }
        return {**made, "by": self.by, "teams": teams}

    def by_orders(self) -> Certificate | None:
        """Return passes over sets of last jobs, and prices for the few remaining orders."""
        count, costs = len(self.names), self.instance.costs
        after = alike(self.instance, self.rules)
        most = MOST_IN_TEAMS if len(self.curves.team_mosts) else MOST_JOBS
        if (
            count > most
            or count_sets(after, MOST_SETS) > MOST_SETS
            or costs.max() > MOST_SPREAD * costs.min()
        ):
            return None
        goal: float = BEYOND
        passes: list[dict[str, object]] = [{"rents": [1.0]}]
        left = _every_order(after)
        if count > FEW and not len(self.curves.team_mosts):
            diagram = Diagram(self.curves, self.instance.sizes, costs, after)
            while diagram.paths > LEFT and not diagram.stalled:
                for _ in diagram.advance(self.goal * (1.0 + ABOVE)):
                    if not self.left():
                        return None
            if diagram.paths > MOST_ORDERS:
                return None
            passes, left = [_pass(how) for how in diagram.history], diagram.orders()
            goal = self.goal * (1.0 + ABOVE) * (1.0 - 1e-9)  # closed alike: nodes part alike
        orders = []
        for order in left:
            prices = prices_of(self.curves, order, levels_of(costs, order)) * (1.0 - SLACK)
            if not self.worth(prices) >= self.goal:
                solved = self._solved(self._program(order))
                if solved.prices is None or not self.left():
                    return None
                prices = solved.prices * (1.0 - SLACK)
            if not self.goal <= self.worth(prices) < inf:
                return None
            orders.append({"last_first": order.tolist(), "prices": prices[order].tolist()})
        found: Certificate = {"kind": "diagram", "goal": goal, "passes": passes, "orders": orders}
        return {**found, "by": self.by} if self.by else found

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

    def after_arrivals(self) -> Certificate | None:
        """Return prices of a makespan: of the job that takes longest alone, or of all together."""
        if self.instance.objective != "makespan":
            return None
        c, sizes = self.curves, self.instance.sizes
        rates = speeds(c, np.arange(len(sizes)), c.mosts, np.zeros(len(sizes)))
        alone = self.instance.arrivals + sizes / np.maximum(rates, 1e-300)
        longest, prices = int(np.argmax(alone)), np.zeros(len(sizes))
        prices[longest] = 1.0 / max(rates[longest], 1e-300)
        if alone[longest] >= self.goal:
            return self.named("together", prices)
        solved = self._solved(Allocation(self.instance), without_floors(self.rules))
        if solved.prices is None or not (solved.bound or 0.0) >= self.goal:
            return None
        return self.named("together", solved.prices)

    def by_timelines(self) -> Certificate | None:
        """Return prices for every timeline."""
        model = self.model
        given = model.last_first.tolist() if model.given else None
        if count_timelines(self.instance, given) > MOST_TIMELINES:
            return None
        found = []
        for order, arrived in timelines(self.instance, given):
            prices = self._of_timeline(self._program(order, arrived))
            if prices is None or not self.left():
                return None
            found.append((prices * (1.0 - SLACK)).tolist())
        made: Certificate = {"kind": "timelines", "prices": found}
        return {**made, "by": self.by} if self.by else made

    def _of_timeline(self, program: Allocation) -> Floats | None:
        """Return prices that prove the bound for one timeline.

        One that cannot be has prices that prove any bound; those of jobs a little smaller, with
        which it just can be, do.
        """
        solved = self._solved(program)
        if solved.prices is not None and (solved.bound or 0.0) >= self.goal:
            return solved.prices
        low, high = 0.0, 1.0
        for _ in range(SHRINKINGS):
            part = 0.5 * (low + high)
            smaller = tuple(
                msgspec.structs.replace(job, size=job.size * part) for job in self.instance.jobs
            )
            instance = msgspec.structs.replace(self.instance, jobs=smaller)
            trial = self._program(program.last_first, program.arrived, instance)
            solved = self._solved(trial)
            if solved.prices is None:
                high = part
                continue
            low = part
            spared = (solved.bound or 0.0) - float(solved.prices @ trial.instance.sizes)
            if spared + self.worth(solved.prices) >= self.goal:
                return solved.prices
        return None


def _every_order(after: Ints) -> Iterator[Ints]:
    """Yield orders, the last job first, in which those that can complete after a job do."""
    for order in permutations(range(len(after))):
        done = 0
        for j in order:
            if after[j] & ~done:
                break
            done |= 1 << j
        else:
            yield np.array(order, dtype=np.int64)


def _pass(how: Pass) -> dict[str, object]:
    """Return a pass as a document holds it."""
    entry: dict[str, object] = {"rents": how.rents}
    if how.points:
        entry["points"] = how.points
    if how.parts > 1:
        entry |= {"parts": how.parts, "beyond": how.beyond, "block": how.block}
    return entry


def _seen(model: Allocation) -> tuple[str | None, Rules]:
    """Return the grouping and the rules that a proof can see.

    These are bounds of single jobs and of the teams of one grouping: the first that has any.
    """
    instance = model.instance
    declared: list[Constraint] = [*instance.constraints, *model.added]
    by = next((rule.by for rule in declared if isinstance(rule, FairShare)), None)
    seen = Rules(instance)
    for position, rule in enumerate(declared):
        if isinstance(rule, Shares) or (isinstance(rule, FairShare) and rule.by == by):
            seen.take(rule, label(rule, position))
    return by, seen
