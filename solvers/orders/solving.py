"""Solve an allocation: by prices where nothing but work and servers bind, else by programs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import fsum, inf

import msgspec
import numpy as np

from formulations.hesrpt import Allocation
from instances.hesrpt import Allocated, Instance, allocated
from solvers import clarabel
from solvers.conflict import ConflictNotReducedError, smallest_conflict
from solvers.orders.feasible import satisfiable
from solvers.orders.makespan import least_makespan
from solvers.orders.programs import Solved, solve_program
from solvers.orders.search import OrderSearch
from solvers.orders.timelines import Timeline, count_timelines, timelines
from solvers.result import NOISE, Limits, Result, Seconds, Termination
from solvers.running import Run, make_result

STEP = 0.2
"""Seconds between two looks at the clock."""
MOST_PROGRAMS = 2_000
"""Orders whose programs are solved before the gap that is left is reported as it is."""
NEAR = 1e-7
"""Programs whose bound is this near to the best are not solved."""


def solve(
    model: Allocation,
    limits: Limits,
    solver: str | None = None,
    start: Allocated | None = None,
) -> Result:
    """Solve an `Allocation`.

    Parameters
    ----------
    model : Allocation
        Its own order alone where it was given one or holds native constraints, else all orders.
    limits : Limits
        When to stop.
    solver : {"prices", "clarabel"}, optional
        ``clarabel`` solves the program of the best order even where prices have proven it.
    start : Allocated, optional
        A good allocation: with arrivals, where there are too many timelines to try all, the program
        of its own is solved.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    began = time.perf_counter()
    job = _Job(model, limits, Run(limits), start)
    stopped: Termination = "optimal"
    try:
        if model.plain() and model.instance.objective == "makespan":
            job.shortest()
        elif model.plain():
            stopped = job.search_by_prices()
            if solver == "clarabel" and stopped == "optimal":
                job.confirm()
        else:
            stopped = job.search_by_programs()
    except KeyboardInterrupt:
        stopped = "interrupted"
    result = job.result(stopped, solver)
    if stopped == "infeasible":
        result = _explained(result, model)
    seconds = Seconds(build=model.seconds, solve=time.perf_counter() - began)
    return msgspec.structs.replace(result, seconds=seconds)


Leaf = tuple[float, Sequence[int], Mapping[str, int]]
"""A bound, an order from the last to complete, and how many complete before each arrival."""


