"""Proofs from prices of work, for each kind of certificate: see `validation.hesrpt.bound`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, FairShare, Shares
from schedopt.instances.hesrpt import Instance
from schedopt.solvers.result import Document
from schedopt.validation.hesrpt.certificates import Order, Passes, Ranks, Together
from schedopt.validation.hesrpt.decision_diagram import Diagram
from schedopt.validation.hesrpt.earning import Bools, machine_of
from schedopt.validation.hesrpt.intervals import Floats, Interval

Positions = NDArray[np.intp]
MOST_IN_ROWS, MOST_IN_PASSES = 2_500, 60
"""The most jobs: of one order, and of passes over sets of last jobs."""
MOST_PASSES, MOST_LEFT = 200, 6_000  # most passes, and most orders that they leave open


class NotShownError(ValueError):
    """A step that does not follow; the message says which."""


class Proof:
    """An instance as the proofs need it."""

    def __init__(
        self, instance: Instance, constraints: Sequence[Constraint], by: str | None
    ) -> None:
        self.instance, self.constraints = instance, constraints
        self.names = [job.name for job in instance.jobs]
        self.index = {name: j for j, name in enumerate(self.names)}
        self.sizes = Interval.decimals(np.array([job.size for job in instance.jobs]))
        count = len(self.names)
        if instance.objective == "weighted-flow-time":
            self.costs = Interval.decimals(np.array([job.weight for job in instance.jobs]))
        else:
            each = Interval.exactly(np.ones(count))
            if instance.objective == "mean-flow-time":
                each = each / Interval.exactly(float(count))
            self.costs = each
        self.machine = machine_of(instance, constraints, by)

    def price_list(self, prices: Mapping[str, float]) -> Floats:
        """Return validated prices by job, shape (M,)."""
        if prices.keys() != self.index.keys():
            raise NotShownError("prices: not one for each job")
        return _checked_prices(np.array([prices[name] for name in self.names]))

    def worth(self, prices: Floats) -> float:
        """Return the sum of price times size, from below."""
        return _checked_bound((Interval.exactly(prices) * self.sizes).total().low)

    def teams(self, by: str | None) -> dict[str, Bools]:
        """Return a mask of jobs, shape (M,), for each group of a grouping."""
        own = [None if by is None else job.groups.get(by) for job in self.instance.jobs]
        return {name: np.array([of == name for of in own]) for name in own if name is not None}

    def cost_rates(self, present: Bools) -> Floats:
        """Return the cost rates of the present jobs, from below, shape (R,)."""
        low = np.where(present, self.costs.low, 0.0)
        return Interval(low, np.where(present, self.costs.high, 0.0)).total().low

    def of_order(self, given: Order, claim: Document) -> float:
        """Return the bound that prices prove for the order that the option gives."""
        if claim.options.get("order") is None:
            raise NotShownError("prices for one order, and no option that gives it")
        names = [str(name) for name in claim.solution.get("order", ())]
        written = ",".join(name.strip() for name in str(claim.options["order"]).split(","))
        if written != ",".join(names) or sorted(names) != sorted(self.names):
            raise NotShownError("order: the solution's is not the option's")
        order = np.array([self.index[name] for name in reversed(names)])
        prices = self.price_list(given.prices)
        self.expect_feasible(prices[order], order)
        return self.worth(prices)

    def of_ranks(self, given: Ranks, constraints: Sequence[Constraint]) -> float:
        """Return the bound that prices by place prove for all orders."""
        instance = self.instance
        kinds = {job.speedup or instance.speedup for job in instance.jobs}
        weights = {job.weight for job in instance.jobs}
        if constraints or len(kinds) > 1:
            raise NotShownError("ranks: jobs differ in more than their sizes")
        if instance.objective == "weighted-flow-time" and len(weights) > 1:
            raise NotShownError("ranks: jobs differ in weight")
        prices = _checked_prices(np.array(given.prices, dtype=np.float64))
        if len(prices) != len(self.names):
            raise NotShownError("ranks: not a price for each place")
        self.expect_feasible(prices, np.arange(len(prices)))
        sizes = np.sort(self.sizes.low)[::-1]  # rounding down keeps the order of sizes
        pairs = Interval.exactly(np.sort(prices)) * Interval.exactly(sizes)
        return float(pairs.total().low)

    def expect_feasible(self, prices: Floats, order: Positions) -> None:
        """Raise unless the last k jobs of an order earn at most W_k, for all k.

        Prices and positions, shape (M,), are from the last job to complete to the first.
        """
        count = len(prices)
        if count > MOST_IN_ROWS:
            raise NotShownError(f"more than {MOST_IN_ROWS} jobs")
        present = np.zeros((count, count), dtype=np.bool_)
        present[:, order] = np.tri(count, dtype=np.bool_)
        by_job = np.zeros(count)
        by_job[order] = prices
        self.expect_rows(np.where(present, by_job, 0.0), present)

    def expect_rows(self, prices: Floats, present: Bools) -> None:
        """Raise if, in some row, the present jobs can earn more than they cost."""
        most = self.machine.earnings_bound(prices, present)
        beyond = ~(most <= self.cost_rates(present))
        if beyond.any():
            row = int(np.flatnonzero(beyond)[0])
            names = [self.names[j] for j in np.flatnonzero(present[row])]
            raise NotShownError(f"{', '.join(names[:5])} can earn more than they cost")

    def of_makespan(self, given: Together) -> float:
        """Return the bound on the makespan that prices for all jobs together prove."""
        prices = self.price_list(given.prices)
        most = self.machine.earnings_bound(prices[None], np.ones((1, len(prices)), dtype=np.bool_))
        if not most[0] <= 1.0:
            raise NotShownError(f"all jobs together can earn {most[0]}, over 1")
        return self.worth(prices)

    def of_passes(self, given: Passes) -> float:
        """Return the bound that passes prove for all orders, with prices for some of these."""
        count = len(self.names)
        if not np.isfinite(given.goal) or count > MOST_IN_PASSES or len(given.passes) > MOST_PASSES:
            raise NotShownError("diagram: no such goal, or too many jobs or passes")
        after = [0] * count
        for j in range(count):
            for i in range(count):
                if i != j and self._completes_after(i, j):
                    after[j] |= 1 << i
        diagram = Diagram(self.machine, self.sizes, self.costs, after)
        for each in given.passes:
            diagram.narrow(each, given.goal)
        own = {tuple(one.last_first): one.prices for one in given.orders}
        rows: dict[bytes, Floats] = {}
        least = given.goal
        for order in diagram.orders(MOST_LEFT):
            if order not in own or len(own[order]) != count:
                names = ", ".join(self.names[j] for j in order)
                raise NotShownError(f"diagram: nothing closes the order {names}")
            prices = np.zeros(count)
            for j, price in zip(
                order, _checked_prices(np.array(own[order], dtype=float)), strict=True
            ):
                prices[j] = price
                row = prices.copy()
                present = np.zeros(count, dtype=np.bool_)
                present[list(order[: order.index(j) + 1])] = True
                rows[row.tobytes() + present.tobytes()] = np.stack([row, present])
            least = min(least, self.worth(prices))
        if rows:
            both = np.array(list(rows.values()))
            self.expect_rows(both[:, 0], both[:, 1] > 0)
        return least

    def _completes_after(self, i: int, j: int) -> bool:
        """Tell whether job i need not complete before job j, equal but for size and cost.

        It is as large at the least and costs as much at the most. Where it completes first, their
        remaining sizes were equal once; from then on they can change places.
        """
        a, b = self.instance.jobs[i], self.instance.jobs[j]
        weights = (a.weight, b.weight)
        if self.instance.objective != "weighted-flow-time":
            weights = (1.0, 1.0)
        if not (a.size >= b.size and weights[0] <= weights[1]):
            return False
        equal = a.size == b.size and weights[0] == weights[1]
        return (i > j or not equal) and a.speedup == b.speedup and self._have_same_rules(i, j)

    def _have_same_rules(self, i: int, j: int) -> bool:
        """Tell whether side constraints ask the same of two jobs."""
        a, b = self.instance.jobs[i], self.instance.jobs[j]
        same = True
        for rule in self.constraints:
            if isinstance(rule, Shares):
                same = same and (a.name in rule.jobs) == (b.name in rule.jobs)
            elif isinstance(rule, FairShare):
                bounded = {*rule.at_least, *rule.at_most}
                groups = [job.groups.get(rule.by) for job in (a, b)]
                same = same and (groups[0] == groups[1] or not bounded & {*groups})
            else:
                same = False
        return same


def _checked_bound(proven: Floats) -> float:
    """Return a proven bound; raise if it is not a number."""
    if not np.isfinite(proven):
        raise NotShownError("prices: too large to be added up")
    return float(proven)


def _checked_prices(prices: Floats) -> Floats:
    """Return prices that are finite and not negative."""
    if not (np.isfinite(prices).all() and (prices >= 0).all()):
        raise NotShownError("prices: not finite, or negative")
    return prices
