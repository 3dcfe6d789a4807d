"""Epochs and rectangles, by searches of our own and by CP-SAT with a start and a bound."""

from dataclasses import replace
from typing import Any

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Partitioned, Scheduled, partitioned
from schedopt.solvers.conflict import with_conflict
from schedopt.solvers.deciding import remaining_limits
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.epoch import is_small_model
from schedopt.solvers.epoch.bounding import least_overhead, start_and_bound
from schedopt.solvers.epoch.filling import RectangleSearch
from schedopt.solvers.epoch.items import Items, items
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import STEP, Run, Search, drive, make_result, version

SHARE = 0.75
"""Share of the time limit for our own search, where CP-SAT may follow."""

LONGEST = 30.0
"""Most seconds of that share."""

TRIVIAL = "nothing had to be searched"
TOO_MANY = "too many nodes and jobs to search"


def partition(model: Partition, task: EngineTask) -> Result[Partitioned] | Partial:
    """Search for a partition: a bound and a start, then bin completion."""
    run, instance, packed = _SearchRun(model, task), model.instance, task.reading
    if packed.impossible():
        return run.infeasible()
    known, least = start_and_bound(instance, packed)
    best = None if known is None else partitioned(instance, known)
    start = task.heuristic()
    if start is not None and (best is None or start.overhead < best.overhead):
        best = start
    bound = float(instance.nodes * least)
    if best is not None and best.overhead <= bound:
        return run.as_result("optimal", best, bound, TRIVIAL)
    from schedopt.solvers.epoch.search import Completion

    if not Completion.fits(packed):
        result = run.as_result("completed", best, bound, TOO_MANY)
        return Partial(result, bound) if is_small_model(model) else result
    epochs = () if best is None else best.epochs
    known = [[instance.index[name] for name in epoch.nodes] for epoch in epochs] or None
    search = Completion(packed, least, known)
    stopped, message = drive(search, run.run)
    if search.epochs is None:
        if stopped == "optimal":
            return run.infeasible()
        return run.as_result(stopped, None, search.bound, message)
    return run.as_result(stopped, partitioned(instance, search.epochs), search.bound, message)


def rectangles(model: Rectangles, task: EngineTask) -> Result[Scheduled] | Partial:
    """Search for rectangles: a bound and a start, then filling for three quarters of the time."""
    run, packed = _SearchRun(model, task), task.reading
    start, bound = task.heuristic(), float(least_overhead(model))
    if start is not None and start.overhead <= bound:
        return run.as_result("optimal", start, bound, TRIVIAL)
    waits = not task.alone and is_small_model(model)  # for CP-SAT
    if not RectangleSearch.fits(packed):
        result = run.as_result("completed", start, bound, TOO_MANY)
        return Partial(result, bound) if waits else result
    search, limit = RectangleSearch(model, packed, start), task.limits.time_limit
    if waits:
        part = LONGEST if limit is None else min(LONGEST, SHARE * limit)
        run.run.limits = replace(task.limits, time_limit=part)
    stopped, message = drive(search, run.run)
    run.run.limits = task.limits
    units = search.units if search.units < 1 << 53 else None
    options: dict[str, Any] = {"units": units, "exact": True}
    if stopped == "optimal" and search.solution is None:
        return run.infeasible(**options)
    result = run.as_result(stopped, search.solution, search.bound, message, **options)
    handing = waits and stopped == "time-limit" and not run.is_late
    return Partial(result, search.bound) if handing else result


def by_cpsat(
    model: Partition | Rectangles, task: EngineTask
) -> Result[Partitioned] | Result[Scheduled]:
    """Let CP-SAT search on the declared model, with interchangeable rectangles in order.

    It is told the bound and a start, except where it confirms another's result.
    """
    from schedopt.solvers import cpsat

    start, bound = task.incumbent, task.bound
    if not task.confirming and bound is None:
        start, bound = task.heuristic(), least_overhead(model)
    told, copy = None if bound is None else float(bound), None
    if isinstance(model, Rectangles) and (start is None or start.overhead != told):
        copy = cpsat.copy_model(model)
        model.in_order(copy)
    return cpsat.solve(model, task.limits, hint=start, bound=told, copy=copy)


class _SearchRun:
    """A search of our own for a formulation, from beginning to end."""

    def __init__(self, model: Partition | Rectangles, task: EngineTask) -> None:
        self.model, self.limits, self.run = model, task.limits, Run(task.limits)

    @property
    def is_late(self) -> bool:
        """Whether no time is left."""
        return remaining_limits(self.limits, self.run.began).time_limit == 0.0

    def as_result(
        self,
        stopped: Termination,
        solution: Partitioned | Scheduled | None,
        bound: float | None,
        message: str = "",
        **options: Any,
    ) -> Result[Any]:
        """Return the result, not yet checked."""
        return make_result(
            self.model,
            self.run,
            solver="epochs",
            version=version(),
            stopped=stopped,
            solution=solution,
            bound=bound,
            options=options,
            message=message,
        )

    def infeasible(self, **options: Any) -> Result[Any]:
        """Return an infeasible result with a smallest conflict."""
        rules = self.model.rules

        def holds(wanted: frozenset[str]) -> bool:
            if self.is_late:
                raise TimeoutError
            some = [rule for name, rule in rules.items() if name in wanted]
            return self._is_possible(items(self.model.instance, some))

        result = self.as_result("infeasible", None, None, **options)
        return with_conflict(result, list(rules), holds)

    def _is_possible(self, packed: Items) -> bool:
        """Tell whether anything keeps some rules; raises TimeoutError where it cannot tell."""
        if isinstance(self.model, Partition) and (packed.inequity or packed.impossible()):
            return not packed.impossible()
        search = _search_for_any(self.model, packed)
        while search.value is None and not search.advance(STEP):
            if self.is_late:
                raise TimeoutError
        return search.value is not None


def _search_for_any(model: Partition | Rectangles, packed: Items) -> Search:
    """Return a search for any solution; `TimeoutError` where without bundles there are too many."""
    from schedopt.solvers.epoch.search import Completion

    if isinstance(model, Rectangles) and RectangleSearch.fits(packed):
        return RectangleSearch(model, packed)
    if isinstance(model, Partition) and Completion.fits(packed):
        return Completion(packed, 1, None)
    raise TimeoutError(TOO_MANY)
