"""Engines of hesrpt: closed forms, Lagrangian bound, search over orders, and convex programs."""

from __future__ import annotations

from typing import Any

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import bounds_of
from schedopt.solvers.engine import Certificate, Engine, EngineTask, Partial
from schedopt.solvers.result import Limits, Result


def _counts_flow_times(model: Allocation) -> bool:
    """Return True for an unchanged model whose objective is a flow time."""
    return not (model.changed or model.instance.objective == "makespan")


class ClosedFormEngine(Engine[Allocation]):
    """Closed forms, and the prices of a given order."""

    name = "closed-form"
    description = (
        "makespans without arrivals or side constraints; flow times without arrivals "
        "if the order is given, or if shortest first is optimal (one speedup, equal weights)"
    )
    proves = "the optimum, unless the jobs of a given order would complete in another order"
    certificate = "ranks"
    confirmed_by = "model"

    def accepts(self, model: Allocation) -> bool:
        """Return True for a model without arrivals whose completion order is known."""
        from schedopt.solvers.hesrpt.feasibility import is_one_order

        if model.instance.arrivals.any():
            return False
        if model.instance.objective == "makespan":
            return not (model.rules.names or model.changed)
        return not model.changed and is_one_order(model.instance, model.rules, given=model.given)

    def solve(self, model: Allocation, task: EngineTask) -> Result | Partial:
        """Solve in closed form, or by prices of the one order."""
        from schedopt.solvers.hesrpt.order_search import solve_one

        return solve_one(model, task)


class LagrangianEngine(Engine[Allocation]):
    """A Lagrangian bound over all orders, and the allocation of its prices."""

    name = "lagrangian"
    old_names = ("rents",)
    description = (
        "Lagrangian bound for flow times without arrivals, with caps and floors of "
        "jobs and of disjoint teams; by default from 9 jobs on. Up to 60 jobs, branch-and-bound "
        "continues"
    )
    proves = "a bound over all orders, about 0.5% below the cost; it ignores limits of teams"
    confirmed_by = "model"

    def accepts(self, model: Allocation) -> bool:
        """Return True for flow times without arrivals and without a given order."""
        from schedopt.solvers.hesrpt.lagrangian import is_steep

        whole = bounds_of(model.rules, len(model.instance.jobs)).whole
        free = not (model.given or model.instance.arrivals.any() or is_steep(model.instance))
        return _counts_flow_times(model) and free and whole

    def worth_trying(self, model: Allocation, limits: Limits) -> bool:
        """Return True if there are too many orders for branch and bound alone."""
        from schedopt.solvers.hesrpt.feasibility import has_few_orders

        return not has_few_orders(model.instance, model.rules)

    def solve(self, model: Allocation, task: EngineTask) -> Result | Partial:
        """Improve the Lagrangian bound; hand precedences to branch and bound."""
        from schedopt.solvers.hesrpt.lagrangian import solve

        return solve(model, task)


class OrderEngine(Engine[Allocation]):
    """Branch and bound over completion orders."""

    name = "branch-and-bound"
    old_names = ("tree",)
    description = (
        "branch and bound over completion orders, for flow times of up to 60 jobs, "
        "also with arrivals and side constraints"
    )
    proves = (
        "the optimum for up to 16 jobs, for some of 20 after lagrangian, for about 8 with arrivals"
    )
    certificate = "ranks"
    confirmed_by = "model"

    def accepts(self, model: Allocation) -> bool:
        """Return True for flow times of few jobs whose order is not given."""
        from schedopt.solvers.hesrpt.feasibility import MOST_JOBS

        few = len(model.instance.jobs) <= MOST_JOBS
        return _counts_flow_times(model) and not model.given and few

    def solve(self, model: Allocation, task: EngineTask) -> Result | Partial:
        """Solve by branch and bound, and by convex programs of the orders that remain."""
        from schedopt.solvers.hesrpt.order_search import solve_all

        return solve_all(model, task)


class DeclaredAllocation(Engine[Allocation]):
    """The declared CVXPY model, with the user's changes."""

    name = "model"
    old_names = ("clarabel",)
    description = (
        "the declared convex program of one order, with the user's changes, or of up "
        "to 720 timelines (6 jobs without arrivals)"
    )
    proves = "the optimum within the tolerance of an interior-point method"
    confirmed_by = "branch-and-bound"
    needs = "clarabel"

    def solve(self, model: Allocation, task: EngineTask) -> Result | Partial:
        """Solve the declared convex program of each timeline."""
        from schedopt.solvers.hesrpt.attempt import solve_programs

        return solve_programs(model, task)


ENGINES = (
    ClosedFormEngine(),
    LagrangianEngine(),
    OrderEngine(),
    DeclaredAllocation(),
)


def engines(formulation: str) -> tuple[Engine, ...]:
    """Return the engines of a formulation, in the order in which they are tried."""
    return ENGINES if formulation == "allocation" else ()


def certify(model: Any, result: Result, _limits: Limits) -> Certificate:
    """Return a certificate of the bound of a result."""
    from schedopt.solvers.hesrpt.closed_form import certificate

    return certificate(model, result)
