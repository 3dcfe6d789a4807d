"""Engines of epoch: bin completion for partitions, a search for rectangles, and CP-SAT."""

from typing import Any

from schedopt.formulations.epoch.partition import Partition
from schedopt.formulations.epoch.rectangles import MOST_PIECES, Rectangles
from schedopt.instances.constraints import Apart, Together
from schedopt.solvers.declared import declared_in_cpsat
from schedopt.solvers.engine import Certificate, Engine, EngineTask, Partial
from schedopt.solvers.epoch.items import Items, items
from schedopt.solvers.result import Limits, Result

MOST_JOBS = 1_000
"""Most jobs for which the CP-SAT model of a partition is built; its size grows quadratically."""


def readable_items(model: Partition | Rectangles) -> Items | None:
    """Return the items to pack, or None for a changed model or constraint kinds of the user."""
    rules = model.rules.values()
    readable = not model.changed and all(isinstance(rule, Together | Apart) for rule in rules)
    return items(model.instance, rules) if readable else None


def is_small_model(model: Partition | Rectangles) -> bool:
    """Return True if the model is unchanged and small enough to be built."""
    jobs = len(model.instance.jobs)
    if isinstance(model, Rectangles):
        return len(model.widths) * jobs <= MOST_PIECES and not model.changed
    return jobs <= MOST_JOBS and not model.changed


def _partition(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.epoch.solving import partition

    return partition(model, task)


def _by_cpsat(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.epoch.solving import by_cpsat

    return by_cpsat(model, task)


def _rectangles(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.epoch.solving import rectangles

    return rectangles(model, task)


PARTITION = (
    Engine(
        "epochs",
        solve=_partition,
        accepts=readable_items,
        description="together and apart",
        proves="the fewest epochs, in whole numbers, or that nothing keeps the rules",
        certificate="nodes, leaders or apart",
        confirmed_by="cp-sat",
    ),
    Engine(
        "cp-sat",
        solve=_by_cpsat,
        accepts=is_small_model,
        description=f"any declared rules, up to {MOST_JOBS:,} jobs, from a start and a bound",
        proves="the fewest epochs, or that nothing keeps the rules",
        confirmed_by="epochs",
        needs="ortools",
    ),
    declared_in_cpsat("the fewest epochs, or that nothing keeps the rules", "epochs"),
)

RECTANGLES = (
    Engine(
        "epochs",
        solve=_rectangles,
        accepts=readable_items,
        description="together and apart; it searches up to 100 jobs, or bundles of them",
        proves="the least overhead, in whole numbers, or that nothing keeps the rules",
        certificate="widths",
        confirmed_by="cp-sat",
    ),
    Engine(
        "cp-sat",
        solve=_by_cpsat,
        accepts=is_small_model,
        description=f"up to {MOST_PIECES:,} pairs of a job and a width, from a start and a bound",
        proves="the least overhead on the grid that the widths are on",
        confirmed_by="epochs",
        needs="ortools",
    ),
    declared_in_cpsat("the least overhead on the grid that the widths are on", "epochs"),
)


def engines(formulation: str) -> tuple[Engine, ...]:
    """Return the engines of a formulation, in the order in which they are tried."""
    return {"partition": PARTITION, "rectangles": RECTANGLES}.get(formulation, ())


def certify(model: Any, result: Result, limits: Limits) -> Certificate | None:
    """Return a certificate of the bound of a result, or None."""
    from schedopt.solvers.epoch.bounding import certificate

    return certificate(model, result, limits)
