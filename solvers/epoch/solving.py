"""Engines of epoch: bin completion for partitions, and CP-SAT from a start and a bound."""

from typing import Any

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Partitioned, Scheduled, partitioned
from schedopt.solvers import cpsat
from schedopt.solvers.conflict import with_conflict
from schedopt.solvers.deciding import remaining_limits
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.epoch import is_small_model
from schedopt.solvers.epoch.bounding import least_overhead, start_and_bound
from schedopt.solvers.epoch.items import Items, items
from schedopt.solvers.epoch.search import Completion
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import STEP, Run, drive, make_result, version

TRIVIAL = "no search was needed"
TOO_MANY = "too many nodes and jobs to search"


def partition(model: Partition, task: EngineTask) -> Result[Partitioned] | Partial:
    """Search for a partition: a bound and a start, then bin completion."""
    run, instance = Run(task.limits), model.instance

    def as_result(
        stopped: Termination,
        solution: Partitioned | None = None,
        bound: float | None = None,
        message: str = "",
    ) -> Result[Any]:
        return _make_result(model, run, stopped, solution, bound=bound, message=message)

    packed = items(instance, model.rules.values())
    if packed.impossible():
        return _explained(model, run, as_result("infeasible"))
    known, least = start_and_bound(instance, packed)
    best = None if known is None else partitioned(instance, known)
    start = task.heuristic()
    if start is not None and (best is None or start.overhead < best.overhead):
        best = start
    bound = float(instance.nodes * least)
    if best is not None and best.overhead <= bound:
        return as_result("optimal", best, bound, TRIVIAL)
    if not Completion.fits(packed):
        result = as_result("completed", best, bound, TOO_MANY)
        return Partial(result, bound) if is_small_model(model) else result
    epochs = () if best is None else best.epochs
    known = [[instance.index[name] for name in epoch.nodes] for epoch in epochs] or None
    search = Completion(packed, least, known)
    stopped, message = drive(search, run)
    if search.epochs is not None:
        return as_result(stopped, partitioned(instance, search.epochs), search.bound, message)
    if stopped == "optimal":
        return _explained(model, run, as_result("infeasible"))
    return as_result(stopped, None, search.bound, message)


def _explained(model: Partition, run: Run, result: Result[Any]) -> Result[Any]:
    """Return an infeasible result with a smallest conflict."""

    def holds(wanted: frozenset[str]) -> bool:
        if _is_late(run):
            raise TimeoutError
        some = [rule for name, rule in model.rules.items() if name in wanted]
        return _is_possible(items(model.instance, some), run)

    return with_conflict(result, list(model.rules), holds)


def _is_possible(packed: Items, run: Run) -> bool:
    """Return True if a partition exists; raise `TimeoutError` if the time limit is reached."""
    if packed.inequity or packed.impossible():
        return not packed.impossible()
    if not Completion.fits(packed):
        raise TimeoutError(TOO_MANY)
    search = Completion(packed, 1, None)
    while search.value is None and not search.advance(STEP):
        if _is_late(run):
            raise TimeoutError
    return search.value is not None


def _is_late(run: Run) -> bool:
    """Return True if no time is left."""
    return remaining_limits(run.limits, run.began).time_limit == 0.0


def by_cpsat(
    model: Partition | Rectangles, task: EngineTask
) -> Result[Partitioned] | Result[Scheduled]:
    """Let CP-SAT search on the declared model, with interchangeable rectangles in order.

    Warm-started with the incumbent and the bound, except when it verifies another engine's result.
    A model that is too large to be built is not searched.
    """
    start, bound = task.incumbent, task.bound
    if not task.confirming and bound is None:
        start, bound = task.heuristic(), least_overhead(model)
    objective_bound, copy = None if bound is None else float(bound), None
    if not is_small_model(model):
        closed = start is not None and start.overhead == objective_bound
        stopped: Termination = "optimal" if closed else "completed"
        message = TRIVIAL if closed else TOO_MANY
        run = Run(task.limits)
        return _make_result(model, run, stopped, start, bound=objective_bound, message=message)
    if isinstance(model, Rectangles) and (start is None or start.overhead != objective_bound):
        copy = cpsat.copy_model(model)
        model.in_order(copy)
    return cpsat.solve(model, task.limits, hint=start, bound=objective_bound, copy=copy)


def _make_result(
    model: Partition | Rectangles,
    run: Run,
    stopped: Termination,
    solution: Partitioned | Scheduled | None,
    *,
    bound: float | None,
    message: str,
) -> Result[Any]:
    """Return a result without CP-SAT, not yet checked."""
    name = "epochs" if isinstance(model, Partition) else "cp-sat"
    return make_result(
        model,
        run,
        solver=name,
        version=version(),
        stopped=stopped,
        solution=solution,
        bound=bound,
        message=message,
    )
