"""The state of an engine that solves an allocation, and the engine of the convex programs.

The state is the incumbent, the bound, and the engine that found each.
"""

from collections.abc import Callable, Iterable
from math import inf
from typing import Any, Literal

import msgspec
import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Timeline, smiths_order
from schedopt.instances.errors import InputError
from schedopt.instances.extras import MissingExtraError, installed, missing
from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.solvers import clarabel
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import FeasibilityTest, with_conflict
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.hesrpt.feasibility import (
    has_few_timelines,
    possible_timelines,
    satisfiable,
)
from schedopt.solvers.hesrpt.price_kernels import curves, simulate, speeds
from schedopt.solvers.result import Result, Termination, gap, snap_bound
from schedopt.solvers.running import Run, make_result, with_objective_of_model
from schedopt.solvers.stopping import stopped

STEP_SECONDS = 0.2
"""Seconds between two checks of the clock."""
MOST_PROGRAMS = 2_000
"""Most orders whose convex programs are solved; the gap that remains is reported."""
FEW_TIMELINES = 720
"""Most timelines, as of 6 jobs without arrivals, that the engine ``model`` solves one by one."""
SMALLEST_GAP = 1e-7
"""Relative gap to the incumbent below which a convex program is not solved."""
ERROR = 1e-8
"""Relative error of an interior-point optimum, by which its bound is lowered."""


class Attempt:
    """The incumbent, the bound, and the engine that found each.

    ``value`` is infinite without an incumbent, and ``bound`` minus infinity without a bound.
    ``message`` says why they do not meet.
    """

    def __init__(self, model: Allocation, task: EngineTask, name: str) -> None:
        self.model, self.name = model, name
        self.instance, self.limits = model.instance, task.limits
        self.run = Run(task.limits)
        self.value, self.solution = inf, task.incumbent
        if self.solution is not None:
            self.value = self.instance.objective_of(self.solution)
        self.bound = -inf if task.bound is None else float(task.bound)
        self.message = ""
        self._found_by: str | None = None
        self._bounded_by: str | None = None

    def seconds_left(self) -> float | None:
        """Return the seconds until the time limit, or None without one."""
        limit = self.limits.time_limit
        return None if limit is None else limit - (now() - self.run.began)

    def out_of_time(self) -> bool:
        """Return True at the time limit, or if the solve was interrupted."""
        remaining = self.seconds_left()
        return stopped() or (remaining is not None and remaining <= 0.0)

    def end_status(self) -> Termination:
        """Return the termination of a search that has ended."""
        return "time-limit" if self.out_of_time() else "completed"

    def is_closed(self, value: float = inf) -> bool:
        """Return True if an incumbent with this value would close the requested gap."""
        value = min(value, self.value)
        distance = gap(value, snap_bound(value, self.bound))
        return value < inf and distance is not None and distance <= self.limits.gap

    def take(self, solution: Allocated, by: str | None) -> None:
        """Keep a solution if it is better; ``by`` is its engine, None for a policy."""
        value = self.instance.objective_of(solution)
        if value < self.value or self.solution is None:
            self.value, self.solution, self._found_by = value, solution, by

    def raise_bound(self, bound: float, by: str) -> None:
        """Keep a lower bound if it is better than the current one."""
        if bound > self.bound:
            self.bound, self._bounded_by = bound, by

    def note(self, value: float = inf) -> None:
        """Record value and bound in the trace, and call the user's ``watch``."""
        numbers = min(value, self.value), self.bound
        best, bound = (None if abs(number) == inf else number for number in numbers)
        self.run.note(best, bound)
        if self.limits.watch:
            self.limits.watch(now() - self.run.began, best, bound)

    def run_search(self, search: Any) -> bool:
        """Advance a search until the gap is closed or the time limit; return whether it ended."""
        best = self.value
        try:
            while True:
                left = self.seconds_left()
                step = STEP_SECONDS
                done: bool = search.advance(step if left is None else max(min(step, left), 0.0))
                self.raise_bound(search.bound, search.name)
                self.note(search.value)
                if done or self.is_closed(search.value) or self.out_of_time():
                    return done
        finally:
            if search.value < best:
                self.take(search.solution(), search.name)

    def take_program(self, order: list[int], arrived: dict[str, int] | None = None) -> float:
        """Solve the convex program of one completion order, and return its lower bound."""
        if not installed("clarabel"):
            raise missing("clarabel")
        if self.value < inf and self.out_of_time():
            return -inf  # building a program can take many seconds
        program = self.model.ordered(order, arrived)
        problem = program.program(program.rules.names)
        status = clarabel.solve(problem, self.seconds_left())
        if status == "infeasible":
            return inf
        if status != "solved":
            return -inf
        bound = -inf
        if problem.status == "optimal":  # not if it is inaccurate
            bound = program.worth(problem.value) * (1.0 - ERROR)
        self.take(program.decode(lambda variable: variable.value), "model")
        self.note()
        return bound

    def solve_leaves(
        self, leaves: Iterable[tuple[float, Timeline]], bound_all: float, bound_pruned: float = inf
    ) -> Termination:
        """Solve the convex programs of timelines until their bounds reach the incumbent.

        ``leaves`` are timelines with their lower bounds, in increasing order. ``bound_all`` is a
        lower bound for all timelines, and ``bound_pruned`` for those that are not among the leaves:
        at most the value of the incumbent against which a search pruned them.
        """
        least = bound_pruned
        self.raise_bound(bound_all, self.name)
        try:
            for tried, (bound, timeline) in enumerate(leaves):
                over = tried >= MOST_PROGRAMS or self.out_of_time()
                if over or bound >= self.value * (1 - SMALLEST_GAP):
                    least = min(least, bound)
                    if over:
                        self.message = f"only {tried} completion orders were solved"
                    break
                least = min(least, max(bound, self.take_program(*timeline)))
        except (TimeoutError, MissingExtraError) as reason:  # the bound of all timelines is kept
            self.message, least = str(reason), min(least, bound_all)
        if least == inf and self.solution is None:
            return "infeasible"
        self.raise_bound(min(least, self.value), self.name)
        return self.end_status()

    def result(self, stopped: Termination) -> Result[Allocated]:
        """Return the result, not yet checked."""
        tolerance, solution = self.model.tolerance, self.solution
        bound: float | None = None if self.bound == -inf else self.bound
        if solution is None:
            bound = None
            if stopped == "completed":
                stopped = "error"
                self.message = self.message or "found no allocation, and no proof that none exists"
        else:
            bound = None if stopped == "infeasible" else bound
            distance = gap(self.value, snap_bound(self.value, bound))
            if distance is not None and distance <= tolerance:
                bound = min(bound or inf, self.value)  # shares satisfy constraints up to rounding
            if stopped in ("completed", "time-limit") and distance is not None:
                if distance <= max(self.limits.gap, tolerance):
                    stopped = "optimal"
                elif stopped == "completed" and not self.message:
                    self.message = "the bound of the search does not meet the best solution"
            if distance is not None and distance <= tolerance:
                over: Literal["all", "given"] = "given" if self.model.given else "all"
                solution = msgspec.structs.replace(solution, certified=over)
        result = make_result(
            self.model,
            self.run,
            solver=self.name,
            version=clarabel.version(),
            stopped=stopped,
            solution=solution,
            bound=bound,
            options={"tolerance": tolerance},
            message="" if stopped in ("optimal", "infeasible") else self.message,
        )
        return msgspec.structs.replace(
            result, found_by=self._found_by, bounded_by=self._bounded_by if bound else None
        )


