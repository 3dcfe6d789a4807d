"""Solve an allocation: by prices as far as they see what binds, else by programs of orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, permutations
from math import inf
from typing import Literal

import msgspec
import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Allocated, allocated
from schedopt.solvers import clarabel
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import ConflictNotReducedError, smallest_conflict
from schedopt.solvers.hesrpt.feasible import satisfiable
from schedopt.solvers.hesrpt.late import MOST_LATE, TimelineSearch, as_played, without_arrivals
from schedopt.solvers.hesrpt.makespan import least_makespan
from schedopt.solvers.hesrpt.programs import solve_program
from schedopt.solvers.hesrpt.search import OrderSearch
from schedopt.solvers.hesrpt.timelines import count_timelines, timelines
from schedopt.solvers.result import Limits, Result, Seconds, Termination, gap, snap_bound
from schedopt.solvers.running import Run, make_result

STEP = 0.2
"""Seconds between two looks at the clock."""
MOST_PROGRAMS = 2_000
"""Orders whose programs are solved before the gap that is left is reported as it is."""
MOST_CLIMBED = 40
"""Jobs up to which neighbours in an order are swapped: larger programs take seconds each."""
WRITING = 6e-7
"""Seconds that it takes to write and check the share of one job in one epoch."""
FEW_LEAVES = 20
"""Timelines, of the least bounds, among which one is tried between two looks at the clock."""
NEAR = 1e-7
"""Programs whose bound is this near to the best are not solved."""
Leaf = tuple[float, Sequence[int], Mapping[str, int]]
"""A bound, an order from the last to complete, and how many complete before each arrival."""


def solve(
    model: Allocation,
    limits: Limits,
    solver: str | None = None,
    start: Allocated | None = None,
) -> Result[Allocated]:
    """Solve an `Allocation`.

    Parameters
    ----------
    model : Allocation
        Its own order alone where it was given one or holds native constraints, else all orders.
    limits : Limits
        When to stop.
    solver : {"prices", "clarabel"}, optional
        ``clarabel`` solves the program of the best order even where prices have proven it;
        ``prices`` solves no program.
    start : Allocated, optional
        A good allocation: with arrivals, where there are too many timelines to try all, the program
        of its own is solved.

    Returns
    -------
    Result
        Not yet checked. ``termination`` is ``optimal`` where the gap is closed as far as was asked,
        ``completed`` where the search ended with a gap, and the message says why. An interruption
        (Ctrl-C) ends the run and keeps the best so far.
    """
    began = now()
    job = _Job(model, limits, solver, start)
    try:
        stopped = job.search()
    except KeyboardInterrupt:
        stopped = "interrupted"
    result = job.result(stopped)
    if stopped == "infeasible":
        result = _explained(result, model)
    seconds = Seconds(build=model.seconds, solve=now() - began)
    return msgspec.structs.replace(result, seconds=seconds)


class _Job:
    """One run: the best solution, the bound, and who proved them."""

    def __init__(
        self, model: Allocation, limits: Limits, solver: str | None, start: Allocated | None
    ) -> None:
        self.model, self.limits, self.solver, self.start = model, limits, solver, start
        self.run = Run(limits)
        self.instance = model.instance
        self.value, self.bound = inf, -inf
        self.solution: Allocated | None = None
        self.own_bound = -inf  # of the order of the best solution alone
        self.programs = 0
        self.message = ""

    def left(self) -> float | None:
        """Return the seconds that are left."""
        if self.limits.time_limit is None:
            return None
        return self.limits.time_limit - (now() - self.run.began)

    def out_of_time(self) -> bool:
        """Tell whether no time is left."""
        left = self.left()
        return left is not None and left <= 0

    def ended(self) -> Termination:
        """Return why a search stops that has come to its end."""
        return "time-limit" if self.out_of_time() else "completed"

    def note(self) -> None:
        """Note where we are, for the trace and for whoever watches."""
        bound = None if self.bound == -inf else self.bound
        best = None if self.value == inf else self.value
        self.run.note(best, bound)
        if self.limits.watch:
            self.limits.watch(now() - self.run.began, best, bound)

    def take(self, solution: Allocated, own_bound: float = -inf) -> None:
        """Keep a solution if it is the best so far."""
        value = self.instance.objective_of(solution)
        if value < self.value or self.solution is None:
            self.value, self.solution, self.own_bound = value, solution, own_bound

    def search(self) -> Termination:
        """Search in the way that suits what binds."""
        model = self.model
        if model.rules.bounds and not satisfiable(model, set(model.rules.names)):
            return "infeasible"
        if model.natives:
            return self.one_program()
        if self.instance.arrivals.any():
            return self.over_timelines()
        if self.instance.objective == "makespan":
            return self.over_makespans()
        return self.over_orders()

    def one_program(self) -> Termination:
        """Solve the program as it stands, native constraints and all."""
        found = solve_program(self.model, self.left())
        self.programs += 1
        if found.solution is None:
            if found.status in ("infeasible", "unbounded"):
                return found.status
            return "time-limit" if self.out_of_time() else "error"
        self.take(found.solution)
        self.message = "native constraints: no bound, and this order alone"
        return "completed"

    def over_makespans(self) -> Termination:
        """Take the least makespan, which a root gives; rules may part jobs that complete together.

        With rules each order's program is solved, of few enough jobs.
        """
        high, low, shares = least_makespan(self.instance)
        self.bound = low
        if self.model.rules.bounds:
            orders = [self.model.last_first.tolist()] if self.model.given else self._all_orders()
            return self.over_programs(((low, order, {}) for order in orders), low)
        everyone = np.arange(len(self.instance.jobs))
        first_first = self.model.last_first[::-1].tolist()
        together = allocated(
            self.instance,
            np.full(len(everyone), high),
            [(0.0, high, everyone, shares)],
            order=first_first if self.model.given else None,
        )
        self.take(together)
        return "completed"

    def _all_orders(self) -> Iterator[list[int]]:
        every = permutations(range(len(self.instance.jobs)))
        return islice(map(list, every), MOST_PROGRAMS + 1)

    def over_orders(self) -> Termination:
        """Search orders by prices; solve programs where prices alone do not prove."""
        order = self.model.last_first.tolist() if self.model.given else None
        search = OrderSearch(self.instance, rules=self.model.rules, order=order)
        if not search.playable and not self.model.given and self.solver != "prices":
            self.climb()
            search.value = self.value
        best, done, hurried = inf, False, False
        try:
            while not done and not self.near_enough():
                left = self.left()
                done = search.advance(STEP if left is None else max(min(STEP, left), 0.0))
                if search.value < self.value:
                    best = self.value = search.value
                self.bound = search.bound
                self.note()
                hurried = self.hurried(search) and not self.near_enough()
                if hurried or self.out_of_time():
                    break
        finally:
            if best < inf:
                self.value = inf
                self.take(search.solution())
        if self.solver == "clarabel":
            self.confirm(search)
        elif done and not self.near_enough() and self.solver != "prices":
            if search.one_order:
                self.confirm(search)
            else:
                leaves: list[Leaf] = [(b, o.tolist(), {}) for b, o in search.leaves()]
                return self.over_programs(leaves, search.bound, search.rest)
        if not self.message and search.method in ("branch and bound", "rents"):
            self.message = "too many jobs to search all orders"
        if not self.message and done and search.rest < self.value * (1 - NEAR):
            self.message = "the diagrams of all orders stay too wide to prove more"
        return "time-limit" if hurried else self.ended()

    def hurried(self, search: OrderSearch) -> bool:
        """Tell whether the time that is left is needed to write the shares of many jobs."""
        left, limit = self.left(), self.limits.time_limit
        if left is None or limit is None or search.large is None or search.value == inf:
            return False
        return left < min(WRITING * len(self.instance.jobs) ** 2, 0.5 * limit)

    def near_enough(self) -> bool:
        """Tell whether the gap is closed as far as was asked."""
        distance = gap(self.value, snap_bound(self.value, self.bound))
        return self.value < inf and distance is not None and distance <= self.limits.gap

    def confirm(self, search: OrderSearch) -> None:
        """Solve the program of the best order, or of the given one.

        Where one order is all there is to try, what is proven for it is proven for all.
        """
        program = self.model
        if not self.model.given:
            program = self.model.ordered(search.order.tolist())
        found = solve_program(program, self.left())
        self.programs += 1
        if found.solution is None:
            return
        own = -inf if found.bound is None else found.bound
        if self.solver == "clarabel":  # its answer is wanted, if a worse one
            self.value = inf
        self.take(found.solution, own)
        if search.one_order:
            self.bound = max(self.bound, own)

    def climb(self) -> None:
        """Swap neighbours in the order while that helps, from the best order without rules."""
        plain = OrderSearch(self.instance)
        plain.advance(STEP)
        order = plain.order.tolist()
        self.take_program(order)
        better = len(order) <= MOST_CLIMBED
        while better and not self.out_of_time():
            better = False
            for k in range(len(order) - 1):
                trial = [*order[:k], order[k + 1], order[k], *order[k + 2 :]]
                before = self.value
                self.take_program(trial)
                if self.value < before * (1 - NEAR):
                    order, better = trial, True
                if self.out_of_time():
                    return

    def take_program(self, order: Sequence[int], arrived: Mapping[str, int] | None = None) -> float:
        """Solve one order's program; return the bound that it proves for that order."""
        found = solve_program(self.model.ordered(order, arrived), self.left())
        self.programs += 1
        own = -inf if found.bound is None else found.bound
        if found.solution is not None:
            self.take(found.solution, own)
        self.note()
        return inf if found.status == "infeasible" else own

    def over_programs(
        self, leaves: Iterable[Leaf], others: float, rest: float = inf
    ) -> Termination:
        """Solve the programs of orders by rising bounds, until the bounds reach the best value.

        Parameters
        ----------
        leaves : iterable of (bound, order, arrived)
        others : float
            A bound on all orders, which the leaves' bounds may be raised above.
        rest : float
            A bound on the orders that are not among the leaves.
        """
        least = rest
        self.bound = max(self.bound, others)
        for tried, (bound, order, arrived) in enumerate(leaves):
            if bound >= self.value * (1 - NEAR):
                least = min(least, bound)
                break
            if tried >= MOST_PROGRAMS or self.out_of_time():
                least = min(least, bound)
                self.message = f"{tried} orders' programs were solved, not all"
                break
            least = min(least, max(bound, self.take_program(order, arrived)))
        self.bound = max(self.bound, min(least, self.value))
        return self.ended()

    def over_timelines(self) -> Termination:
        """Search timelines by prices; under side constraints solve the program of every one."""
        given = self.model.last_first.tolist() if self.model.given else None
        plain = given is None and not self.model.rules.bounds
        plain = plain and self.instance.objective != "makespan"
        if plain and len(self.instance.jobs) <= MOST_LATE:
            return self.over_plain_timelines()
        floor = without_arrivals(self.instance)
        if count_timelines(self.instance, given) <= MOST_PROGRAMS:
            every = timelines(self.instance, given)
            return self.over_programs(((floor, *timeline) for timeline in every), floor)
        self.bound = floor
        self.message = "too many timelines to try: the best of one, and a bound on all"
        if self.start is not None:
            self.take_program(*as_played(self.instance, self.start.completion))
        return self.ended()

    def over_plain_timelines(self) -> Termination:
        """Branch and bound over timelines; solve the programs of those that prices do not close."""
        search = TimelineSearch(self.instance)
        if self.start is not None:
            self.take(self.start)
            self.take_program(*as_played(self.instance, self.start.completion))
        played, done, tried = self.value, False, set[str]()
        search.value = min(search.value, self.value)
        if search.value < self.value:
            self.take(search.solution())
        while not done and not self.out_of_time():
            left = self.left()
            done = search.advance(now() + (STEP if left is None else max(min(STEP, left), 0.0)))
            if search.value < min(played, self.value):
                self.take(search.solution())
            leaves = search.leaves()
            fresh = [leaf for leaf in leaves[:FEW_LEAVES] if str(leaf[1]) not in tried]
            if fresh and not done:  # a program is slow: one now and then, for what it finds
                tried.add(str(fresh[0][1]))
                self.take_program(*fresh[0][1])
            search.value = played = min(self.value, search.value)
            least = min([search.rest, *(bound for bound, _ in leaves[:1]), self.value])
            self.bound = max(self.bound, least)
            self.note()
        if self.near_enough() or not done:
            return self.ended()
        return self.over_programs(
            ((bound, *timeline) for bound, timeline in search.leaves()), self.bound, search.rest
        )

    def result(self, stopped: Termination) -> Result[Allocated]:
        """Return the result, not yet checked."""
        bound: float | None = None if self.bound == -inf or stopped == "infeasible" else self.bound
        tolerance = self.model.tolerance
        if self.solution is None:
            bound = None
            stopped = "error" if stopped == "completed" else stopped
        else:
            distance = gap(self.value, snap_bound(self.value, bound))
            proven = distance is not None and distance <= tolerance
            if stopped in ("completed", "time-limit") and distance is not None:
                if distance <= max(self.limits.gap, tolerance):
                    stopped = "optimal"
                elif stopped == "completed" and not self.message:
                    self.message = "the bound that the search proves does not meet the best found"
            own = gap(self.value, snap_bound(self.value, self.own_bound))
            over: Literal["all", "given"] | None = None
            if proven:
                over = "given" if self.model.given else "all"
            elif own is not None and own <= tolerance:
                over = "given"
            if over is not None:
                self.solution = msgspec.structs.replace(self.solution, certified=over)
        return make_result(
            self.model,
            self.run,
            solver=self.solver or ("clarabel" if self.programs else "prices"),
            version=clarabel.version(),
            stopped=stopped,
            solution=self.solution,
            bound=bound,
            options={"tolerance": tolerance},
            message="" if stopped in ("optimal", "infeasible") else self.message,
        )


def _explained(result: Result[Allocated], model: Allocation) -> Result[Allocated]:
    """Add the side constraints that cannot hold together."""

    def holds(some: frozenset[str]) -> bool:
        if model.natives:
            return clarabel.feasible(model.program(some))
        return satisfiable(model, some)

    try:
        conflict = smallest_conflict(list(model.side()), holds)
    except ConflictNotReducedError as error:
        message = f"the conflict may not be the smallest: {error.why}"
        return msgspec.structs.replace(result, conflict=tuple(error.conflict), message=message)
    return msgspec.structs.replace(result, conflict=tuple(conflict))
