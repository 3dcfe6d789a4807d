"""Epochs and rectangles, by searches of our own and by CP-SAT with a start and a bound."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import msgspec

from schedopt.formulations.epoch.partition import Epochs, Partition
from schedopt.formulations.epoch.rectangles import Rectangles
from schedopt.instances.epoch import Partitioned, Scheduled, partitioned
from schedopt.solvers.conflict import with_conflict
from schedopt.solvers.deciding import remaining_limits
from schedopt.solvers.driving import STEP, Search, drive, version
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.epoch import is_small_model
from schedopt.solvers.epoch.bounding import (
    blocks,
    deal_jobs,
    least_of,
    least_overhead,
    least_width_overhead,
)
from schedopt.solvers.epoch.filling import RectangleSearch
from schedopt.solvers.epoch.items import Items, first_fit, items
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import Run, make_result

SHARE = 0.75
"""Share of the time limit for our own search, where CP-SAT may follow."""

LONGEST = 30.0
"""Most seconds of that share."""

MOST_JOBS = 1_000
"""Most jobs for which CP-SAT's model is written, which grows with their square."""

MOST_ASKED = 20_000_000
"""Most steps of a test whether side constraints can hold together."""

TRIVIAL = "nothing had to be searched"


def partition(model: Partition, task: EngineTask) -> Result[Partitioned] | Partial:
    """Search for a partition: a bound and a start, then bin completion and multipliers."""
    work, packed = _SearchRun(model, task), task.reading

    def possible(some: Items) -> bool:
        from schedopt.solvers.epoch.search import Completion

        if some.inequity or some.impossible():
            return not some.impossible()
        if not Completion.fits(some):  # without bundles there may be too many kinds
            raise TimeoutError("too many nodes and jobs to search for epochs")
        return work.finds_solution(Completion(some, 1, None), MOST_ASKED)

    def record(epochs: Epochs | None) -> Partitioned | None:
        return None if epochs is None else partitioned(model.instance, epochs)

    if packed.impossible():
        return work.infeasible(possible)
    known, least = _trivial_partition(model, packed, task.heuristic())
    bound = float(packed.nodes * least)
    if known is not None and len(known) <= least:
        return work.as_result("optimal", record(known), bound, TRIVIAL)
    from schedopt.solvers.epoch.search import Completion, PartitionSearch

    if not Completion.fits(packed):
        message = "too many nodes and jobs to search for epochs"
        result = work.as_result("completed", record(known), bound, message)
        return Partial(result, bound) if len(model.instance.jobs) <= MOST_JOBS else result
    search = PartitionSearch(packed, least, known)
    stopped, message = work.run_search(search)
    if stopped == "optimal" and search.epochs is None:
        return work.infeasible(possible)
    return work.as_result(stopped, record(search.epochs), search.bound, message)


def rectangles(model: Rectangles, task: EngineTask) -> Result[Scheduled] | Partial:
    """Search for rectangles: a bound and a start, then filling for three quarters of the time."""
    work, packed = _SearchRun(model, task), task.reading

    def possible(some: Items) -> bool:
        if not RectangleSearch.fits(some):  # without bundles there may be too many items
            raise TimeoutError("too many jobs to search")
        return work.finds_solution(RectangleSearch(model, some))

    start, bound = task.heuristic(), float(least_width_overhead(model))
    if start is not None and start.overhead <= bound:
        return work.as_result("optimal", start, bound, TRIVIAL)
    waits = not task.alone and is_small_model(model)  # for CP-SAT
    if not RectangleSearch.fits(packed):
        message = "too many jobs to search for rectangles"
        result = work.as_result("completed", start, bound, message)
        return Partial(result, bound) if waits else result
    search = RectangleSearch(model, packed, start)
    stopped, message = work.run_search(search, SHARE if waits else None)
    options = {"units": search.units if search.units < 1 << 53 else None, "exact": True}
    if stopped == "optimal" and search.solution is None:
        return work.infeasible(possible, **options)
    result = work.as_result(stopped, search.solution, search.bound, message, **options)
    handing = waits and stopped == "time-limit" and not work.is_late
    return Partial(result, search.bound) if handing else result


