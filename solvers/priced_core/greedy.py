"""Greedy solutions of packing problems."""

import numpy as np

from schedopt.formulations.program import IntArray
from schedopt.solvers.priced_core.dominance import lexicographic_key

TINY = 1e-12
"""Added to the fraction of the room that a column uses, so that none is 0."""
CERTAIN = 1 - 1e-9
"""Sums in floating point up to this fraction of the room fit in exact arithmetic too."""


def greedy_choice(
    objectives: IntArray, uses: IntArray, room: IntArray, counts: IntArray
) -> IntArray:
    """Return the better of two greedy solutions, by several objectives in order.

    One takes columns by all objectives in order, the other by the ratio of the first objective to
    the use of the rows.
    """
    columns = np.flatnonzero(objectives[0] >= 0)
    use = (uses[:, columns] / np.maximum(room, 1)[:, None]).sum(axis=0) + TINY
    in_order = use / (2 * use.max(initial=TINY)) - lexicographic_key(objectives[:, columns])
    orders = (columns[np.argsort(key)] for key in (in_order, -objectives[0, columns] / use))
    choices = (_take_in_order(order, uses, room, counts) for order in orders)
    return max(choices, key=lambda x: tuple((objectives @ x).tolist()))


def _take_in_order(
    order: IntArray, uses: IntArray, room: IntArray, counts: IntArray, block_size: int = 1 << 10
) -> IntArray:
    """Take each column as often as it fits; ``block_size`` columns are added up together."""
    x, left = np.zeros(len(counts), dtype=np.int64), room.copy()
    start, size = 0, block_size
    while start < len(order):
        columns, start, size = order[start : start + size], start + size, 2 * size
        while len(columns):
            for row in np.argsort(left / np.maximum(room, 1)).tolist():  # the scarcest first
                columns = columns[uses[row, columns] <= left[row]]
            if not len(columns):
                break
            block = columns[:block_size]
            used = np.cumsum(uses[:, block] * counts[block], axis=1, dtype=float)
            whole = int((used <= CERTAIN * left[:, None]).all(axis=0).sum())
            x[block[:whole]] = counts[block[:whole]]
            left = left - uses[:, block[:whole]] @ counts[block[:whole]]
            if whole < len(block):
                use, column = uses[:, block[whole]], int(block[whole])
                x[column] = min([int(counts[column]), *(left[use > 0] // use[use > 0]).tolist()])
                left = left - use * x[column]
            columns = columns[whole + (whole < len(block)) :]
    return x
