"""Engines of epoch: bin completion for partitions, a search for rectangles, and CP-SAT."""

from schedopt.formulations.epoch.partition import Partition
from schedopt.formulations.epoch.rectangles import MOST_PIECES, Rectangles
from schedopt.instances.constraints import Apart, Together
from schedopt.solvers.engine import Engine, declared_in_cpsat
from schedopt.solvers.epoch.items import Items, items

TABLES = {
    "partition": "schedopt.solvers.epoch:PARTITION",
    "rectangles": "schedopt.solvers.epoch:RECTANGLES",
}
"""The engines of each formulation, in the order in which they are tried."""

CERTIFIERS = dict.fromkeys(TABLES, "schedopt.solvers.epoch.bounding:certificate")
"""The function that makes certificates, by formulation."""

_SOLVE = "schedopt.solvers.epoch.solving"


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


PARTITION = (
    Engine(
        "epochs",
        solve=f"{_SOLVE}:partition",
        accepts=readable_items,
        description="together and apart",
        proves="the fewest epochs, in whole numbers, or that nothing keeps the rules",
        certificate="nodes, leaders or apart",
        confirmed_by="cp-sat",
    ),
    Engine(
        "cp-sat",
        solve=f"{_SOLVE}:by_cpsat",
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
        solve=f"{_SOLVE}:rectangles",
        accepts=readable_items,
        description="together and apart; it searches up to 100 jobs, or bundles of them",
        proves="the least overhead, in whole numbers, or that nothing keeps the rules",
        certificate="widths",
        confirmed_by="cp-sat",
    ),
    Engine(
        "cp-sat",
        solve=f"{_SOLVE}:by_cpsat",
        accepts=is_small_model,
        description=f"up to {MOST_PIECES:,} pairs of a job and a width, from a start and a bound",
        proves="the least overhead on the grid that the widths are on",
        confirmed_by="epochs",
        needs="ortools",
    ),
    declared_in_cpsat("the least overhead on the grid that the widths are on", "epochs"),
)