def partition_by_cpsat(model: Partition, task: EngineTask) -> Result[Partitioned]:
    """Let CP-SAT search on the declared model.

    It is told the bound and a start, except where it confirms another's result.
    """
    from schedopt.solvers import cpsat

    start, bound = task.incumbent, task.bound
    if not task.confirming and bound is None:
        start, bound = task.heuristic(), least_overhead(model.instance)
        packed = items(model.instance, model.rules.values())
        if packed is not None:
            known, least = _trivial_partition(model, packed, start)
            start = None if known is None else partitioned(model.instance, known)
            bound = float(packed.nodes * least)
    told = None if bound is None else float(bound)
    few = len(model.instance.jobs) <= MOST_JOBS
    result = cpsat.solve(model, task.limits, hint=start, bound=told, search=few)
    if not few and not result.proven:
        message = "too many jobs to write a model of all epochs that they may lead"
        result = msgspec.structs.replace(result, termination="completed", message=message)
    return result


def rectangles_by_cpsat(model: Rectangles, task: EngineTask) -> Result[Scheduled]:
    """Let CP-SAT search, with interchangeable jobs in order.

    It is told the bound and a start, except where it confirms another's result.
    """
    from schedopt.solvers import cpsat

    start, bound = task.incumbent, task.bound
    if not task.confirming and bound is None:
        start, bound = task.heuristic(), least_width_overhead(model)
    told, copy = None if bound is None else float(bound), None
    if start is None or start.overhead != told:
        copy = cpsat.copy_model(model)
        model.in_order(copy)
    return cpsat.solve(model, task.limits, hint=start, bound=told, copy=copy)


@dataclass
class _SearchRun:
    """A search of our own for a formulation, from beginning to end."""

    model: Partition | Rectangles
    task: EngineTask
    run: Run = field(init=False)

    def __post_init__(self) -> None:
        self.run = Run(self.task.limits)

    @property
    def is_late(self) -> bool:
        """Whether no time is left."""
        return remaining_limits(self.task.limits, self.run.began).time_limit == 0.0

    def run_search(self, search: Search, part: float | None = None) -> tuple[Termination, str]:
        """Search to the end of the time limit, or of a part of it; return why that ended."""
        limit = self.task.limits.time_limit
        if part is not None:
            limit = LONGEST if limit is None else min(LONGEST, part * limit)
        self.run.limits = replace(self.task.limits, time_limit=limit)
        ended = drive(search, self.run)
        self.run.limits = self.task.limits
        return ended

    def finds_solution(self, search: Search, most: float = inf) -> bool:
        """Tell whether a search finds a solution within so many steps."""
        while search.value is None and not search.advance(STEP):
            if self.is_late:
                raise TimeoutError
            if getattr(search, "steps", 0) > most:
                raise TimeoutError(f"over {most:,} steps to tell whether some rules can hold")
        return search.value is not None

    def as_result(
        self,
        stopped: Termination,
        solution: Partitioned | Scheduled | None,
        bound: float | None,
        message: str = "",
        **options: object,
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

    def infeasible(self, possible: Callable[[Items], bool], **options: object) -> Result[Any]:
        """Return an infeasible result with a smallest conflict."""
        rules = self.model.rules

        def holds(wanted: frozenset[str]) -> bool:
            if self.is_late:
                raise TimeoutError
            some = items(self.model.instance, [rules[name] for name in rules if name in wanted])
            return some is not None and possible(some)

        return with_conflict(
            self.as_result("infeasible", None, None, "", **options), list(rules), holds
        )


def _trivial_partition(
    model: Partition, packed: Items, start: Partitioned | None
) -> tuple[Epochs | None, int]:
    """Return the best partition found without search, and a lower bound on the number of epochs."""
    instance = model.instance
    minima = instance.minima[instance.descending].tolist()
    known: list[Epochs] = []
    if start is not None:
        known.append([[instance.index[name] for name in epoch.nodes] for epoch in start.epochs])
    if packed.inequity:
        if not packed.impossible():
            known.append(first_fit(packed))
    elif not model.rules:
        known.append(deal_jobs(instance.descending, blocks(minima, packed.nodes)[0]))
    return min(known, key=len, default=None), least_of(packed, minima)
