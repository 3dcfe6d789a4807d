"""The engines of `Allocation`, in the order in which they are tried."""

from typing import Any

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import bounds_of
from schedopt.solvers.engine import Engine, EngineTask, Partial, anything
from schedopt.solvers.hesrpt.dominance import MOST_JOBS, has_few_orders, is_one_order
from schedopt.solvers.hesrpt.feasibility import has_few_timelines
from schedopt.solvers.result import Limits, Result

MOST_TIMELINES = 720
"""Most convex programs of the declared model: the orders of 6 jobs without arrivals."""


def _counts_flow_times(model: Allocation, *, late: bool = False) -> bool:
    """Return True if the objective is a flow time; with ``late``, jobs may have arrivals."""
    arrive = bool(model.instance.arrivals.any())
    return not (model.changed or (arrive and not late) or model.instance.objective == "makespan")


def _has_one_order(model: Allocation) -> bool:
    if model.instance.objective == "makespan":
        return not (model.rules.names or model.changed or model.instance.arrivals.any())
    return _counts_flow_times(model) and is_one_order(
        model.instance, model.rules, given=model.given
    )


def _has_many_orders(model: Allocation) -> bool:
    whole = bounds_of(model.rules, len(model.instance.jobs)).whole
    return _counts_flow_times(model) and not model.given and whole


def _has_too_many_orders_for_branching(model: Allocation, _: Limits) -> bool:
    return not has_few_orders(model.instance, model.rules)


def _fits_branch_and_bound(model: Allocation) -> bool:
    few = len(model.instance.jobs) <= MOST_JOBS
    return _counts_flow_times(model, late=True) and not model.given and few


def _is_unchanged(model: Allocation, _: Limits) -> bool:
    return not model.changed


def _has_few_timelines(model: Allocation) -> bool:
    """Return True if the timelines can be enumerated, or the user changed the model."""
    return model.changed or has_few_timelines(model, MOST_TIMELINES)


def _solve_one(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.hesrpt.order_search import solve_one

    return solve_one(model, task)


def _solve_by_lagrangian(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.hesrpt.lagrangian import solve

    return solve(model, task)


def _solve_all(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.hesrpt.order_search import solve_all

    return solve_all(model, task)


def _solve_by_convex_programs(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.hesrpt.convex_programs import solve

    return solve(model, task)


def _solve_as_it_stands(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.hesrpt.convex_programs import solve_as_it_stands

    return solve_as_it_stands(model, task)


ENGINES = (
    Engine(
        "closed-form",
        solve=_solve_one,
        accepts=_has_one_order,
        description="makespans without arrivals or side constraints; flow times without arrivals "
        "if the order is given, or if shortest first is optimal (one speedup, equal weights)",
        proves="the optimum, unless the jobs of a given order would complete in another order",
        certificate="ranks",
        confirmed_by="clarabel",
    ),
    Engine(
        "lagrangian",
        old_names=("rents",),
        solve=_solve_by_lagrangian,
        accepts=_has_many_orders,
        worth_trying=_has_too_many_orders_for_branching,
        description="Lagrangian bound for flow times without arrivals, with caps and floors of "
        "jobs and of disjoint teams; by default from 9 jobs on. Up to 60 jobs, branch-and-bound "
        "goes on",
        proves="a bound over all orders, about 0.5% below the cost; it ignores floors of teams. "
        "The optimum for up to 8 jobs",
        confirmed_by="model",
    ),
    Engine(
        "branch-and-bound",
        old_names=("tree",),
        solve=_solve_all,
        accepts=_fits_branch_and_bound,
        description="branch and bound over completion orders, for flow times of up to 60 jobs, "
        "also with arrivals and side constraints",
        proves="the optimum for up to 16 jobs, for some of 20 after lagrangian, for about 8 with "
        "arrivals",
        certificate="ranks",
        confirmed_by="model",
    ),
    Engine(
        "clarabel",
        solve=_solve_by_convex_programs,
        accepts=anything,
        worth_trying=_is_unchanged,
        description="convex programs of the best order, or of all orders if there are few",
        proves="the optimum if the number of completion orders is small",
        certificate="ranks",
        confirmed_by="branch-and-bound",
        needs="clarabel",
    ),
    Engine(
        "model",
        solve=_solve_as_it_stands,
        accepts=_has_few_timelines,
        description="the declared convex program of one order, with the user's changes, or of up "
        "to 720 timelines (6 jobs without arrivals)",
        proves="the optimum within the tolerance of an interior-point method",
        confirmed_by="clarabel",
        needs="clarabel",
    ),
)
