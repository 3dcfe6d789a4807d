"""The engine of the declared convex programs: of completion orders, or as the user changed them."""

import msgspec
import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Timeline, smiths_order
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.solvers import clarabel
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.hesrpt.attempt import Attempt, run_attempt
from schedopt.solvers.hesrpt.feasibility import has_few_timelines, possible_timelines
from schedopt.solvers.hesrpt.order_search import plain_timeline
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import with_objective_of_model

FEW_TIMELINES = 720
"""Most timelines, as of 6 jobs without arrivals, whose programs are all solved."""


def solve(model: Allocation, task: EngineTask) -> Result[Allocated]:
    """Solve the declared program with the user's changes, for its order or for all orders."""
    if not model.changed:
        return run_attempt(model, EngineTask(task.limits), "model", _over_timelines)
    _refuse_what_cannot_be_solved(model)
    result = run_attempt(model, EngineTask(task.limits), "model", _as_changed)
    if model.goal_changed and result.termination == "completed":
        result = msgspec.structs.replace(result, termination="optimal")
    own = model.model.objective.value if model.goal_changed else None
    return with_objective_of_model(model, result, None if own is None else float(own))


def _over_timelines(attempt: Attempt) -> Termination:
    """Solve the programs of all timelines if there are few, or else of one.

    Without minimum shares, jobs may be kept until later. The least makespan is then that of the
    timeline in which all jobs complete after the last arrival.
    """
    model, instance = attempt.model, attempt.instance
    floor = _cost_each_alone(instance)
    attempt.raise_bound(floor, attempt.name)
    free = all(bound.at_least <= 0.0 for bound in model.rules.bounds)
    if instance.objective == "makespan" and free and not model.given:
        last: Timeline = smiths_order(instance).tolist(), {}
        return attempt.solve_leaves([(floor, last)], floor)
    if not has_few_timelines(model, FEW_TIMELINES):
        attempt.message = f"more than {FEW_TIMELINES} completion orders are possible"
        attempt.take_program(*plain_timeline(instance))
        return attempt.end_status()
    every = possible_timelines(model, model.rules.names)
    return attempt.solve_leaves(((floor, timeline) for timeline in every), floor)


def _cost_each_alone(instance: Instance) -> float:
    """Return the total cost if each job had all servers from its arrival on."""
    servers = np.full(len(instance.jobs), float(instance.servers))
    times = instance.sizes / instance.each("at", np.arange(len(servers)), servers)
    makespan = instance.objective == "makespan"
    return float((instance.arrivals + times).max() if makespan else instance.costs @ times)


def _as_changed(attempt: Attempt) -> Termination:
    """Solve the program that the user has changed; it has no bound."""
    model = attempt.model
    problem = model.program(model.side_constraints())
    status = clarabel.solve(problem, attempt.seconds_left())
    if status in ("infeasible", "unbounded"):
        return status
    if status != "solved":
        attempt.message = "Clarabel could not tell whether there is an allocation, or which is best"
        return "time-limit" if attempt.out_of_time() else "error"
    attempt.take(model.decode(lambda variable: variable.value), "model")
    attempt.message = "native constraints: no bound, and this order alone"
    if model.goal_changed:
        own = model.worth(problem.value)
        attempt.message = f"the model's own objective was optimized: {own:.10g}"
    return "completed"


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
