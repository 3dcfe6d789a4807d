"""Small random partitions and rectangles, with side constraints of every kind."""

from math import nan
from random import Random

from builders.epoch import fewest, least_rectangles, packing
from msgspec.structs import replace

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.constraints import Apart, Constraint, Together
from schedopt.instances.epoch import Instance

MOST_NODES = 24
"""Nodes up to which all ways to share them are tried."""
MOST_WIDTHS = 700
"""Ways to give every job a width up to which all are tried."""


def some_packing(draw: Random, nodes: int, jobs: int) -> tuple[Instance, list[Constraint]]:
    """Draw an instance with half of some rules, and the other half.

    There are ties, jobs alone, jobs of one node and as large as the machine, and rules that
    contradict each other.
    """
    most = draw.choice((nodes, max(1, nodes // 3)))
    minima = [draw.choice((1, nodes, *[draw.randint(1, most)] * 4)) for _ in range(jobs)]
    names = [f"j{i + 1}" for i in range(jobs)]
    rules: list[Constraint] = [
        draw.choice((Together, Apart))(
            jobs=tuple(draw.sample(names, draw.randint(1, min(3, jobs))))
        )
        for _ in range(draw.choice((0, 0, 1, 2, 3)))
    ]
    half = draw.randint(0, len(rules))
    return packing(minima, nodes, draw.choice((0, 0, 1, 2, 5)), rules[:half]), rules[half:]


def partition(draw: Random) -> Partition:
    """Draw a partition of up to eight jobs."""
    instance, rules = some_packing(draw, draw.choice((1, 5, 12, 24, 1000)), draw.randint(1, 8))
    return Partition(instance).add(*rules)


def rectangles(draw: Random) -> Rectangles:
    """Draw rectangles of up to four jobs."""
    instance, rules = some_packing(draw, draw.randint(1, 7), draw.randint(1, 4))
    widths = draw.choice(("any", "any", "powers-of-two"))
    return Rectangles(instance, widths=widths).add(*rules)


def fewest_nodes(model: Partition) -> float | None:
    """Return the optimum of a partition by trying all; NaN where these are too many."""
    everything = replace(model.instance, constraints=(*model.instance.constraints, *model.added))
    best = None if model.instance.nodes <= MOST_NODES else nan
    if best is None and (epochs := fewest(everything)) is not None:
        best = float(model.instance.nodes * epochs)
    return best


def least(model: Rectangles) -> float | None:
    """Return the optimum of rectangles by trying all; NaN where these are too many."""
    nodes, wide = model.instance.nodes, model.options["widths"] == "any"
    if nodes ** len(model.instance.jobs) > MOST_WIDTHS:
        return nan
    everything = replace(model.instance, constraints=(*model.instance.constraints, *model.added))
    allowed = [w for w in range(1, nodes + 1) if wide or w == nodes or w & (w - 1) == 0]
    return least_rectangles(everything, allowed)


OPTIMA = {"epoch/partition": fewest_nodes, "epoch/rectangles": least}
FORMULATIONS = {"epoch/partition": partition, "epoch/rectangles": rectangles}
