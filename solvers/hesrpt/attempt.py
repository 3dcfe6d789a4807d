"""An engine's attempt at an allocation: the best so far, the bound, and who gave them."""

from collections.abc import Callable, Iterable
from math import inf
from typing import Literal, Protocol

import msgspec

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Timeline
from schedopt.instances.extras import MissingExtraError, installed, missing
from schedopt.instances.hesrpt import Allocated
from schedopt.solvers import clarabel
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import Holds, with_conflict
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.hesrpt.cone_programs import feasible, solve_program
from schedopt.solvers.hesrpt.direct import split_evenly
from schedopt.solvers.hesrpt.feasibility import (
    always_satisfiable,
    is_possible,
    possible_timelines,
    satisfiable,
)
from schedopt.solvers.result import Result, Termination, gap, snap_bound
from schedopt.solvers.running import Run, make_result
from schedopt.solvers.stopping import stopped

STEP = 0.2
"""Seconds between two looks at the clock."""
BEYOND = 0.7
"""Seconds beyond the limit that writing a solution may take."""
MOST_PROGRAMS = 2_000
"""Most orders whose programs are solved; the remaining gap is then reported."""
NEAR = 1e-7
"""Programs whose bound is this near to the incumbent are not solved."""


class Search(Protocol):
    """A search that works in short steps; its value is infinite while there is no solution."""

    name: str
    value: float
    bound: float

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether there is nothing left to do."""

    def solution(self) -> Allocated:
        """Return the best solution."""


class Attempt:
    """The incumbent, the bound, and the engines that gave them.

    `value` is infinite and `bound` minus infinity where nothing is known; `message` says why no
    more is proven.
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
        self._of_its_order = -inf

    def seconds_left(self) -> float | None:
        """Return the seconds that are left."""
        limit = self.limits.time_limit
        return None if limit is None else limit - (now() - self.run.began)

    def out_of_time(self, spare: float = 0.0) -> bool:
        """Tell whether no more than the reserved time is left, or the run was told to end."""
        remaining = self.seconds_left()
        return stopped() or (remaining is not None and remaining <= spare)

    def end_status(self) -> Termination:
        """Return the status of a search that has come to its end."""
        return "time-limit" if self.out_of_time() else "completed"

    def is_closed(self, value: float = inf) -> bool:
        """Tell whether the gap is within the requested one, if the incumbent had that value."""
        value = min(value, self.value)
        distance = gap(value, snap_bound(value, self.bound))
        return value < inf and distance is not None and distance <= self.limits.gap

    def take(self, solution: Allocated, by: str | None, of_its_order: float = -inf) -> None:
        """Keep a solution, found by an engine or a policy (None), if it is the best so far.

        `of_its_order` is a bound on its completion order alone.
        """
        value = self.instance.objective_of(solution)
        if value < self.value or self.solution is None:
            self.value, self.solution, self._found_by = value, solution, by
            self._of_its_order = of_its_order

    def take_even_split(self) -> None:
        """Keep an even split if nothing is at hand, so that no time limit leaves nothing."""
        if self.solution is None and not self.model.given and not self.model.changed:
            split = split_evenly(self.instance, self.model.rules)
            if split is not None:
                self.take(split, None)

    def raise_bound(self, bound: float, by: str) -> None:
        """Keep a bound if it is the tightest so far."""
        if bound > self.bound:
            self.bound, self._bounded_by = bound, by

    def note(self, value: float = inf) -> None:
        """Record value and bound in the trace, and report them to the watcher."""
        numbers = min(value, self.value), self.bound
        best, bound = (None if abs(number) == inf else number for number in numbers)
        self.run.note(best, bound)
        if self.limits.watch:
            self.limits.watch(now() - self.run.began, best, bound)

    def run_search(self, search: Search, spare: float = 0.0) -> bool:
        """Advance a search to its end, a small gap, or the time limit; tell whether it has ended.

        `spare` is the time in seconds that writing the solution takes: it is left, up to half of
        the limit.
        """
        best = self.value
        try:
            while True:
                left = self.seconds_left()
                done = search.advance(STEP if left is None else max(min(STEP, left), 0.0))
                self.raise_bound(search.bound, search.name)
                self.note(search.value)
                if done or self.is_closed(search.value) or self.out_of_time():
                    return done
                half = 0.5 * (self.limits.time_limit or 0.0)
                if search.value < inf and self.out_of_time(min(spare, half)):
                    return False
        finally:
            left = self.seconds_left()
            if search.value < best and (left is None or spare <= max(left, 0.0) + BEYOND):
                self.take(search.solution(), search.name)

    def take_program(self, order: list[int], arrived: dict[str, int] | None = None) -> float:
        """Solve one order's program; return the bound that it proves for that order."""
        if not installed("clarabel"):
            raise missing("clarabel")
        in_hand = self.value < inf
        if in_hand and self.out_of_time():
            return -inf  # setting a program up may take many seconds
        program = self.model.ordered(order, arrived)
        expired = self.out_of_time if in_hand else lambda: False
        try:
            if program.rules.bounds and not is_possible(program, program.rules.names, expired):
                return inf
        except TimeoutError:
            return -inf
        incumbent = inf if self.solution is None else self.value
        solved = solve_program(program, self.seconds_left(), incumbent)
        own = -inf if solved.bound is None else solved.bound
        if solved.solution is not None:
            self.take(solved.solution, "clarabel", own)
        self.note()
        return inf if solved.status == "infeasible" else own

    def over_programs(
        self, leaves: Iterable[tuple[float, Timeline]], others: float, rest: float = inf
    ) -> Termination:
        """Solve the programs of timelines in order of bounds, until these reach the incumbent.

        `others` bounds all timelines, `rest` those that are not among the leaves: at most the value
        that a search claims, since what it closed need not cost more than that.
        """
        least = rest
        self.raise_bound(others, self.name)
        try:
            for tried, (bound, timeline) in enumerate(leaves):
                over = tried >= MOST_PROGRAMS or self.out_of_time()
                if over or bound >= self.value * (1 - NEAR):
                    least = min(least, bound)
                    if over:
                        self.message = f"{tried} orders' programs were solved, not all"
                    break
                least = min(least, max(bound, self.take_program(*timeline)))
        except (TimeoutError, MissingExtraError) as reason:  # what prices prove is kept
            self.message, least = str(reason), min(least, others)
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
                self.message = self.message or "neither an allocation was found nor that none is"
        else:
            bound = None if stopped == "infeasible" else bound
            distance = gap(self.value, snap_bound(self.value, bound))
            if distance is not None and distance <= tolerance:
                bound = min(bound or inf, self.value)  # shares keep rules to the last digit but one
            if stopped in ("completed", "time-limit") and distance is not None:
                if distance <= max(self.limits.gap, tolerance):
                    stopped = "optimal"
                elif stopped == "completed" and not self.message:
                    self.message = "the bound that the search proves does not meet the best found"
            solution = msgspec.structs.replace(solution, certified=self._proven_over(distance))
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

    def _proven_over(self, distance: float | None) -> Literal["all", "given"] | msgspec.UnsetType:
        """Return the orders over which the gap is closed."""
        tolerance = self.model.tolerance
        if distance is not None and distance <= tolerance:
            return "given" if self.model.given else "all"
        own = gap(self.value, snap_bound(self.value, self._of_its_order))
        return "given" if own is not None and own <= tolerance else msgspec.UNSET


