"""The engines of `Allocation`, in the order in which they are tried."""

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import bounds_of
from schedopt.solvers.engine import Engine, anything
from schedopt.solvers.hesrpt.dominance import MOST_JOBS, has_few_orders, is_one_order
from schedopt.solvers.hesrpt.feasibility import has_few_timelines
from schedopt.solvers.result import Limits

MOST_TIMELINES = 720
"""Programs that the declared model is enumerated over: of 6 jobs that are there from the start."""


def _counts_flow_times(model: Allocation, *, late: bool = False) -> bool:
    """Tell whether flow times count, of jobs that are all there at time 0 unless some are late."""
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


def _needs_rents_first(model: Allocation, _: Limits) -> bool:
    return not has_few_orders(model.instance, model.rules)


def _needs_all_orders(model: Allocation) -> bool:
    few = len(model.instance.jobs) <= MOST_JOBS
    return _counts_flow_times(model, late=True) and not model.given and few


def _as_declared(model: Allocation, _: Limits) -> bool:
    return not model.changed


def _has_few_timelines(model: Allocation) -> bool:
    """Tell whether the timelines can be enumerated, or the model was changed."""
    return model.changed or has_few_timelines(model, MOST_TIMELINES)


ENGINES = (
    Engine(
        "closed-form",
        solve="schedopt.solvers.hesrpt.order_search:solve_one",
        accepts=_has_one_order,
        description="makespans without arrivals or side constraints, where all jobs complete "
        "together; flow times without arrivals, where one order is all there is to try: a given "
        "one, or shortest first for one speedup and equal weights",
        proves="the optimum, unless jobs of a given order would complete in another",
        certificate="ranks",
        confirmed_by="clarabel",
    ),
    Engine(
        "rents",
        solve="schedopt.solvers.hesrpt.lagrangian:solve",
        accepts=_has_many_orders,
        worth_trying=_needs_rents_first,
        description="flow times without arrivals, with caps and floors of jobs and of disjoint "
        "teams; unasked from 9 jobs on, where there are many orders. Up to 60 jobs tree goes on",
        proves="a bound on all orders, about 0.5% below the cost, and for tree who completes after "
        "whom; it does not see floors of teams. The optimum of up to 8 jobs",
        confirmed_by="model",
    ),
    Engine(
        "tree",
        solve="schedopt.solvers.hesrpt.order_search:solve_all",
        accepts=_needs_all_orders,
        description="flow times of up to 60 jobs, with arrivals and side constraints too",
        proves="the optimum of up to 16 jobs, some of 20 after rents, 8 or so that arrive",
        certificate="ranks",
        confirmed_by="model",
    ),
    Engine(
        "clarabel",
        solve="schedopt.solvers.hesrpt.convex_programs:solve",
        accepts=anything,
        worth_trying=_as_declared,
        description="any allocation, by convex programs: of the best order, or of all where few",
        proves="the optimum, as far as there are few enough orders",
        certificate="ranks",
        confirmed_by="tree",
        needs="clarabel",
    ),
    Engine(
        "model",
        solve="schedopt.solvers.hesrpt.convex_programs:solve_as_it_stands",
        accepts=_has_few_timelines,
        description="the declared program of one order, with native changes, or of up to 720 "
        "timelines (6 jobs without arrivals), one by one",
        proves="the optimum, to the tolerance of an interior-point method",
        confirmed_by="clarabel",
        needs="clarabel",
    ),
)
