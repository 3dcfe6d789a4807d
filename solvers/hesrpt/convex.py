"""Convex programs: of the orders that matter, and the declared model as it stands."""

from collections.abc import Iterator
from math import inf

import msgspec

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import timelines
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Allocated
from schedopt.solvers import clarabel
from schedopt.solvers.conflict import Holds
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.hesrpt.attempt import (
    NEAR,
    STEP,
    Attempt,
    Leaf,
    attempted,
)
from schedopt.solvers.hesrpt.feasible import possible
from schedopt.solvers.hesrpt.orders import OrderTree, order_search
from schedopt.solvers.hesrpt.timelines import over_timelines
from schedopt.solvers.result import Result, Termination

MOST_CLIMBED = 40
"""Jobs up to which neighbours in an order are swapped: larger programs take seconds each."""
BELOW = 1e-7
"""Relative error allowed to an interior-point optimum."""


def solve(model: Allocation, task: EngineTask) -> Result[Allocated]:
    """Solve an allocation by the programs of completion orders, by rising bounds."""
    if model.changed:
        return solve_as_it_stands(model, task)
    if model.instance.arrivals.any() or model.instance.objective == "makespan":
        return attempted(model, task, "clarabel", over_timelines)
    return attempted(model, task, "clarabel", _over_orders)


def _over_orders(attempt: Attempt) -> Termination:
    """Solve the program of the best order by prices, or of all orders that prices leave open."""
    model = attempt.model
    given = model.last_first.tolist() if model.given else None
    search = order_search(model.instance, model.rules, given)
    if isinstance(search, OrderTree) and not search.playable:
        _climb(attempt)
        search.value = attempt.value
        if attempt.drive(search) and not attempt.near_enough():
            leaves: list[Leaf] = [(bound, (o.tolist(), {})) for bound, o in search.leaves()]
            return attempt.over_programs(leaves, search.bound, min(search.rest, search.value))
        return attempt.ended()
    attempt.drive(search)
    played, attempt.solution = attempt.solution, None  # a program's is wanted, if a worse one
    own = attempt.take_program(search.order.tolist())
    if model.given and own == inf:
        return "infeasible"
    if attempt.solution is None and played is not None:
        attempt.take(played, search.name)
    if not isinstance(search, OrderTree) and own < inf:
        attempt.raise_to(own, "clarabel")
    return attempt.ended()


def _climb(attempt: Attempt) -> None:
    """Swap neighbours in the order while that helps, starting from the best order without rules."""
    plain = order_search(attempt.instance)
    plain.advance(STEP)
    order = plain.order.tolist()
    attempt.take_program(order)
    better = len(order) <= MOST_CLIMBED
    while better and not attempt.out_of_time():
        better = False
        for k in range(len(order) - 1):
            trial = [*order[:k], order[k + 1], order[k], *order[k + 2 :]]
            before = attempt.value
            attempt.take_program(trial)
            if attempt.value < before * (1 - NEAR):
                order, better = trial, True
            if attempt.out_of_time():
                return


def solve_as_it_stands(model: Allocation, task: EngineTask) -> Result[Allocated]:
    """Solve the declared program, native changes too: of its order, or of all one by one."""
    if model.changed:
        _refuse_what_cannot_be_solved(model)
    result = attempted(model, EngineTask(task.limits), "model", _as_they_stand, _can_hold)
    if model.goal_changed and result.termination == "completed":
        result = msgspec.structs.replace(result, termination="optimal")
    return result


def _programs(attempt: Attempt) -> Iterator[Allocation]:
    """Yield each order's program; only one where the model was changed or its order is given."""
    model = attempt.model
    if model.changed:
        yield model
    else:
        order = model.last_first.tolist() if model.given else None
        yield from (model.ordered(*timeline) for timeline in timelines(model.instance, order))


def _as_they_stand(attempt: Attempt) -> Termination:
    """Solve programs one by one; the least optimum, less what it may be off by, is the bound."""
    model = attempt.model
    least, stopped = inf, ""
    for program in _programs(attempt):
        if attempt.out_of_time():
            return "time-limit"
        if not (model.changed or possible(program, program.rules.names)):
            continue  # an interior-point method may not see that there is no room at all
        problem = program.program(program.side())
        status = clarabel.solve(problem, attempt.left())
        if status == "unbounded":
            return "unbounded"
        if status == "solved":
            attempt.take(program.decode(lambda variable: variable.value), "model")
            least = min(least, program.worth(problem.value) * (1.0 - BELOW))
        elif status != "infeasible":
            stopped = status
        attempt.note()
    if stopped:
        attempt.message = "Clarabel could not tell whether there is an allocation, or which is best"
        return "time-limit" if attempt.out_of_time() else "error"
    if least == inf:
        return "infeasible"
    if not model.changed:
        attempt.raise_to(least, "model")
    elif model.goal_changed:
        attempt.message = f"the model's own objective was optimized: {problem.value:.10g}"
    else:
        attempt.message = "native constraints: no bound, and this order alone"
    return "completed"


def _can_hold(attempt: Attempt) -> Holds:
    """Return what tells whether side constraints, by name, can hold together in any program."""
    model = attempt.model

    def holds(some: frozenset[str]) -> bool:
        for program in _programs(attempt):
            if attempt.out_of_time():
                raise TimeoutError
            seen = model.changed or possible(program, some)
            if seen and clarabel.feasible(program.program(some)):
                return True
        return False

    return holds


def _refuse_what_cannot_be_solved(model: Allocation) -> None:
    """Raise `InputError` where a changed program is not one that Clarabel takes."""
    problem = model.program(model.side())
    wrong = ""
    if not problem.is_dcp():
        wrong = "one that does not keep CVXPY's rules (DCP)"
    elif problem.is_mixed_integer():
        wrong = "one with whole or boolean variables"
    elif any(parameter.value is None for parameter in problem.parameters()):
        wrong = "a parameter without a value"
    elif not model.decodable(problem):
        wrong = "one without the allocation's own variables"
    if wrong:
        raise InputError("a convex program over time and used", found=wrong, place="model")
