"""What starts: the best choice by several objectives, one after another, under a few rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.columns.linear import Floats
from schedopt.solvers.dssp.selection.columns.search import Best, Lean
from schedopt.solvers.dssp.selection.columns.whole import Columns, Integers, total


GUARD = 24
"""Bits of the numbers of a row that guards an earlier bound."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """The best by several objectives in order.

    Attributes
    ----------
    x : ndarray of int64, shape (columns,)
        How often each column is taken.
    values, bounds : list of int
        Of each objective: what it comes to, and what is the most with the earlier ones as they are.
    proven : bool
        Whether all bounds are met.
    prices : list of ndarray
        Of the rows, for each objective; then of the earlier objectives.
    """

    x: Integers
    values: list[int]
    bounds: list[int]
    proven: bool
    prices: list[Floats]


def best_in_order(
    objectives: Integers,
    uses: Integers,
    room: Integers,
    counts: Integers,
    *,
    stop: Callable[[], bool] = lambda: False,
    start: Sequence[Floats] = (),
) -> Chosen:
    """Choose the best by the first objective, of these the best by the second, and so on.

    Parameters
    ----------
    objectives : ndarray of int64, shape (objectives, columns)
    uses : ndarray of int64, shape (resources, columns)
        At least 0.
    room : ndarray of int64, shape (resources,)
    counts : ndarray of int64, shape (columns,)
        How many there are of each column.
    stop : callable
        Says whether to give up: then the best is returned that was found.
    start : sequence of ndarray, optional
        Prices that are near those looked for, such as those of a problem much like it.
    """
    at = np.flatnonzero((uses <= room[:, None]).all(axis=0) & (counts > 0))
    rows, free, most = uses[:, at], room.copy(), counts[at]
    if (most > 1).any():
        for row, amount in zip(rows, room, strict=True):
            some = row > 0
            most[some] = np.minimum(most[some], amount // row[some])
    base = np.zeros(len(counts), dtype=np.int64)
    goals = objectives[:, at]
    values, bounds, prices = [], [], []
    lean = None
    inner = np.zeros(len(at), dtype=np.int64)
    for k in range(len(objectives)):
        step = int(np.gcd.reduce(goals[k])) or 1
        common = np.maximum(np.gcd.reduce(rows, axis=1), 1)
        columns = Columns(goals[k] // step, rows // common[:, None], free // common, most)
        search = Best(columns, goals[k + 1 :], inner, stop)
        root = search.run(start[k] if k < len(start) else None, lean)
        inner = search.x
        prices.append(search.prices)
        fixed = step * search.columns.worth(inner)
        before = int(objectives[k] @ base)
        values.append(before + fixed)
        bounds.append(before + step * search.bound)
        lean = Lean(
            np.append(root.prices / root.scale / common * step, [1.0, 0.0]),
            step * (root.total / root.scale - search.value),
        )
        spare = root.spare(search.value)
        settled = np.where(np.abs(root.reduced) <= spare, 0, root.at(most))
        keep = np.flatnonzero(np.abs(root.reduced) <= spare)
        free = np.append(free, -fixed) - np.vstack([rows, -goals[k]]) @ settled
        base[at] += settled
        at, most, inner = at[keep], most[keep], inner[keep]
        guard, guard_room = _guard(root.reduced[keep], most, spare)
        rows = np.vstack([rows[:, keep], -goals[k][keep], guard])
        free = np.append(free, guard_room)
        goals = goals[:, keep]
    x = base.copy()
    x[at] += inner
    return Chosen(x, values, bounds, values == bounds, prices)


def _guard(reduced: Integers, most: Integers, spare: int) -> tuple[Integers, int]:
    """Return a row that says that columns lose no more of an earlier bound than there is to lose.

    It follows from the others, and lets a search see early what they say together. Its numbers are
    rounded towards what it allows.
    """
    shift = max(0, int(np.abs(reduced).max(initial=0)).bit_length() - GUARD)
    room = spare - total(np.maximum(reduced, 0) * most)
    return -reduced >> shift, room >> shift
