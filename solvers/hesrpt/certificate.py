"""Certificates of bounds on allocations; `validation.hesrpt.bound` walks them, sharing no code."""

from collections.abc import Callable
from typing import Any

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Rules, bounds_of
from schedopt.instances.constraints import Shares, label
from schedopt.instances.extras import installed
from schedopt.instances.hesrpt import Allocated
from schedopt.solvers.clock import expired, now
from schedopt.solvers.engine import Certificate
from schedopt.solvers.hesrpt.cone_programs import solve_program
from schedopt.solvers.hesrpt.decision_diagram import Diagram, Pass
from schedopt.solvers.hesrpt.direct import prices as closed_prices
from schedopt.solvers.hesrpt.dominance import (
    MOST_JOBS,
    MOST_SETS,
    Ints,
    completes_after,
    count_sets,
)
from schedopt.solvers.hesrpt.price_kernels import levels_of, prices_of
from schedopt.solvers.hesrpt.speedup_kernels import Floats, curves
from schedopt.solvers.result import Limits, Result

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
LONGEST = 30.0
"""Seconds that a certificate may take where there is no time limit."""


def certificate(
    model: Allocation,
    result: Result[Allocated],
    limits: Limits,
    holds: Callable[[Certificate], bool] = lambda _: True,
) -> Certificate | None:
    """Return data from which the bound on all orders can be re-proved, None where none is found.

    `holds` is not called: what is returned may be short of the bound by a last digit.
    """
    del holds
    instance = model.instance
    if result.bound is None or model.changed or model.given:
        return None
    if instance.arrivals.any() or instance.objective == "makespan":
        return None
    proof = _PriceProof(model, float(result.bound), limits)
    return proof.by_ranks() or proof.by_orders()


class _PriceProof:
    """A bound to be proved from prices, with the bounds of single jobs: teams are left out."""

    def __init__(self, model: Allocation, bound: float, limits: Limits) -> None:
        self.model, self.instance = model, model.instance
        self.goal = bound * (1.0 - ENOUGH)
        self.until = now() + (LONGEST if limits.time_limit is None else limits.time_limit)
        self.names = self.instance.names
        self.rules = Rules(self.instance)
        for position, rule in enumerate([*self.instance.constraints, *model.added]):
            if isinstance(rule, Shares):
                self.rules.take(rule, label(rule, position))
        self.curves = curves(self.instance, bounds_of(self.rules, len(self.names)))

    def by_ranks(self) -> Certificate | None:
        """Return prices by place in the order, where jobs differ in size alone."""
        instance = self.instance
        if self.model.rules.names or len(instance.speedups) > 1 or np.ptp(instance.costs) > 0:
            return None
        rank = np.lexsort((-np.arange(len(self.names)), -instance.sizes))
        order: Ints = rank.astype(np.int64)
        levels = levels_of(instance.costs, order)
        if instance.power is not None:
            prices = closed_prices(levels, instance.power) / instance.servers**instance.power
        else:
            prices = prices_of(self.curves, order, levels)[order]
        if float(np.sort(prices) @ instance.sizes[order]) < self.goal:
            return None
        slack = SLACK + len(order) * 1e-15
        return {"kind": "ranks", "prices": (prices * (1.0 - slack)).tolist()}

    def by_orders(self) -> Certificate | None:
        """Return passes over sets of last jobs, and prices for the few remaining orders."""
        costs, after = self.instance.costs, completes_after(self.instance, self.model.rules)
        many = len(after) > MOST_JOBS or count_sets(after, MOST_SETS) > MOST_SETS
        if many or costs.max() > MOST_SPREAD * costs.min():
            return None
        diagram = Diagram(self.curves, self.instance.sizes, costs, after)
        goal = self.goal * (1.0 + ABOVE)
        while diagram.paths > LEFT and not diagram.stalled:
            for _ in diagram.advance(goal):
                if expired(self.until):
                    return None
        if diagram.paths > MOST_ORDERS:
            return None
        orders = []
        for order in diagram.orders():
            prices = self._prices(order)
            if prices is None:
                return None
            row = (prices[order] * (1.0 - SLACK)).tolist()
            orders.append({"last_first": order.tolist(), "prices": row})
        passes = [_pass_document(how) for how in diagram.history]
        goal *= 1.0 - 1e-9  # closed alike: nodes part alike
        return {"kind": "diagram", "goal": goal, "passes": passes, "orders": orders}

    def _prices(self, order: Ints) -> Floats | None:
        """Return prices that prove the goal for an order, one after another or by its program."""
        prices = prices_of(self.curves, order, levels_of(self.instance.costs, order))
        if not self._suffice(prices) and installed("clarabel"):
            program = Allocation(self.instance, order=[self.names[j] for j in order[::-1]])
            program.rules = self.rules
            solved = solve_program(program, max(self.until - now(), 0.0)).prices
            prices = np.zeros(len(prices)) if solved is None else solved
        return prices if self._suffice(prices) and not expired(self.until) else None

    def _suffice(self, prices: Floats) -> bool:
        worth = float(prices @ self.instance.sizes) * (1.0 - SLACK)
        return self.goal <= worth < np.inf


def _pass_document(how: Pass) -> dict[str, Any]:
    """Return a pass as a document holds it."""
    entry: dict[str, Any] = {"rents": how.rents}
    return {**entry, "parts": how.parts, "beyond": how.beyond} if how.parts > 1 else entry
