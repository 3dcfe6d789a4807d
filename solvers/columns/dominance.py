"""How often each of many columns can matter: where better ones fill the rows, not at all.

A column dominates another if its objectives are no worse, one after another, and it uses no more of
any row. Whoever takes the other can take it instead; so a column is of use only if all that
dominate it fit beside it. What they use is summed in a table over a few levels of the objectives
and of each row, and a column is held against those on levels that are surely no worse.

Source: G. Ingargiola, J. Korsh, "Reduction algorithm for zero-one single knapsack problems",
Management Science 20, 1973, for several rows, and for as many as fit.
"""

from collections.abc import Sequence

import numpy as np

from schedopt.solvers.columns.whole import Integers

CELLS, LEVELS = 1 << 12, 64
"""Most cells of a table, and most levels of a row."""
SAMPLE = 1 << 12
"""Columns by which levels are chosen."""
EXACT = 52
"""Bits of a sum in double precision."""
LARGEST = 2**61
"""Upper limit of numbers that compare as objectives do."""
MOST_ROWS = 8
"""Rows beyond which a table tells too little."""
ENOUGH = 0.7
"""Part of the columns that a round may leave for another one to be worth its time."""


def useful(
    objectives: Sequence[Integers] | Integers,
    uses: Sequence[Integers] | Integers,
    room: Integers,
    counts: Integers,
) -> Integers:
    """Return how often each column is taken at most in some best choice.

    ``objectives``, ``uses``, ``room``, ``counts``: as of `best_in_order`; as many of a column as
    ``counts`` says fit by themselves.
    """
    at, most, before = np.arange(len(counts)), counts, np.inf
    if not 0 < len(uses) <= MOST_ROWS or not len(at):
        return counts
    values = [-_in_order(objectives), *uses]
    while 0 < len(at) <= ENOUGH * before:
        before, most = len(at), _round(values, room, most)
        keep = np.flatnonzero(most)
        at, most, values = at[keep], most[keep], [value[keep] for value in values]
    found = np.zeros(len(counts), dtype=np.int64)
    found[at] = most
    return found


def _in_order(objectives: Sequence[Integers] | Integers) -> Integers:
    """Return numbers that compare as objectives do one after another."""
    key = np.asarray(objectives[0])
    for more in objectives[1:]:
        low, width = int(more.min()), int(more.max()) - int(more.min()) + 1
        if max(-int(key.min()), int(key.max()), 1) * width >= LARGEST:
            return _ranks(objectives)
        key = key * width + (more - low)
    return key


def _ranks(objectives: Sequence[Integers] | Integers) -> Integers:
    order = np.lexsort(objectives[::-1])
    differs = np.zeros(len(order), dtype=np.bool_)
    for row in objectives:
        differs[1:] |= np.diff(row[order]) != 0
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.cumsum(differs)
    return ranks


def _round(values: Sequence[Integers], room: Integers, counts: Integers) -> Integers:
    """Return how often each column may be taken, by one table of what dominates it.

    ``values``: what is less in better columns: the objectives' negative, then the uses.
    """
    shape = np.ones(len(values), dtype=np.int64)
    above = np.zeros(len(counts), dtype=np.uint16)  # the least cell of which all are no better
    below = above.copy()  # the greatest cell of which all are no worse
    for i, value in enumerate(values):
        width = int((CELLS // shape.prod()) ** (1 / (len(values) - i)) + 1e-9)
        ends = _ends(value, min(max(width - 1, 1), LEVELS))
        shape[i] = len(ends) + 1
        level = np.zeros((2, len(value)), dtype=np.uint8)
        for end in ends:
            level[0] += value > end
            level[1] += value >= end
        above = above * np.uint16(shape[i]) + level[0]
        below = below * np.uint16(shape[i]) + level[1] - np.uint8(1)
    most, often, once = counts.copy(), int(counts.sum()), bool((counts == 1).all())
    twins = np.flatnonzero(above == below)  # at the corner of a cell, with all that are equal
    twins = twins[np.argsort(above[twins], kind="stable")]
    last = np.searchsorted(above[twins], above[twins], side="right") - 1
    for use, amount in zip(values[1:], room.tolist(), strict=True):
        shift = max(amount.bit_length() + often.bit_length() - EXACT, 0)
        asked = use >> shift if once else (use >> shift) * counts
        table = np.bincount(above, asked, shape.prod()).astype(np.int64).reshape(shape)
        for axis in range(len(shape)):
            np.cumsum(table, axis=axis, out=table)
        taken = table.ravel()[below]
        so_far = np.cumsum(asked[twins])
        taken[twins] -= so_far[last] - so_far + asked[twins]
        left = amount - (taken << shift)
        most[left < use] = 0
        if not once:
            part = np.flatnonzero((left >= 0) & (left < use * most))
            most[part] = left[part] // use[part]
    return most


def _ends(value: Integers, width: int) -> Integers:
    """Return the ends of levels: all values if they are few, else the more of them the better."""
    some = np.sort(value[:: len(value) // SAMPLE + 1])
    different = np.unique(some)
    if len(different) > width:
        share = np.linspace(0, 1, width, endpoint=False) ** 2
        different = np.unique(some[(share * len(some)).astype(np.intp)])
    different[0] = value.min()
    return different
