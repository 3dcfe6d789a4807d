"""Greedy choices: columns are taken in some order while they fit."""

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.few_row_ip.dominance import lexicographic_key
from schedopt.solvers.few_row_ip.lagrangian import Integers

Positions = NDArray[np.intp]

BLOCK = 1 << 10
"""Columns that are looked at together."""
TINY = 1e-12
"""Least part of what there is that a column counts as using."""
SURE = 1 - 1e-9
"""Part of what there is that a rounded sum may reach and surely fits."""


def greedy_choice(objectives: Integers, rows: Integers, room: Integers, most: Integers) -> Integers:
    """Return the better of two greedy choices: by all objectives, and by the first for its use."""
    at = np.flatnonzero(objectives[0] >= 0)
    use = (rows[:, at] / np.maximum(room, 1)[:, None]).sum(axis=0) + TINY
    in_order = use / (2 * use.max(initial=TINY)) - lexicographic_key(objectives[:, at])
    orders = (at[np.argsort(key)] for key in (in_order, -objectives[0, at] / use))
    choices = (_take_in_order(order, rows, room, most) for order in orders)
    return max(choices, key=lambda x: tuple((objectives @ x).tolist()))


def _take_in_order(order: Positions, rows: Integers, room: Integers, most: Integers) -> Integers:
    """Take columns in an order, each as often as it fits."""
    x, left = np.zeros(len(most), dtype=np.int64), room.copy()
    start, size = 0, BLOCK
    while start < len(order):
        at, start, size = order[start : start + size], start + size, 2 * size
        while True:
            for r in np.argsort(left / np.maximum(room, 1)).tolist():  # the scarcest first
                at = at[rows[r, at] <= left[r]]
            if not len(at):
                break
            block = at[:BLOCK]
            used = np.cumsum(rows[:, block] * most[block], axis=1, dtype=float)  # may be large
            count = int((used <= SURE * left[:, None]).all(axis=0).sum())
            x[block[:count]] = most[block[:count]]
            left = left - rows[:, block[:count]] @ most[block[:count]]
            if count < len(block):
                use, last = rows[:, block[count]], int(block[count])
                x[last] = min([int(most[last]), *(left[use > 0] // use[use > 0]).tolist()])
                left = left - use * x[last]
            at = at[count + (count < len(block)) :]
    return x
