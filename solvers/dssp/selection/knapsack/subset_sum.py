"""Fill the room where rewards are in proportion to demands: subset sums, met in the middle.

There every selection is worth what it fills, all bounds are the room itself, and the search has
nothing to choose by. But subsets of some forty items have so many sums that one mostly fills the
room to the last unit, and that is a proof.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask

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
