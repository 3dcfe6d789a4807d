"""Greedy choices: columns are taken in some order while they fit."""

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.few_row_ip.dominance import lexicographic_key
from schedopt.solvers.few_row_ip.lagrangian import Integers

Positions = NDArray[np.intp]

BLOCK = 1 << 10
"""Columns that are looked at together."""
SORTED = 1 << 14
"""Columns up to which an order is kept."""
TINY = 1e-12
"""Least part of what there is that a column counts as using."""
SURE = 1 - 1e-9
"""Part of what there is that a rounded sum may reach and surely fits."""


def greedy_choice(objectives: Integers, rows: Integers, room: Integers, most: Integers) -> Integers:
    """Return the better of two greedy choices: by all objectives, and by the first for its use."""
    at = np.flatnonzero(objectives[0] >= 0)
    worth, use = objectives[0, at].astype(np.float32), np.full(len(at), TINY, dtype=np.float32)
    for row, amount in zip(rows, room.tolist(), strict=True):
        use += row[at] * np.float32(1 / max(amount, 1))
    little = use / (2 * use.max(initial=TINY))
    found = []
    for key in (little.astype(float) - lexicographic_key(objectives[:, at]), -worth / use):
        order = np.argpartition(key, SORTED) if len(key) > SORTED else np.arange(len(key))
        order[:SORTED] = order[:SORTED][np.argsort(key[order[:SORTED]])]
        found.append(_take_in_order(at[order], rows, room, most))
    return max(found, key=lambda x: tuple((objectives @ x).tolist()))


def _take_in_order(order: Positions, rows: Integers, room: Integers, most: Integers) -> Integers:
    """Take columns in an order, each as often as it fits."""
    x, left = np.zeros(len(most), dtype=np.int64), room.copy()
    start, block = 0, BLOCK
    while start < len(order):
        at, start, block = order[start : start + block], start + block, 2 * block
        while len(at := _fitting(at, rows, left, room)):
            some = at[:BLOCK]
            used = np.cumsum(rows[:, some] * most[some], axis=1, dtype=float)  # which may be large
            count = int((used <= SURE * left[:, None]).all(axis=0).sum())
            x[some[:count]] = most[some[:count]]
            left = left - rows[:, some[:count]] @ most[some[:count]]
            if count < len(some):
                use, last = rows[:, some[count]], int(some[count])
                x[last] = min([int(most[last]), *(left[use > 0] // use[use > 0]).tolist()])
                left = left - use * x[last]
            at = at[count + (count < len(some)) :]
    return x


def _fitting(at: Positions, rows: Integers, left: Integers, room: Integers) -> Positions:
    """Return the columns that fit, the scarcest row first."""
    for r in np.argsort(left / np.maximum(room, 1)).tolist():
        at = at[rows[r, at] <= left[r]]
    return at
