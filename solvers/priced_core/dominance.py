"""Dominated columns of packing problems.

A column dominates another if its objectives are no worse, in order, and it uses no more of any row.
A dominated column can be replaced by the column that dominates it. So some optimal solution has a
column only together with all columns that dominate it, and it is useful only if it fits beside
them. The uses of these columns are summed in a table over a few levels of the objectives and of
each row. A column is compared with the columns on levels that are certainly no worse.

Source: G. Ingargiola, J. Korsh, "Reduction algorithm for zero-one single knapsack problems",
Management Science 20, 1973, for several rows, and for as many as fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Levels = NDArray[np.uint8]

DOUBLE_BITS = 52
"""Sums of integers of at most so many bits are exact in double precision."""
LARGEST = 2**61
"""Limit of the numbers that compare as objectives do; their sums fit 64 bits."""


@dataclass(frozen=True)
class DominanceParams:
    """Parameters of the removal of dominated columns.

    Attributes
    ----------
    compared : int
        Columns, evenly spread, that all columns are compared with in a round.
    cells, levels : int
        Most cells of a table, and most levels of a row or of the objectives.
    level_bits : int
        Bits by which the levels of a row are distinguished.
    sampled : int
        Columns whose values choose the levels.
    most_rows : int
        Rows up to which columns are compared; with more of them the levels are too coarse.
    next_round : float
        Another round follows if a round keeps at most this fraction of the columns.
    """

    compared: int = 1 << 15
    cells: int = 1 << 12
    levels: int = 64
    level_bits: int = 16
    sampled: int = 1 << 11
    most_rows: int = 8
    next_round: float = 0.7


DEFAULTS = DominanceParams()


def useful_counts(
    objectives: Sequence[Integers] | Integers,
    uses: Sequence[Integers] | Integers,
    room: Integers,
    counts: Integers,
    params: DominanceParams = DEFAULTS,
) -> Integers:
    """Return an upper bound on each column in some optimal solution.

    Parameters
    ----------
    objectives, uses, room : ndarray of int64
        As of `in_order.best_in_order`.
    counts : ndarray of int64, shape (n,)
        How often each column may be taken. So many fit if no other column is taken.
    params : DominanceParams, optional
    """
    at, most, before = np.arange(len(counts)), counts, np.inf
    if not 0 < len(uses) <= params.most_rows or not len(at):
        return counts
    values = [-lexicographic_key(objectives), *uses]
    while 0 < len(at) <= params.next_round * before:
        before = len(at)
        most = _counts_beside(values, room, most, params)
        keep = np.flatnonzero(most)
        at, most, values = at[keep], most[keep], [value[keep] for value in values]
    useful = np.zeros(len(counts), dtype=np.int64)
    useful[at] = most
    return useful


def lexicographic_key(objectives: Sequence[Integers] | Integers) -> Integers:
    """Return one number for each column, in the lexicographic order of the objectives."""
    key = np.asarray(objectives[0])
    for more in objectives[1:]:
        low = int(more.min(initial=0))
        width = int(more.max(initial=0)) - low + 1
        if int(np.abs(key).max(initial=1)) * width >= LARGEST:
            every = np.array([*objectives]).T
            return np.unique(every, axis=0, return_inverse=True)[1].reshape(-1)
        key = key * width + (more - low)
    return key


def _counts_beside(
    values: Sequence[Integers], room: Integers, counts: Integers, params: DominanceParams
) -> Integers:
    """Return how often each column may be taken beside the compared columns that dominate it.

    Smaller ``values`` are better: the negative objectives, then the use of each row.
    """
    some = slice(None, None, len(counts) // params.compared + 1)
    shape = np.ones(len(values), dtype=np.int64)
    below = np.zeros(len(counts), dtype=np.uint16)  # the largest cell whose columns are no worse
    above = below[some].copy()  # the smallest cell whose columns are no better
    for i, value in enumerate(values):
        width = int((params.cells // shape.prod()) ** (1 / (len(values) - i)) + 1e-9)
        ends, level = _levels(value, min(max(width - 1, 1), params.levels), params)
        shape[i] = len(ends) + 1
        below = below * np.uint16(shape[i]) + level
        on = ends[level[some]] == value[some]
        above = above * np.uint16(shape[i]) + level[some] + ~on
    most, those = counts.copy(), counts[some]
    often, once = int(counts.sum()), bool((counts == 1).all())
    twins = np.flatnonzero(above == below[some])  # at the corner of a cell, with all that are equal
    twins = twins[np.argsort(above[twins], kind="stable")]
    last = np.searchsorted(above[twins], above[twins], side="right") - 1
    for use, amount in zip(values[1:], room.tolist(), strict=True):
        shift = max(amount.bit_length() + often.bit_length() - DOUBLE_BITS, 0)
        asked = (use[some] >> shift) * those
        table = np.bincount(above, asked, shape.prod()).astype(np.int64).reshape(shape)
        for axis in range(len(shape)):
            np.cumsum(table, axis=axis, out=table)
        taken = table.ravel()[below]
        so_far = np.cumsum(asked[twins])
        taken[some][twins] -= so_far[last] - so_far + asked[twins]
        remaining = amount - (taken << shift)
        most[remaining < use] = 0
        if not once:
            part = np.flatnonzero((remaining >= 0) & (remaining < use * most))
            most[part] = remaining[part] // use[part]
    return most


def _levels(value: Integers, width: int, params: DominanceParams) -> tuple[Integers, Levels]:
    """Return where each level begins, and the level of each value; good values have more levels."""
    sample = np.sort(value[:: len(value) // params.sampled + 1])
    ends = sample[np.diff(sample, prepend=sample[0] - 1) > 0]
    if len(ends) > width:
        share = np.linspace(0, 1, width, endpoint=False) ** 2
        ends = np.unique(sample[(share * len(sample)).astype(np.intp)])
    low, ends = int(value.min()), ends[1:]
    if not len(ends):
        return np.array([low]), np.zeros(len(value), dtype=np.uint8)
    shift = max(int(ends[-1] - ends[0]).bit_length() - params.level_bits, 0)
    at = np.unique((ends - ends[0]) >> shift)
    reached = np.zeros(at[-1] + 2, dtype=np.uint8)
    reached[at + 1] = 1
    place = np.clip((value - ends[0]) >> shift, -1, at[-1]) + 1
    return np.append(low, ends[0] + (at << shift)), np.cumsum(reached, dtype=np.uint8)[place]