class _Job:
    """One run: the best solution, the bound, and who proved them."""

    def __init__(
        self, model: Allocation, limits: Limits, run: Run, start: Allocated | None
    ) -> None:
        self.model, self.limits, self.run, self.start = model, limits, run, start
        self.instance = model.instance
        self.value, self.bound = inf, -inf
        self.solution: Allocated | None = None
        self.own = False  # whether the best order's own program is solved to its bound
        self.by = "prices"
        self.message = ""

    def left(self) -> float | None:
        """Return the seconds that are left."""
        if self.limits.time_limit is None:
            return None
        return self.limits.time_limit - (time.perf_counter() - self.run.began)

    def out_of_time(self) -> bool:
        """Tell whether no time is left."""
        left = self.left()
        return left is not None and left <= 0

    def note(self) -> None:
        """Note where we are, for the trace and for whoever watches."""
        bound = None if self.bound == -inf else self.bound
        best = None if self.value == inf else self.value
        self.run.note(best, bound)
        if self.limits.watch:
            self.limits.watch(time.perf_counter() - self.run.began, best, bound)

    def shortest(self) -> None:
        """Take the least makespan, which a root gives: all jobs complete together."""
        high, low, shares = least_makespan(self.instance)
        everyone = np.arange(len(self.instance.jobs))
        ends = np.full(len(everyone), high)
        self.value, self.bound = high, low
        self.solution = allocated(self.instance, ends, [(0.0, high, everyone, shares)])

    def search_by_prices(self) -> Termination:
        """Search orders with the dual bound; solve programs where prices alone do not prove."""
        order = self.model.last_first.tolist() if self.model.given else None
        search = OrderSearch(self.instance, order=order)
        done = False
        try:
            while not done and not self._near_enough():
                left = self.left()
                done = search.advance(STEP if left is None else max(min(STEP, left), 0.0))
                self.value, self.bound = search.value, search.bound
                self.note()
                if self.out_of_time() and not done:
                    break
        finally:
            if search.value < inf:
                self.solution = search.solution(msgspec.UNSET)
                self.value = self.instance.objective_of(self.solution)
        if not done:
            return "time-limit" if self.out_of_time() else "optimal"
        if search.one_order and self.value > self.bound * (1 + NOISE):
            self.confirm(one_order=True)
            return "optimal"
        if search.leaves():
            leaves: list[Leaf] = [(bound, order.tolist(), {}) for bound, order in search.leaves()]
            return self._programs(leaves, search.bound, search.rest)
        if self.value > self.bound * (1 + NOISE):
            self.message = "too many jobs to search all orders"
        return "optimal"

    def _near_enough(self) -> bool:
        return self.value < inf and self.value - self.bound <= self.limits.gap * self.value

    def confirm(self, *, one_order: bool = False) -> None:
        """Solve the program of the best order, or of the given one.

        ``one_order`` says that what is proven for this order is proven for all that count.
        """
        program = self.model
        if not self.model.given and self.solution is not None:
            index = self.instance.index
            program = self.model.ordered([index[n] for n in reversed(self.solution.order)])
        found = solve_program(program, self.left())
        if found.solution is not None:
            self.by = "clarabel"
            self.solution = found.solution
            self.value = self.instance.objective_of(found.solution)
            if found.bound is not None and (self.model.given or one_order):
                self.bound = max(self.bound, found.bound)

    def search_by_programs(self) -> Termination:
        """Solve programs of orders, those with the least bounds first."""
        self.by = "clarabel"
        model = self.model
        if model.natives or (model.given and not self.instance.arrivals.any()):
            return self._single()
        if not self._satisfiable():
            return "infeasible"
        if self.instance.arrivals.any():
            return self._with_arrivals()
        return self._under_rules()

    def _satisfiable(self) -> bool:
        model = self.model
        return satisfiable(model, set(model.rules.names))

    def _single(self) -> Termination:
        """Solve the one program there is."""
        if not self._satisfiable():
            return "infeasible"
        found = solve_program(self.model, self.left())
        self.note()
        if found.solution is None:
            stops: dict[str, Termination] = {"infeasible": "infeasible", "unbounded": "unbounded"}
            return stops.get(found.status, "time-limit" if self.out_of_time() else "error")
        self._take(found)
        self.bound = -inf if found.bound is None else found.bound
        if self.model.natives:
            self.message = "native constraints: no bound, and this order alone"
        return "optimal"

    def _take(self, found: Solved) -> None:
        if found.solution is None:
            return
        value = self.instance.objective_of(found.solution)
        if value < self.value:
            self.value, self.solution = value, found.solution
            bound = found.bound
            self.own = bound is not None and value - bound <= self.model.tolerance * value

    def _under_rules(self) -> Termination:
        """Search orders under side constraints: bounds without floors, values by programs."""
        rules = [*self.instance.constraints, *self.model.added]
        if self.instance.objective == "makespan":
            # Every order's program has them all complete together at its best; rules may not.
            candidates = _all_orders(self.instance)
            return self._programs(((0.0, order, {}) for order in candidates), 0.0)
        self._climb()
        search = OrderSearch(self.instance, constraints=rules, incumbent=self.value)
        while not search.advance(STEP):
            self.bound = search.bound
            self.note()
            if self.out_of_time():
                return "time-limit"
        return self._programs(
            [(b, o.tolist(), {}) for b, o in search.leaves()], search.bound, search.rest
        )

    def _climb(self) -> None:
        """Swap neighbours in the order while that helps, from the best order without rules."""
        plain = OrderSearch(self.instance)
        plain.advance(STEP)
        order = [int(j) for j in plain.order]
        self._take_program(order)
        better = len(order) <= 40  # each program of larger ones takes seconds
        while better and not self.out_of_time():
            better = False
            for k in range(len(order) - 1):
                trial = [*order[:k], order[k + 1], order[k], *order[k + 2 :]]
                before = self.value
                self._take_program(trial)
                if self.value < before * (1 - NEAR):
                    order, better = trial, True
                if self.out_of_time():
                    return

    def _take_program(
        self, order: Sequence[int], arrived: Mapping[str, int] | None = None
    ) -> float:
        """Solve one order's program; return the bound that it proves for that order."""
        found = solve_program(self.model.ordered(order, arrived), self.left())
        if found.solution is not None:
            self._take(found)
        self.note()
        if found.status == "infeasible":
            return inf
        return -inf if found.bound is None else found.bound

    def _programs(self, leaves: Iterable[Leaf], others: float, rest: float = inf) -> Termination:
        """Solve the programs of orders by rising bounds, until the bounds reach the best value.

        Parameters
        ----------
        leaves : iterable of (bound, order, arrived)
        others : float
            A bound on all orders, which the leaves' bounds may be raised above.
        rest : float
            A bound on the orders that are not among the leaves.
        """
        least, tried = rest, 0
        self.bound = max(self.bound, others)
        for bound, order, arrived in leaves:
            if bound >= self.value * (1 - NEAR):
                least = min(least, bound)
                break
            if tried >= MOST_PROGRAMS or self.out_of_time():
                least = min(least, bound)
                self.message = f"{tried} orders' programs were solved, not all"
                break
            tried += 1
            least = min(least, max(bound, self._take_program(order, arrived)))
        self.by = "clarabel" if tried else self.by
        self.bound = max(self.bound, min(least, self.value))
        return "time-limit" if self.out_of_time() else "optimal"

    def _with_arrivals(self) -> Termination:
        """Solve the program of every timeline, or else of the one that a policy makes."""
        given = [int(j) for j in self.model.last_first] if self.model.given else None
        floor = _without_arrivals(self.instance)
        if count_timelines(self.instance, given) <= MOST_PROGRAMS:
            return self._programs(
                ((floor, order, arrived) for order, arrived in timelines(self.instance, given)),
                floor,
            )
        self.bound = floor
        self.message = "too many timelines to try: the best of one, and a bound on all"
        if self.start is not None:
            self._take_program(*_as_played(self.instance, self.start.completion))
        return "time-limit" if self.out_of_time() else "optimal"

    def result(self, stopped: Termination, solver: str | None) -> Result:
        """Return the result, not yet checked."""
        bound: float | None = None if self.bound == -inf or stopped == "infeasible" else self.bound
        result = make_result(
            self.model,
            self.run,
            solver=solver or self.by,
            version=clarabel.version(),
            stopped=stopped,
            solution=self.solution,
            bound=bound,
            options={"tolerance": self.model.tolerance},
            message=self.message,
        )
        if self.solution is None:
            if stopped == "optimal":
                result = msgspec.structs.replace(result, termination="error")
            return result
        over = "given" if self.model.given or self.own else None
        if result.proven and not self.model.given and not self.model.natives:
            over = "all"
        if stopped == "optimal" and not result.proven and self.message:
            result = msgspec.structs.replace(result, termination="completed")
        if over is None or (over == "given" and not (self.own or result.proven)):
            return result
        solution = msgspec.structs.replace(self.solution, certified=over)
        return msgspec.structs.replace(result, solution=solution)


