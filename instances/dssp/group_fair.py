"""Knapsacks with group fairness: bounds on the count, the weight or the profit of each group."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from schedopt.instances.constraints import AtLeast, AtMost, FairShare, Resource
from schedopt.instances.dssp.records import Instance, SideConstraint
from schedopt.instances.options import number, one_of, whole
from schedopt.instances.recipes import Recipe, stream

BOUNDED = ("counts", "weights", "profits")
SLACK = 0.1  # how far bounds may lie from what a known selection has, as a part of it
BIAS = 0.5  # sigma of the lognormal factors by which that selection prefers groups


def _group_fair(families: Mapping[str, Recipe], seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw a knapsack and bounds that one selection is known to keep.

    That selection goes by reward for demand times a factor of the item's group, so that bounds bind
    from below in groups that the optimum without them neglects, and from above in others.
    """
    given = dict(values)
    family, bounded = given.pop("family"), given.pop("bounds")
    night: Instance = families[family](seed, **given)
    draw = stream(seed, given["groups"])
    names = sorted(night.groups["team"])
    owner = np.array([names.index(job.groups["team"]) for job in night.jobs])
    demand = np.array([job.demand for job in night.jobs])
    factor = draw.lognormal(0.0, BIAS, len(names))[owner]
    order = np.argsort(-night.rewards / demand * factor, kind="stable")
    chosen = order[np.cumsum(demand[order]) <= night.deadline]
    amounts = {"counts": np.ones(len(owner)), "weights": demand, "profits": night.rewards}[bounded]
    held = np.bincount(owner[chosen], amounts[chosen], minlength=len(names))
    least = np.floor(held * draw.uniform(1.0 - SLACK, 1.0, len(names)))
    most = np.ceil(held * draw.uniform(1.0, 1.0 + SLACK, len(names)))
    rules = tuple(_group_bounds(bounded, night, names, least, most))
    return replace(night, name=f"group-fair-{bounded}-{night.name}", constraints=rules)


def _group_bounds(
    bounded: str, night: Instance, names: list[str], least: Any, most: Any
) -> Iterator[SideConstraint]:
    """Yield the bounds of all groups; a resource has no floor, so profits are bounded above."""
    if bounded == "weights":
        inside = 1e9 / night.deadline
        yield FairShare(
            by="team",
            at_most=dict(zip(names, (np.ceil(most * inside) / 1e9).clip(0, 1), strict=True)),
            at_least=dict(zip(names, np.floor(least * inside) / 1e9, strict=True)),
        )
        return
    for team, low, high in zip(names, least.tolist(), most.tolist(), strict=True):
        if bounded == "profits":
            use = {night.jobs[j].name: night.jobs[j].reward for j in night.groups["team"][team]}
            yield Resource(name=f"profit of {team}", capacity=high, use=use)
        else:
            yield AtLeast(name=f"fewest of {team}", by="team", group=team, count=int(low))
            yield AtMost(name=f"most of {team}", by="team", group=team, count=int(high))


def group_fair(families: Mapping[str, Recipe], *names: str) -> Recipe:
    """Return the recipe over some families of knapsacks."""
    return Recipe(
        "group-fair",
        lambda seed, values: _group_fair(families, seed, values),
        {
            "jobs": whole(1000, 1, 10**6),
            "range": whole(1000, 1, 10**9, ": the largest weight R"),
            "fraction": number(0.5, "a number above 0, at most 1", lambda v: 0 < v <= 1),
            "groups": whole(10, 1, 10**4),
            "family": one_of(names[0], names),
            "bounds": one_of(BOUNDED[0], BOUNDED),
        },
        "knapsacks with bounds on the count, the weight or the profit of each group",
        "problem: Malaguti, Paronuzzi, Santini, Optimization Letters 20 (2026), and Patel, Khan"
        " and Louis, AAMAS 2021; how bounds are drawn is our own choice",
    )
