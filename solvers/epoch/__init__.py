"""Engines of epoch: bin completion for partitions, and CP-SAT."""

from typing import Any

from schedopt.formulations.epoch.partition import Partition
from schedopt.formulations.epoch.rectangles import LIMITS, Rectangles
from schedopt.instances.constraints import Apart, Together
from schedopt.solvers.declared import DeclaredInCpsat
from schedopt.solvers.engine import Certificate, Engine, EngineTask, Partial
from schedopt.solvers.result import Limits, Result

FEWEST = "the fewest epochs or infeasibility"
LEAST = "the least overhead on the grid of the widths"
MOST_JOBS = 1_000
"""Most jobs for which the CP-SAT model of a partition is built; its size grows quadratically."""


def is_small_model(model: Partition | Rectangles) -> bool:
    """Return True if the model is unchanged and small enough to be built."""
    jobs = len(model.instance.jobs)
    if isinstance(model, Rectangles):
        return len(model.widths) * jobs <= LIMITS.pairs and not model.changed
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

    def solve(self, model: Partition, task: EngineTask) -> Result | Partial:
        """Solve by bin completion."""
        from schedopt.solvers.epoch.solving import partition

        return partition(model, task)


class CpsatEngine(Engine):
    """CP-SAT on the declared model, with a warm start and a bound."""

    name = "cp-sat"
    needs = "ortools"

    def solve(self, model: Partition | Rectangles, task: EngineTask) -> Result | Partial:
        """Solve the declared model with CP-SAT."""
        from schedopt.solvers.epoch.solving import by_cpsat

        return by_cpsat(model, task)


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
        f"up to {LIMITS.pairs:,} pairs of a job and a width, from a start and a bound; more are "
        "not searched"
    )
    proves = LEAST
    certificate = "widths"
    confirmed_by = "model"

    def accepts(self, model: Rectangles) -> bool:
        """Return True for an unchanged model."""
        return not model.changed


PARTITION = (PartitionEngine(), PartitionInCpsat(), DeclaredInCpsat(FEWEST, "epochs"))
RECTANGLES = (RectanglesInCpsat(), DeclaredInCpsat(LEAST, "cp-sat"))


def engines(formulation: str) -> tuple[Engine, ...]:
    """Return the engines of a formulation, in the order in which they are tried."""
    return {"partition": PARTITION, "rectangles": RECTANGLES}.get(formulation, ())


def certify(model: Any, result: Result, limits: Limits) -> Certificate | None:
    """Return a certificate of the bound of a result, or None."""
    from schedopt.solvers.epoch.bounding import certificate

    return certificate(model, result, limits)
