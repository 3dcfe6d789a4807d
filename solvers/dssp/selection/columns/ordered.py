"""What starts: the best choice by several objectives, one after another, under a few rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.columns.linear import Floats
from schedopt.solvers.dssp.selection.columns.search import Best, Lean
from schedopt.solvers.dssp.selection.columns.whole import Columns, Integers


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
    most = counts.copy()
    for i in range(len(room)):
        some = uses[i] > 0
        np.minimum(most, np.where(some, room[i] // np.maximum(uses[i], 1), most), out=most)
    x = np.zeros(len(counts), dtype=np.int64)
    base = np.zeros_like(x)
    at = np.flatnonzero(most > 0)
    rows, free = uses[:, at], room.copy()
    most, goals = most[at], objectives[:, at]
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
            np.append(root.prices / root.scale / common * step, 1.0),
            step * (root.total / root.scale - search.value),
        )
        # Keep what another solution of this worth may still change.
        spare = root.spare(search.value)
        open_ = np.abs(root.reduced) <= spare
        settled = np.where(open_, 0, root.at(most))
        rows = np.vstack([rows, -goals[k]])
        free = np.append(free, -fixed) - rows @ settled
        base[at] += settled
        keep = np.flatnonzero(open_)
        at, rows, most = at[keep], rows[:, keep], most[keep]
        goals, inner = goals[:, keep], inner[keep]
    x = base.copy()
    x[at] += inner
    return Chosen(x, values, bounds, values == bounds, prices)