def run_attempt(
    model: Allocation,
    task: EngineTask,
    name: str,
    work: Callable[[Attempt], Termination],
    holding: Callable[[Attempt], Holds] | None = None,
) -> Result[Allocated]:
    """Run an engine's work and return the result, not yet checked.

    Ctrl-C ends the work and keeps the best so far. `work` returns why it stopped: ``completed``
    where it came to its end. Unless `holding` says how to tell which side constraints can hold
    together, those that no shares satisfy are detected first.
    """
    attempt = Attempt(model, task, name)
    stopped: Termination
    try:
        kept = holding is not None or _may_be_satisfiable(model)
        stopped = work(attempt) if kept else "infeasible"
    except KeyboardInterrupt:
        stopped = "interrupted"
    result = attempt.result(stopped)
    if stopped == "infeasible":
        result = with_conflict(
            result, list(model.side_constraints()), (holding or _feasibility_test)(attempt)
        )
    return result


def _may_be_satisfiable(model: Allocation) -> bool:
    """Tell whether the side constraints may be feasible: no quick proof refutes them."""
    names = set(model.rules.names)
    late = model.instance.arrivals.any() and not always_satisfiable(model, names)
    try:
        return not model.rules.bounds or (
            satisfiable(model, names) and not (late and not any(possible_timelines(model, names)))
        )
    except TimeoutError:
        return True


def _feasibility_test(attempt: Attempt) -> Holds:
    """Return a function that tells whether some side constraints, by name, can hold together."""
    model, late = attempt.model, bool(attempt.instance.arrivals.any())

    def holds(some: frozenset[str]) -> bool:
        if not satisfiable(model, some):
            return False
        if not model.given and always_satisfiable(model, some):
            return True
        tried = set[tuple[int, ...]]()
        for order, arrived in possible_timelines(model, some):
            if not late:
                return True
            # After the last arrival time is not known: all that is served gets done.
            before = max(arrived.values())
            key = *order[len(order) - before :], -1, *arrived.values()
            if key in tried:
                continue
            if len(tried) >= MOST_PROGRAMS or attempt.out_of_time():
                raise TimeoutError
            tried.add(key)
            if feasible(model.ordered(order, arrived), some):
                return True
        return False

    return holds
