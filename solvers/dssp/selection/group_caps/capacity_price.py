"""The price of capacity: the multiplier under which the groups' own optima bound the whole best.

At a price p for each unit of weight, the groups' knapsacks together are worth
L(p) = p·room + Σ_g max {Σ (R_j - p·w_j) x_j}, which no selection that fits can exceed. L is convex
and piecewise linear: its minimum is found where the lines on either side of it meet, step by step.

Source: Kelley, The cutting-plane method for solving convex programs, SIAM J. 8, 1960, in one
dimension; the relaxation after Fisher, The Lagrangian relaxation method, Management Science 27,
1981.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from schedopt.solvers.dssp.selection.group_caps.reading import Groups

STATES = 512
"""States that a group's search keeps while prices are looked for."""
STEPS = 40
"""Prices tried between two known ones."""
STEEPEST = 2.0**16
"""A price this many times the best ratio makes every selection too light."""


@dataclass(frozen=True)
class PricedGroups:
    """What is best in each group at a price."""

    price: float
    weight: float  # of all groups
    reward: float  # of all groups
    # with rounding; infinite where some group has no known selection within its bounds
    bound: float
    missing: bool  # whether some group was not searched to its end, so that the bound is loose


def capacity_prices(groups: Groups) -> Iterator[PricedGroups]:
    """Yield prices closer and closer to the best; the best is that with the least bound."""
    free = bound_at(groups, 0.0)
    yield free
    if free.weight <= groups.room or free.bound == inf:
        return
    below, above = free, None
    middle = groups.ratios.size // 2
    price, reach = float(np.partition(groups.ratios, middle)[middle]), 0.002
    steepest = STEEPEST * float(groups.ratios.max())
    for _ in range(STEPS):
        tried = bound_at(groups, price)
        yield tried
        if tried.bound == inf:
            return
        if tried.weight > groups.room:
            below = tried
        else:
            above = tried
        if above is None:
            price = max(price, float(groups.ratios.min()), 1e-300) * (1 + reach)
            reach *= 4
            if price > steepest:
                return
        elif below is free and reach < 1:
            price = above.price * (1 - reach)
            reach *= 4
        else:
            span = below.weight - above.weight
            price = (below.reward - above.reward) / span
            meeting = above.reward + price * (groups.room - above.weight)
            least = min(below.bound, above.bound)
            near = max(groups.slip(price), 1e-3 * groups.step)
            if not below.price < price < above.price or meeting >= least - near:
                return


def bound_at(groups: Groups, price: float) -> PricedGroups:
    """Return what is best in each group at a price."""
    from schedopt.solvers.dssp.selection.group_caps import kernels

    slip = groups.slip(price)
    weights, rewards, missing = kernels.best_of_groups(
        groups.first,
        (groups.weights, groups.rewards, groups.ratios),
        (groups.low, groups.high),
        price,
        slip,
        STATES,
    )
    weight, reward = float(weights.sum()), float(rewards.sum())
    lost = float(missing.sum())
    bound = reward + price * (groups.room - weight) + lost + slip
    return PricedGroups(price, weight, reward, bound, lost > 0)
