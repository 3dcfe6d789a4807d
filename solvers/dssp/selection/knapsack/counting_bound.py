"""Bounds on a knapsack by how many items a better solution can have."""

from math import fsum, inf

import numpy as np

from schedopt.solvers.dssp.selection.knapsack.break_item import items_near_break
from schedopt.solvers.dssp.selection.knapsack.items import Floats


def counting_bound(
    rewards: Floats, weights: Floats, room: float, value: float, enough: float = -inf
) -> float:
    """Bound solutions better than `value` by how many items they can have, rounded up.

    At most `most` of the lightest fit, and at least `fewest` of the most rewarding are asked for.
    For every multiplier m the relaxation with rewards R_j - m is a bound if m·`most` (m > 0) or
    m·`fewest` (m < 0) is added. That is convex in m: its minimum is where the tangents of either
    side meet, or nearly; where that gains less than half of the interval, it is halved next. A
    bound below `enough` is not improved on.
    """
    most = items_near_break(-weights, weights, room).taken
    fewest = 1 + items_near_break(rewards, rewards, value).taken
    least = enough - value
    bound, count = _relaxation(rewards, weights, room, 0.0, 0, least=least)
    if fewest <= count <= most:
        return bound
    limit = most if count > most else fewest
    here, slope = bound, limit - count  # a tangent, where one is known
    largest = float(rewards.max())
    if count > most:
        left, right = (0.0, here, slope), (largest, largest * limit, float(limit))
    else:
        left, right = (-largest, inf, 0.0), (0.0, here, slope)
    halve = left[1] == inf
    for _ in range(60):
        width = right[0] - left[0]
        middle = (left[0] + right[0]) / 2 if halve else _tangent_intersection(left, right)
        relaxed, count = _relaxation(rewards, weights, room, middle, limit, least=least)
        bound = min(bound, relaxed)
        # Convex, it is nowhere below where tangents meet.
        lowest = -inf if halve else left[1] + left[2] * (middle - left[0])
        if bound < enough or bound - lowest <= least / 8:
            break
        if count > limit:
            left = (middle, relaxed, limit - count)
        else:
            right = (middle, relaxed, limit - count)
        halve = left[1] == inf or right[0] - left[0] > width / 2
    return bound


def _tangent_intersection(
    left: tuple[float, float, float], right: tuple[float, float, float]
) -> float:
    """Return where two tangents meet, each a place, a value and a slope; within the two places."""
    (a, value, falls), (b, other, rises) = left, right
    if rises <= falls:
        return (a + b) / 2
    return min(max(a, (other - value + falls * a - rises * b) / (falls - rises)), b)


def _relaxation(
    rewards: Floats, weights: Floats, room: float, multiplier: float, limit: int, *, least: float
) -> tuple[float, float]:
    """Return the value of the relaxation, rounded up, and how many items, and parts, it takes.

    Where ``least``, what a better solution gains, is far more than rounding, sums are rounded.
    """
    left = rewards - multiplier
    near = items_near_break(left / weights, weights, room)
    count, price = float(near.taken), 0.0
    first = near.places[near.broken] if near.broken < near.places.size else None
    if multiplier > 0 and (first is None or left[first] <= 0):
        count = float(np.count_nonzero(left > 0))  # and no room is asked for
    elif first is not None:
        price = float(left[first] / weights[first])
        count += float((room - near.used) / weights[first])
    # Whatever the price is, this is a bound; each term is off by 2^-52 of what it is made of,
    # whose sum is off by far less than the half.
    gains = price * weights
    np.maximum(np.subtract(left, gains, out=gains), 0.0, out=gains)
    ends = price * room, multiplier * limit
    asked = float(weights.sum())
    made = (
        float(np.abs(left, out=left).sum())
        + price * (asked + room)
        + abs(multiplier) * (2 * left.size + limit)
    )
    rounded = 2.0**-45 * made  # of a sum by halves, as numpy adds, 64 additions deep at most
    if rounded < least / 32:
        return float(gains.sum()) + ends[0] + ends[1] + rounded, count
    return fsum([*ends, *gains.tolist()]) + 2.0**-50 * made, count
