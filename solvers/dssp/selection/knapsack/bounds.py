"""Bounds of a knapsack row: the break item without sorting, counts of items, and subset sums."""

from math import fsum, inf
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask

MANY: Final = 4096
"""Items up to which it is quicker to sort them all."""
SAMPLED, MARGIN = 1024, 64
"""Items that tell about where the break is, and by how many places among them they may be off."""


class NearBreak(NamedTuple):
    """Items near the break item, the first that does not fit after all of larger keys."""

    places: NDArray[np.intp]  # by falling key, ties as they stand
    before: Mask  # those of larger keys than all of these
    broken: int  # where among these the break item is; beyond them where everything fits
    used: float  # what all up to the break sum to

    @property
    def count_to_break(self) -> int:
        """How many there are up to the break."""
        return int(np.count_nonzero(self.before)) + self.broken


def items_near_break(keys: Floats, sizes: Floats, room: float) -> NearBreak:
    """Return the items near the break where items of whole sizes are taken by falling key."""
    from schedopt.solvers.dssp.selection.knapsack.kernels import split_by_key

    if keys.size <= MANY:
        places = np.argsort(-keys, kind="stable")
        return _locate_break(places, np.zeros(keys.size, dtype=np.bool_), 0.0, sizes, room)
    margin, step = MARGIN, keys.size // SAMPLED
    before, between = np.empty(keys.size, dtype=np.bool_), np.empty(keys.size, dtype=np.intp)
    sample = keys[::step]
    falling = (-sample).argsort()
    about = int(sizes[::step][falling].cumsum().searchsorted(room / step))
    while True:
        first, last = about - margin, about + margin
        high = float(sample[falling[first]]) if 0 <= first < sample.size else inf
        low = float(sample[falling[last]]) if last < sample.size else -inf
        count, used = split_by_key(keys, 0.0, sizes, low, high, before, between)
        places = between[:count]
        if low < high:
            places = places[np.argsort(-keys[places], kind="stable")]
        near = _locate_break(places, before, used, sizes, room)
        if (used <= room or high == inf) and (near.broken < count or low == -inf):
            return near
        margin *= 4


def _locate_break(
    places: NDArray[np.intp], before: Mask, used: float, sizes: Floats, room: float
) -> NearBreak:
    """Return where among some places the break is, after those before, which use so much."""
    filled = sizes[places].cumsum()
    filled += used
    broken = int(filled.searchsorted(room, side="right"))
    return NearBreak(places, before, broken, float(filled[broken - 1]) if broken else used)


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
    most = items_near_break(-weights, weights, room).count_to_break
    fewest = 1 + items_near_break(rewards, rewards, value).count_to_break
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
    reduced = rewards - multiplier
    near = items_near_break(reduced / weights, weights, room)
    count, price = float(near.count_to_break), 0.0
    first = near.places[near.broken] if near.broken < near.places.size else None
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


HALVES: Final = (6, 10, 14, 18)
"""How many items each half has, from round to round: 2^18 sums take some 20 ms."""


def fill_from_start(
    items: tuple[Floats, Floats, Floats], room: float, broken: int, first: Mask
) -> Mask:
    """Return a selection to start from, or one that fills the room better if all ratios are equal.

    `items`: weights, rewards and ratios, and a last ratio of 0.
    """
    weights, rewards, ratios = items
    if broken == weights.size or ratios[0] != ratios[-2] or weights[first].sum() >= room:
        return first
    fuller = fill(weights, room, broken)
    return fuller if rewards[fuller].sum() > rewards[first].sum() else first


def fill(weights: Floats, room: float, broken: int) -> Mask:
    """Return a selection that fills as much of the room as was found.

    Weights are whole numbers whose sum up to the break item is exact; all before it fit together,
    but not with it.
    """
    best, most = np.zeros(weights.size, dtype=np.bool_), 0.0
    for half in HALVES:
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
    """Return the sum of each subset, shape (2^n,); bit i of its place says whether i is in it."""
    sums = np.zeros(1)
    for weight in weights:
        sums = np.concatenate((sums, sums + weight))
    return sums


def _bits_of(number: int, count: int) -> NDArray[np.bool_]:
    """Return the lowest bits of a number, the lowest first."""
    return np.array([number >> i & 1 for i in range(count)], dtype=np.bool_)
