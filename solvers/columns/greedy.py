"""Greedy choices: columns are taken in some order while they fit."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.columns.whole import Integers

BLOCK = 1 << 10
"""Columns that are looked at together."""


def filled(objectives: Integers, rows: Integers, room: Integers, most: Integers) -> Integers:
    """Return the best of three greedy choices, by the objectives one after another."""
    return max(
        (_taken(order, rows, room, most) for order in _orders(objectives[0], rows, room)),
        key=lambda x: tuple((objectives @ x).tolist()),
    )


def _orders(worth: Integers, rows: Integers, room: Integers) -> Iterator[NDArray[np.intp]]:
    """Yield columns by worth, by worth for what they use, and those first that use little."""
    use = (rows / np.maximum(room, 1)[:, None]).sum(axis=0)
    yield np.lexsort((use, -worth))
    yield np.argsort(-worth / np.maximum(use, 1e-12) + use)
    yield np.argsort(use)


def _taken(order: NDArray[np.intp], rows: Integers, room: Integers, most: Integers) -> Integers:
    """Take columns in an order, each as often as it fits."""
    x, left = np.zeros(len(most), dtype=np.int64), room.copy()
    for start in range(0, len(order), BLOCK):
        at = order[start : start + BLOCK]
        while len(at := at[(rows[:, at] <= left[:, None]).all(axis=0)]):
            used = np.cumsum(rows[:, at] * most[at], axis=1)
            whole = int((used <= left[:, None]).all(axis=0).sum())
            x[at[:whole]] = most[at[:whole]]
            left = left - used[:, whole - 1] if whole else left
            if whole == len(at):
                break
            use = rows[:, at[whole]]
            some = use > 0
            times = (left[some] // use[some]).min()  # fewer than there are
            x[at[whole]] = times
            left = left - use * times
            at = at[whole + 1 :]
    return x
