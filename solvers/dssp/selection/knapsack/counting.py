"""Bounds on a knapsack by how many items a better solution can have."""

from math import fsum, inf

import numpy as np

from schedopt.solvers.dssp.selection.knapsack.items import Floats


def bound_by_count(
    rewards: Floats, weights: Floats, room: float, value: float, enough: float = -inf
) -> float:
    """Bound solutions better than `value` by how many items they can have, rounded up.

    See `priced_by_count`.
    """
    return priced_by_count(rewards, weights, room, value, enough)[0]


def priced_by_count(
    rewards: Floats, weights: Floats, room: float, value: float, enough: float = -inf
) -> tuple[float, float]:
    """Return the best bound by count on solutions better than `value`, and its multiplier.

    At most `most` of the lightest fit, and at least `fewest` of the most rewarding are asked for.
    For every multiplier m the relaxation with rewards R_j - m is a bound if m·`most` (m > 0) or
    m·`fewest` (m < 0) is added. That is convex in m: its minimum is where the tangents of either
    side meet, or nearly; where that gains less than half of the interval, it is halved next. A
    bound below `enough` is not improved on. The multiplier is 0 where the count says nothing.
    """
    most = int(np.searchsorted(np.cumsum(np.sort(weights)), room, side="right"))
    fewest = 1 + int(np.searchsorted(np.cumsum(np.sort(rewards)[::-1]), value, side="right"))
    least = enough - value
    bound, count = _relaxation(rewards, weights, room, 0.0, 0, least=least)
    if fewest <= count <= most:
        return bound, 0.0
    limit = most if count > most else fewest
    here, slope = bound, limit - count  # a tangent, where one is known
    best, left, right = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    largest = float(rewards.max())
    if count > most:
        left, right = (0.0, here, slope), (largest, largest * limit, float(limit))
    else:
        left, right = (-largest, inf, 0.0), (0.0, here, slope)
    halve = left[1] == inf
    for _ in range(60):
        width = right[0] - left[0]
        middle = (left[0] + right[0]) / 2 if halve else _meeting(left, right)
        relaxed, count = _relaxation(rewards, weights, room, middle, limit, least=least)
        if relaxed < bound:
            bound, best = relaxed, middle
        if bound < enough:
            break
        if count > limit:
            left = (middle, relaxed, limit - count)
        else:
            right = (middle, relaxed, limit - count)
        halve = left[1] == inf or right[0] - left[0] > width / 2
    return bound, best


def _meeting(left: tuple[float, float, float], right: tuple[float, float, float]) -> float:
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
    worth = np.flatnonzero(left > 0)
    left, weights = left[worth], weights[worth]
    order = np.argsort(-left / weights)
    filled = np.cumsum(weights[order])
    split = int(np.searchsorted(filled, room, side="right"))
    count, price = float(split), 0.0
    if split < order.size:
        first = order[split]
        price = float(left[first] / weights[first])
        count += float((room - (filled[split - 1] if split else 0.0)) / weights[first])
    # Whatever the price is, this is a bound; each term is off by 2^-52 of what it is made of,
    # whose sum is off by far less than the half.
    gains = left - price * weights
    gains = gains[gains > 0]
    ends = price * room, multiplier * limit
    asked = float(filled[-1]) if order.size else 0.0
    made = float(left.sum()) + price * (asked + room) + abs(multiplier) * (2 * order.size + limit)
    rounded = 2.0**-45 * made  # of a sum by halves, as numpy adds, 64 additions deep at most
    if rounded < least / 32:
        return float(gains.sum()) + ends[0] + ends[1] + rounded, count
    return fsum([*ends, *gains.tolist()]) + 2.0**-50 * made, count
