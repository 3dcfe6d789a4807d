"""Engines that solve convex programs: of the orders that matter, and the declared model itself."""

from collections.abc import Collection, Iterator
from math import inf

import msgspec
import numpy as np

from schedopt.formulations.hesrpt import Allocation, epochs
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.solvers import clarabel
from schedopt.solvers.conflict import FeasibilityTest
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.hesrpt.attempt import PARAMS, Attempt, run_attempt
from schedopt.solvers.hesrpt.cone_programs import solve_program
from schedopt.solvers.hesrpt.feasibility import has_few_timelines, possible_timelines
from schedopt.solvers.hesrpt.order_search import GivenOrder, order_search, plain_timeline
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import with_objective_of_model

BELOW = 1e-7
"""Relative error that is allowed for an interior-point optimum."""


def solve(model: Allocation, task: EngineTask) -> Result[Allocated]:
    """Solve an allocation by the convex programs of completion orders, in order of their bounds."""
    if model.changed:
        return solve_as_it_stands(model, task)
    if model.instance.arrivals.any() or model.instance.objective == "makespan":
        return run_attempt(model, task, "clarabel", _over_timelines)
    return run_attempt(model, task, "clarabel", _best_order)


def _best_order(attempt: Attempt) -> Termination:
    """Solve the program of the given order, or of the best order by prices."""
    model = attempt.model
    order = model.last_first.tolist() if model.given else None
    attempt.take_even_split()
    search = order_search(model.instance, model.rules, order)
    attempt.run_search(search)
    played, attempt.solution = attempt.solution, None  # a program's is wanted, if a worse one
    own = attempt.take_program(search.order.tolist())
    if model.given and own == inf:
        return "infeasible"
    if attempt.solution is None and played is not None:
        attempt.take(played, search.name)
    if isinstance(search, GivenOrder) and own < inf:
        attempt.raise_bound(own, "clarabel")
    return attempt.end_status()


def _over_timelines(attempt: Attempt) -> Termination:
    """Solve the programs of all timelines if there are few, or else of some.

    Without minimum shares, jobs may be kept until later. The least makespan is then that of the
    timeline in which all jobs complete after the last arrival.
    """
    model, instance = attempt.model, attempt.instance
    last: epochs.Timeline = epochs.smiths_order(instance).tolist(), {}
    floor = _cost_each_alone(instance)
    attempt.take_even_split()
    if instance.objective == "makespan" and not model.given:
        if all(bound.at_least <= 0.0 for bound in model.rules.bounds):
            return attempt.solve_leaves([(floor, last)], floor)
        program = model.ordered(*last)
        program.rules = epochs.without_floors(program.rules)
        if attempt.solution is None or not attempt.out_of_time():
            floor = max(floor, solve_program(program, attempt.seconds_left()).bound or 0.0)
    attempt.raise_bound(floor, attempt.name)
    if not model.given and not has_few_timelines(model, PARAMS.programs):
        attempt.take_program(*plain_timeline(instance))
    every = possible_timelines(model, model.rules.names)
    return attempt.solve_leaves(((floor, timeline) for timeline in every), floor)


def _cost_each_alone(instance: Instance) -> float:
    """Return the total cost if each job had all servers from its arrival on."""
    servers = np.full(len(instance.jobs), float(instance.servers))
    times = instance.sizes / instance.each("at", np.arange(len(servers)), servers)
    makespan = instance.objective == "makespan"
    return float((instance.arrivals + times).max() if makespan else instance.costs @ times)


def solve_as_it_stands(model: Allocation, task: EngineTask) -> Result[Allocated]:
    """Solve the declared program with the user's changes, for its order or for all orders."""
    if model.changed:
        _refuse_what_cannot_be_solved(model)
    result = run_attempt(model, EngineTask(task.limits), "model", _solve_one_by_one, _can_hold)
    if model.goal_changed and result.termination == "completed":
        result = msgspec.structs.replace(result, termination="optimal")
    own = model.model.objective.value if model.goal_changed else None
    return with_objective_of_model(model, result, None if own is None else float(own))


def _programs_by_order(model: Allocation, names: Collection[str]) -> Iterator[Allocation]:
    """Yield the program of each order; only one if the model was changed or its order is given.

    Orders in which the named side constraints leave no feasible shares are omitted, since an
    interior-point method may not detect that.
    """
    if model.changed:
        yield model
    else:
        yield from (model.ordered(*timeline) for timeline in possible_timelines(model, names))


def _solve_one_by_one(attempt: Attempt) -> Termination:
    """Solve the programs one by one. The bound is the least optimum minus its possible error."""
    model = attempt.model
    least, stopped = inf, ""
    for program in _programs_by_order(model, model.rules.names):
        if attempt.out_of_time():
            return "time-limit"
        problem = program.program(program.side_constraints())
        status = clarabel.solve(problem, attempt.seconds_left())
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
        attempt.raise_bound(least, "model")
    elif model.goal_changed:
        own = model.worth(problem.value)
        attempt.message = f"the model's own objective was optimized: {own:.10g}"
    else:
        attempt.message = "native constraints: no bound, and this order alone"
    return "completed"


def _can_hold(attempt: Attempt) -> FeasibilityTest:
    """Return a test whether the named side constraints can hold together in some program."""
    model = attempt.model

    def holds(some: frozenset[str]) -> bool:
        for program in _programs_by_order(model, some):
            if attempt.out_of_time():
                raise TimeoutError
            if clarabel.feasible(program.program(some)):
                return True
        return False

    return holds


def _refuse_what_cannot_be_solved(model: Allocation) -> None:
    """Raise `InputError` if Clarabel cannot solve the changed program."""
    problem = model.program(model.side_constraints())
    for right, what in (
        (problem.is_dcp(), "one that does not keep CVXPY's rules (DCP)"),
        (not problem.is_mixed_integer(), "one with whole or boolean variables"),
        (all(p.value is not None for p in problem.parameters()), "a parameter without a value"),
        (model.decodable(problem), "one without the allocation's own variables"),
    ):
        if not right:
            raise InputError("a convex program over time and used", found=what, place="model")
