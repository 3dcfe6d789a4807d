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
    sorted_items : int
        Most items that are all sorted. Of more items, a sample locates the break item.
    sampled_items, margin : int
        Items in the sample, and the first guess by how many places in it the break may be off.
    window : int
        Items on either side of the break item that the first incumbent may exchange.
    near_items : int
        Items on either side of the break item with which the search of many items begins.
    brief_steps, brief_states : int
        Steps, and states in each, of a search of only the items near the break.
    first_states, chunk_states : int
        States, besides four for each item, before the counting bound is computed, and between two
        checks of the clock after that (2^21 take some 30 ms).
    many_states : int
        Number of states beyond which dominated items are removed.
    compared_items : int
        Most items that are compared in pairs to find dominated ones.
    halves : tuple of int
        Items on either side of the break whose subset sums fill the room if all ratios are equal,
        from round to round (2^18 sums take some 20 ms).
    """

    sorted_items: int = 4096
    sampled_items: int = 1024
    margin: int = 64
    window: int = 2048
    near_items: int = 256
    brief_steps: int = 4
    brief_states: int = 1 << 12
    first_states: int = 1 << 15
    chunk_states: int = 1 << 21
    many_states: int = 1 << 20
    compared_items: int = 3000
    halves: tuple[int, ...] = (6, 10, 14, 18)


DEFAULTS = KnapsackParams()


class NearBreak(NamedTuple):
    """Items near the break item, the first that does not fit after all of larger keys."""

    places: NDArray[np.intp]  # by falling key, ties as they stand
    before: Mask  # items with larger keys than all of these
    broken: int  # position of the break item in `places`; the length of it if everything fits
    used: float  # total size of the items before the break item

    @property
    def count_to_break(self) -> int:
        """The number of items before the break item."""
        return int(np.count_nonzero(self.before)) + self.broken


def items_near_break(
    keys: Floats, sizes: Floats, room: float, params: KnapsackParams = DEFAULTS
) -> NearBreak:
    """Return the items near the break item if items of integer sizes are taken by falling key."""
    from schedopt.solvers.dssp.selection.knapsack.kernels import split_by_key

    if keys.size <= params.sorted_items:
        places = np.argsort(-keys, kind="stable")
        return _locate_break(places, np.zeros(keys.size, dtype=np.bool_), 0.0, sizes, room)
    margin, step = params.margin, keys.size // params.sampled_items
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
    """Return the break among some items, which come after others of total size ``used``."""
    filled = sizes[places].cumsum()
    filled += used
    broken = int(filled.searchsorted(room, side="right"))
    return NearBreak(places, before, broken, float(filled[broken - 1]) if broken else used)


def counting_bound(
    rewards: Floats,
    weights: Floats,
    room: float,
    value: float,
    enough: float = -inf,
    *,
    params: KnapsackParams = DEFAULTS,
) -> float:
    """Return an upper bound on better solutions by the number of items that they can have.

    A solution of more than `value` has at most `most` items, the lightest ones that fit, and at
    least `fewest`, the most rewarding ones. For every multiplier m, the relaxation with rewards
    R_j - m is a bound after m·`most` (m > 0) or m·`fewest` (m < 0) is added. The bound is convex in
    m. Its minimum is searched where the tangents of both sides meet; after a step that gains less
    than half of the interval, the interval is halved. A bound below `enough` is not improved.
    """
    most = items_near_break(-weights, weights, room, params).count_to_break
    fewest = 1 + items_near_break(rewards, rewards, value, params).count_to_break
    least = enough - value
    bound, count = _relaxation(rewards, weights, room, 0.0, 0, least=least, params=params)
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
        relaxed, count = _relaxation(
            rewards, weights, room, middle, limit, least=least, params=params
        )
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
    params: KnapsackParams,
) -> tuple[float, float]:
    """Return the value of the relaxation, rounded up, and the (fractional) number of its items.

    ``least`` is the least gain of a better solution. If it is far above the rounding errors, sums
    are rounded; else they are exact.
    """
    reduced = rewards - multiplier
    near = items_near_break(reduced / weights, weights, room, params)
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