def run_attempt(
    model: Allocation, task: EngineTask, name: str, work: Callable[[Attempt], Termination]
) -> Result[Allocated]:
    """Run an engine and return its result, which is not yet checked.

    ``work`` returns why it ended, ``completed`` if it came to its end. Ctrl-C ends it and keeps the
    incumbent. It is not called if a fast proof shows that no shares satisfy the side constraints.
    """
    attempt = Attempt(model, task, name)
    stopped: Termination
    try:
        stopped = work(attempt) if model.changed or _may_be_feasible(model) else "infeasible"
    except KeyboardInterrupt:
        stopped = "interrupted"
    result = attempt.result(stopped)
    if stopped == "infeasible":
        result = with_conflict(result, list(model.side_constraints()), _feasibility_test(attempt))
    return result


def _may_be_feasible(model: Allocation) -> bool:
    """Return False if the side constraints are infeasible by a fast proof."""
    names = model.rules.names
    try:
        return satisfiable(model, names) and (
            not (names and model.instance.arrivals.any()) or any(possible_timelines(model, names))
        )
    except TimeoutError:
        return True


def _feasibility_test(attempt: Attempt) -> FeasibilityTest:
    """Return a test whether some side constraints, by name, can hold together."""
    model, late = attempt.model, bool(attempt.instance.arrivals.any())

    def holds(some: frozenset[str]) -> bool:
        if model.changed:
            return clarabel.feasible(model.program(some))
        if not late or not satisfiable(model, some):
            return satisfiable(model, some)
        tried = set[tuple[int, ...]]()
        for order, arrived in possible_timelines(model, some):
            # After the last arrival there is no deadline: every job that is served completes.
            before = max(arrived.values())
            key = *order[len(order) - before :], -1, *arrived.values()
            if key in tried:
                continue
            if len(tried) >= MOST_PROGRAMS or attempt.out_of_time():
                raise TimeoutError
            tried.add(key)
            if clarabel.feasible(model.ordered(order, arrived).program(some)):
                return True
        return False

    return holds


def plain_timeline(instance: Instance) -> Timeline:
    """Return a good timeline that ignores side constraints: of equal shares.

    A timeline is the order from the last job to complete, and the number of completions before
    each arrival.
    """
    c, everyone = curves(instance), np.arange(len(instance.jobs))
    prices = instance.costs / speeds(c, everyone, c.mosts, np.zeros(len(everyone)))
    starts = np.unique(np.append(0.0, instance.arrivals))
    groups = np.searchsorted(starts, instance.arrivals).astype(np.int64)
    ends = simulate(c, instance.sizes, prices, starts, groups, np.zeros((0, 0))).ends
    late = np.flatnonzero(instance.arrivals)
    arrived = {instance.names[j]: int((ends <= instance.arrivals[j]).sum()) for j in late}
    return np.argsort(-ends, kind="stable").tolist(), arrived


def solve_programs(model: Allocation, task: EngineTask) -> Result[Allocated]:
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
    variables = {variable.id for variable in problem.variables()}
    for right, what in (
        (problem.is_dcp(), "one that does not keep CVXPY's rules (DCP)"),
        (not problem.is_mixed_integer(), "one with whole or boolean variables"),
        (all(p.value is not None for p in problem.parameters()), "a parameter without a value"),
        ({model.time.id, model.used.id} <= variables, "one without the allocation's own variables"),
    ):
        if not right:
            raise InputError("a convex program over time and used", found=what, place="model")
