"""Bounds of a knapsack row: the break item without sorting, counts of items, and subset sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask


@dataclass(frozen=True)
class KnapsackParams:
    """Parameters of the knapsack engine.

    Attributes
    ----------
    first_states, chunk_states : int
        States, besides four for each item, before the counting bound is computed, and between two
        checks of the clock after that (2^21 take some 30 ms).
    halves : tuple of int
        Items on either side of the break whose subset sums fill the room if all ratios are equal,
        from round to round (2^18 sums take some 20 ms).
    """

    first_states: int = 1 << 15
    chunk_states: int = 1 << 21
    halves: tuple[int, ...] = (6, 10, 14, 18)


DEFAULTS = KnapsackParams()


class Break(NamedTuple):
    """The break item: the first that does not fit after all items of larger keys."""

    position: int  # number of items before it
    item: int | None  # None if all items fit
    used: float  # total size of the items before it


def break_of(keys: Floats, sizes: Floats, room: float) -> Break:
    """Return the break if items of integer sizes are taken by decreasing key."""
    order = np.argsort(-keys, kind="stable")
    filled = sizes[order].cumsum()
    position = int(filled.searchsorted(room, side="right"))
    item = int(order[position]) if position < len(order) else None
    return Break(position, item, float(filled[position - 1]) if position else 0.0)


def counting_bound(
    rewards: Floats,
    weights: Floats,
    room: float,
    value: float,
    enough: float = -inf,
) -> float:
    """Return an upper bound on better solutions by the number of items that they can have.

    A solution of more than `value` has at most `most` items, the lightest ones that fit, and at
    least `fewest`, the most rewarding ones. For every multiplier m, the relaxation with rewards
    R_j - m is a bound after m·`most` (m > 0) or m·`fewest` (m < 0) is added. The bound is convex in
    m. Its minimum is searched where the tangents of both sides meet; after a step that gains less
    than half of the interval, the interval is halved. A bound below `enough` is not improved.
    """
    most = break_of(-weights, weights, room).position
    fewest = 1 + break_of(rewards, rewards, value).position
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
    """Return where two tangents (position, value, slope) meet, between their positions."""
    (a, value, falls), (b, other, rises) = left, right
    if rises <= falls:
        return (a + b) / 2
    return min(max(a, (other - value + falls * a - rises * b) / (falls - rises)), b)


def _relaxation(
    rewards: Floats,
    weights: Floats,
    room: float,
    multiplier: float,
    limit: int,
    *,
    least: float,
) -> tuple[float, float]:
    """Return the value of the relaxation, rounded up, and the (fractional) number of its items.

    ``least`` is the least gain of a better solution. If it is far above the rounding errors, sums
    are rounded; else they are exact.
    """
    reduced = rewards - multiplier
    near = break_of(reduced / weights, weights, room)
    count, price, first = float(near.position), 0.0, near.item
    if multiplier > 0 and (first is None or reduced[first] <= 0):
        count = float(np.count_nonzero(reduced > 0))  # and no room is asked for
    elif first is not None:
        price = float(reduced[first] / weights[first])
        count += float((room - near.used) / weights[first])
    # Whatever the price is, this is a bound; each term is off by 2^-52 of what it is made of,
    # whose sum is off by far less than the half.
    gains = price * weights
    np.maximum(np.subtract(reduced, gains, out=gains), 0.0, out=gains)
    ends = price * room, multiplier * limit
    asked = float(weights.sum())
    relaxation = (
        float(np.abs(reduced, out=reduced).sum())
        + price * (asked + room)
        + abs(multiplier) * (2 * reduced.size + limit)
    )
    rounded = 2.0**-45 * relaxation  # of a sum by halves, as numpy adds, 64 additions deep at most
    if rounded < least / 32:
        return float(gains.sum()) + ends[0] + ends[1] + rounded, count
    return fsum([*ends, *gains.tolist()]) + 2.0**-50 * relaxation, count


def fill_from_start(
    items: tuple[Floats, Floats, Floats],
    room: float,
    broken: int,
    first: Mask,
    params: KnapsackParams = DEFAULTS,
) -> Mask:
    """Return the first incumbent, or one that fills the room better if all ratios are equal.

    ``items`` are weights, rewards, and ratios followed by a 0.
    """
    weights, rewards, ratios = items
    if broken == weights.size or ratios[0] != ratios[-2] or weights[first].sum() >= room:
        return first
    fuller = fill(weights, room, broken, params.halves)
    return fuller if rewards[fuller].sum() > rewards[first].sum() else first


def fill(weights: Floats, room: float, broken: int, halves: Sequence[int]) -> Mask:
    """Return a selection that fills as much of the room as subset sums near the break can.

    Weights are integers whose sum up to the break item is exact. The items before the break item
    fit together, but not with it.
    """
    best, most = np.zeros(weights.size, dtype=np.bool_), 0.0
    for half in halves:
        first, last = max(0, broken - half), min(weights.size, broken + half)
        near = np.arange(first, last)
        left, right = near[::2], near[1::2]
        one, two = _subset_sums(weights[left]), _subset_sums(weights[right])
        by_size = np.argsort(two)
        before = float(weights[:first].sum())
        place = np.searchsorted(two[by_size], room - before - one, side="right") - 1
        totals = np.where(place >= 0, one + two[by_size[place]], -1.0)
        top = int(np.argmax(totals))
        if before + totals[top] > most:
            most, best = before + totals[top], np.arange(weights.size) < first
            best[left] = _bits_of(top, left.size)
            best[right] = _bits_of(int(by_size[place[top]]), right.size)
        if most >= room or near.size == weights.size:
            break
    return best


def _subset_sums(weights: Floats) -> Floats:
    """Return the sums of all subsets, shape (2^n,); bit i of a position stands for item i."""
    sums = np.zeros(1)
    for weight in weights:
        sums = np.concatenate((sums, sums + weight))
    return sums


def _bits_of(number: int, count: int) -> NDArray[np.bool_]:
    """Return the lowest ``count`` bits of a number, the lowest first."""
    return np.array([number >> i & 1 for i in range(count)], dtype=np.bool_)