def _all_orders(instance: Instance) -> Iterator[list[int]]:
    from itertools import permutations

    return islice(map(list, permutations(range(len(instance.jobs)))), MOST_PROGRAMS + 1)


def _without_arrivals(instance: Instance) -> float:
    """Return a bound on instances with arrivals: all there from the start, waiting not paid for."""
    each = instance.sizes / instance.each(
        "at", np.arange(len(instance.jobs)), np.full(len(instance.jobs), float(instance.servers))
    )
    if instance.objective == "makespan":
        return float((instance.arrivals + each).max())
    alone = fsum((instance.costs * each).tolist())
    jobs = tuple(msgspec.structs.replace(job, arrival=0.0) for job in instance.jobs)
    early = msgspec.structs.replace(instance, jobs=jobs, constraints=())
    search = OrderSearch(early)
    search.advance(5.0)
    return float(max(alone, search.bound - fsum((instance.costs * instance.arrivals).tolist())))


def _as_played(instance: Instance, ends: Mapping[str, float]) -> Timeline:
    """Return the order from the last to complete, and what had completed at each arrival."""
    names = sorted(ends, key=lambda name: ends[name])
    arrived = {
        job.name: sum(end <= job.arrival for end in ends.values())
        for job in instance.jobs
        if job.arrival > 0
    }
    return [instance.index[name] for name in reversed(names)], arrived


def _explained(result: Result, model: Allocation) -> Result:
    """Add the side constraints that cannot hold together."""
    names = list(model.side())
    holds: Callable[[frozenset[str]], bool]
    if model.natives:

        def holds(some: frozenset[str]) -> bool:
            return clarabel.feasible(model.program(some))

    else:

        def holds(some: frozenset[str]) -> bool:
            return satisfiable(model, some)

    try:
        conflict = smallest_conflict(names, holds)
    except ConflictNotReducedError as error:
        message = f"the conflict may not be the smallest: {error.why}"
        return msgspec.structs.replace(result, conflict=tuple(error.conflict), message=message)
    return msgspec.structs.replace(result, conflict=tuple(conflict))
