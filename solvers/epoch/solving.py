"""Engines of epoch: bin completion for partitions, and CP-SAT from a start and a bound."""

from typing import Any

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Partitioned, Scheduled, partitioned
from schedopt.solvers.conflict import with_conflict
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.epoch import is_small_model
from schedopt.solvers.epoch.bounding import least_epochs, least_overhead, start_of
from schedopt.solvers.epoch.items import items
from schedopt.solvers.epoch.search import Completion
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import Run, drive, make_result, version

TRIVIAL = "no search was needed"
TOO_MANY = "too many nodes and jobs to search"


def partition(model: Partition, task: EngineTask) -> Result[Partitioned] | Partial:
    """Search for a partition: a bound and a start, then bin completion."""
    run, instance, rules = Run(task.limits), model.instance, model.rules
    packed = items(instance, rules.values())
    if packed.impossible():
        result = _make_result(model, run, "infeasible")

        def holds(wanted: frozenset[str]) -> bool:
            some = [rule for name, rule in rules.items() if name in wanted]
            return not items(instance, some).impossible()

        return with_conflict(result, list(rules), holds)
    best, least = partitioned(instance, start_of(instance, packed)), least_epochs(instance, packed)
    start = task.heuristic()
    if start is not None and start.overhead < best.overhead:
        best = start
    bound = float(instance.nodes * least)
    if best.overhead <= bound:
        return _make_result(model, run, "optimal", best, bound=bound, message=TRIVIAL)
    known = [[instance.index[name] for name in epoch.nodes] for epoch in best.epochs]
    if not Completion.fits(packed, len(known)):
        result = _make_result(model, run, "completed", best, bound=bound, message=TOO_MANY)
        return Partial(result, bound) if is_small_model(model) else result
    search = Completion(packed, least, known)
    stopped, message = drive(search, run)
    best = partitioned(instance, search.epochs)
    return _make_result(model, run, stopped, best, bound=search.bound, message=message)


def by_cpsat(
    model: Partition | Rectangles, task: EngineTask
) -> Result[Partitioned] | Result[Scheduled]:
    """Let CP-SAT search on the declared model, with interchangeable rectangles in order.

    Warm-started with the incumbent and the bound, except when it verifies another engine's result.
    A model that is too large to be built is not searched.
    """
    from schedopt.solvers import cpsat

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
    solution: Partitioned | Scheduled | None = None,
    *,
    bound: float | None = None,
    message: str = "",
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
