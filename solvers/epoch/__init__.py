"""Engines of epoch: bin completion for partitions, and CP-SAT from a start and a bound."""

from typing import Any

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.formulations.epoch.rectangles import MOST_PAIRS
from schedopt.instances.constraints import Apart, Together
from schedopt.instances.epoch import Partitioned, Scheduled, partitioned
from schedopt.solvers.conflict import with_conflict
from schedopt.solvers.engine import Certificate, DeclaredInCpsat, Engine, EngineTask, Partial
from schedopt.solvers.result import Limits, Result, Termination
from schedopt.solvers.running import Run, drive, make_result, version

FEWEST = "the fewest epochs or infeasibility"
LEAST = "the least overhead on the grid of the widths"
MOST_JOBS = 1_000
"""Most jobs for which the CP-SAT model of a partition is built; its size grows quadratically."""
TRIVIAL = "no search was needed"
TOO_MANY = "too many nodes and jobs to search"


def is_small_model(model: Partition | Rectangles) -> bool:
    """Return True if the model is unchanged and small enough to be built."""
    jobs = len(model.instance.jobs)
    if isinstance(model, Rectangles):
        return len(model.widths) * jobs <= MOST_PAIRS and not model.changed
    return jobs <= MOST_JOBS and not model.changed


class PartitionEngine(Engine):
    """Bin completion of partitions, in integers."""

    name = "epochs"
    description = "side constraints together and apart, with inequity 0 none"
    proves = "the fewest epochs or infeasibility, in integers"
    certificate = "nodes, leaders or apart"
    confirmed_by = "cp-sat"

    def accepts(self, model: Partition) -> bool:
        """Return True for an unchanged model without a user's own kinds of constraints.

        With inequity 0 there must be no constraints.
        """
        rules, equal = model.rules.values(), model.instance.inequity == 0
        plain = all(isinstance(rule, Together | Apart) for rule in rules)
        return not model.changed and plain and not (equal and rules)

    def solve(self, model: Partition, task: EngineTask) -> Result[Partitioned] | Partial:
        """Search for a partition: a bound and a start, then bin completion."""
        from schedopt.solvers.epoch.bounding import items, least_epochs, start_of
        from schedopt.solvers.epoch.completion import Completion

        run, instance, rules = Run(task.limits), model.instance, model.rules
        packed = items(instance, rules.values())
        if packed.impossible():
            result = _make_result(model, run, "infeasible", None)

            def holds(wanted: frozenset[str]) -> bool:
                some = [rule for name, rule in rules.items() if name in wanted]
                return not items(instance, some).impossible()

            return with_conflict(result, list(rules), holds)
        best = partitioned(instance, start_of(instance, packed))
        least = least_epochs(instance, packed)
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


class CpsatEngine(Engine):
    """CP-SAT on the declared model, with a warm start and a bound."""

    name = "cp-sat"
    needs = "ortools"

    def solve(
        self, model: Partition | Rectangles, task: EngineTask
    ) -> Result[Partitioned] | Result[Scheduled]:
        """Let CP-SAT search on the declared model, with interchangeable rectangles in order.

        Warm-started with the incumbent and the bound, except when it verifies another engine's
        result. A model that is too large to be built is not searched.
        """
        from schedopt.solvers import cpsat
        from schedopt.solvers.epoch.bounding import least_overhead

        start, bound = task.incumbent, task.bound
        if not task.confirming and bound is None:
            start, bound = task.heuristic(), least_overhead(model)
        objective_bound, copy = None if bound is None else float(bound), None
        closed = start is not None and start.overhead == objective_bound
        if not is_small_model(model):
            stopped: Termination = "optimal" if closed else "completed"
            message = TRIVIAL if closed else TOO_MANY
            run = Run(task.limits)
            return _make_result(model, run, stopped, start, bound=objective_bound, message=message)
        if isinstance(model, Rectangles) and not closed:
            copy = cpsat.copy_model(model)
            model.in_order(copy)
        return cpsat.solve(model, task.limits, hint=start, bound=objective_bound, copy=copy)


class PartitionInCpsat(CpsatEngine):
    """CP-SAT on the declared model of a partition."""

    description = f"any declared rules, up to {MOST_JOBS:,} jobs, from a start and a bound"
    proves = FEWEST
    confirmed_by = "epochs"

    def accepts(self, model: Partition) -> bool:
        """Return True for an unchanged model that is small enough to be built."""
        return is_small_model(model)


class RectanglesInCpsat(CpsatEngine):
    """CP-SAT on the declared model of rectangles."""

    old_names = ("epochs",)
    description = (
        f"up to {MOST_PAIRS:,} pairs of a job and a width, from a start and a bound; more are "
        "not searched"
    )
    proves = LEAST
    confirmed_by = "model"

    def accepts(self, model: Rectangles) -> bool:
        """Return True for an unchanged model."""
        return not model.changed


PARTITION = (PartitionEngine(), PartitionInCpsat(), DeclaredInCpsat(FEWEST, "epochs"))
RECTANGLES = (RectanglesInCpsat(), DeclaredInCpsat(LEAST, "cp-sat"))


def engines(formulation: str) -> tuple[Engine, ...]:
    """Return the engines of a formulation, in the order in which they are tried."""
    return {"partition": PARTITION, "rectangles": RECTANGLES}.get(formulation, ())


def certify(model: Any, result: Result, _limits: Limits) -> Certificate | None:
    """Return a certificate of the bound of a result, or None."""
    from schedopt.solvers.epoch.bounding import certificate

    return certificate(model, result)


def _make_result(
    model: Partition | Rectangles,
    run: Run,
    stopped: Termination,
    solution: Partitioned | Scheduled | None,
    *,
    bound: float | None = None,
    message: str = "",
) -> Result[Any]:
    """Return a result without CP-SAT, not yet checked."""
    return make_result(
        model,
        run,
        solver="epochs" if isinstance(model, Partition) else "cp-sat",
        version=version(),
        stopped=stopped,
        solution=solution,
        bound=bound,
        message=message,
    )
