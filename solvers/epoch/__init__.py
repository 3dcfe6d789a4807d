"""Engines of epoch: bin completion for partitions, a search for rectangles, and CP-SAT."""

from typing import Any

from schedopt.formulations.epoch.partition import Partition
from schedopt.formulations.epoch.rectangles import LIMITS, Rectangles
from schedopt.instances.constraints import Apart, Together
from schedopt.solvers.declared import DeclaredInCpsat
from schedopt.solvers.engine import Certificate, Engine, EngineTask, Partial
from schedopt.solvers.result import Limits, Result

MOST_JOBS = 1_000
"""Most jobs for which the CP-SAT model of a partition is built; its size grows quadratically."""


def is_small_model(model: Partition | Rectangles) -> bool:
    """Return True if the model is unchanged and small enough to be built."""
    jobs = len(model.instance.jobs)
    if isinstance(model, Rectangles):
        return len(model.widths) * jobs <= LIMITS.pairs and not model.changed
    return jobs <= MOST_JOBS and not model.changed


class EpochEngine(Engine):
    """Bin completion of partitions, and a search for rectangles, in integers."""

    name = "epochs"
    confirmed_by = "cp-sat"

    def accepts(self, model: Partition | Rectangles) -> bool:
        """Return True for an unchanged model with no constraints but ``together`` and ``apart``."""
        rules = model.rules.values()
        return not model.changed and all(isinstance(rule, Together | Apart) for rule in rules)


class PartitionEngine(EpochEngine):
    """Bin completion of partitions."""

    description = "side constraints together and apart"
    proves = "the fewest epochs or infeasibility, in integers"
    certificate = "nodes, leaders or apart"

    def solve(self, model: Partition, task: EngineTask) -> Result | Partial:
        """Solve by bin completion."""
        from schedopt.solvers.epoch.solving import partition

        return partition(model, task)


class RectangleEngine(EpochEngine):
    """A search for rectangles."""

    description = "side constraints together and apart; searches up to 100 jobs, or bundles of them"
    proves = "the least overhead or infeasibility, in integers"
    certificate = "widths"

    def solve(self, model: Rectangles, task: EngineTask) -> Result | Partial:
        """Solve by filling the quantum with rectangles."""
        from schedopt.solvers.epoch.solving import rectangles

        return rectangles(model, task)


class CpsatEngine(Engine):
    """CP-SAT on the declared model, with a warm start and a bound."""

    name = "cp-sat"
    confirmed_by = "epochs"
    needs = "ortools"

    def __init__(self, description: str, proves: str) -> None:
        self.description, self.proves = description, proves

    def accepts(self, model: Partition | Rectangles) -> bool:
        """Return True for an unchanged model that is small enough to be built."""
        return is_small_model(model)

    def solve(self, model: Partition | Rectangles, task: EngineTask) -> Result | Partial:
        """Solve the declared model with CP-SAT."""
        from schedopt.solvers.epoch.solving import by_cpsat

        return by_cpsat(model, task)


FEWEST = "the fewest epochs or infeasibility"
LEAST = "the least overhead on the grid of the widths"
PARTITION = (
    PartitionEngine(),
    CpsatEngine(f"any declared rules, up to {MOST_JOBS:,} jobs, from a start and a bound", FEWEST),
    DeclaredInCpsat(FEWEST, "epochs"),
)
RECTANGLES = (
    RectangleEngine(),
    CpsatEngine(
        f"up to {LIMITS.pairs:,} pairs of a job and a width, from a start and a bound", LEAST
    ),
    DeclaredInCpsat(LEAST, "epochs"),
)


def engines(formulation: str) -> tuple[Engine, ...]:
    """Return the engines of a formulation, in the order in which they are tried."""
    return {"partition": PARTITION, "rectangles": RECTANGLES}.get(formulation, ())


def certify(model: Any, result: Result, limits: Limits) -> Certificate | None:
    """Return a certificate of the bound of a result, or None."""
    from schedopt.solvers.epoch.bounding import certificate

    return certificate(model, result, limits)
