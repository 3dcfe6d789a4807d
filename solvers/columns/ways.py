"""All ways to differ from a bound's own solution that lose no more than there is to lose.

They are looked through column by column, those that lose most first, so that few are open at a
time; a way is left out as soon as what is to come cannot make up for what it lacks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.columns.whole import Bound, Columns, Integers

MOST = 1 << 58
"""Units of a bound that are counted with; a loss of more is not looked at."""
GROWTH = 40
"""Times as many ways as are kept may be looked at for a column."""


def ways(
    columns: Columns,
    bound: Bound,
    near: NDArray[np.intp],
    *,
    spare: int,
    later: Integers,
    limit: int,
    beam: bool,
) -> tuple[Integers | None, bool]:
    """Look through all ways to differ, in some columns, from a bound's own solution.

    Returns the best that loses at most ``spare`` (of the least loss, then of the most of what is
    later), and whether no way was dropped because ``limit`` others were open.
    """
    order = near[np.argsort(-np.abs(bound.reduced[near]), kind="stable")]
    base = bound.at(columns.most)
    loss_of = np.abs(bound.reduced[order])
    times = np.minimum(columns.most[order], spare // np.maximum(loss_of, 1))
    times = np.where(loss_of == 0, columns.most[order], times)
    sign = np.where(base[order] > 0, -1, 1)
    moves = -columns.rows[:, order] * sign
    gains = _after(np.maximum(moves, 0) * times)
    drops = _after(np.maximum(-moves, 0) * times)
    left = columns.left(base)[:, None]
    loss = np.zeros(1, dtype=np.int64)
    most = min(spare, MOST)
    dear = np.array([most // int(y) + 1 if y else 0 for y in bound.prices])[:, None]
    prices = bound.prices[:, None]
    complete = most == spare
    trail: list[tuple[Integers, Integers]] = []
    for k in range(len(order)):
        repeat = int(times[k]) + 1
        if repeat * len(loss) > GROWTH * limit:
            return None, False
        steps = np.arange(repeat)
        grown = (loss[:, None] + steps * loss_of[k]).ravel()
        moved = (left[:, :, None] + moves[:, k, None, None] * steps).reshape(len(left), -1)
        least = np.maximum(moved - drops[:, k, None], 0)
        cost = grown + (prices * np.minimum(least, dear)).sum(axis=0)
        keep = np.flatnonzero((cost <= most) & (moved + gains[:, k, None] >= 0).all(axis=0))
        if len(keep) > limit:
            if not beam:
                return None, False
            complete = False
            keep = keep[np.argpartition(cost[keep], limit)[:limit]]
        if not len(keep):
            return None, complete
        trail.append((keep // repeat, keep % repeat))
        left, loss = moved[:, keep], grown[keep]
    total = loss + (prices * np.minimum(left, dear)).sum(axis=0)
    good = np.flatnonzero((left >= 0).all(axis=0) & (total <= most))
    if not len(good):
        return None, complete
    good = good[(total[good] - total[good].min()) // bound.scale == 0]  # of one worth, exactly
    x = base.copy()
    x[order] += _best(_walked(trail, good) * sign[:, None], later[:, order])
    return x, complete


def _walked(trail: list[tuple[Integers, Integers]], at: NDArray[np.intp]) -> Integers:
    """Return what some ways change, shape (columns, ways): each is walked back."""
    changes = np.zeros((len(trail), len(at)), dtype=np.int64)
    for k in range(len(trail) - 1, -1, -1):
        parents, steps = trail[k]
        changes[k] = steps[at]
        at = parents[at]
    return changes


def _best(changes: Integers, later: Integers) -> Integers:
    """Return the changes that are best for what is later, in order."""
    at = np.arange(changes.shape[1])
    for row in later:
        more = row @ changes[:, at]
        at = at[more == more.max()]
    return np.asarray(changes[:, at[0]])


def _after(amounts: Integers) -> Integers:
    """Return for each column the sum of the amounts after it, row by row."""
    back = np.cumsum(amounts[:, ::-1], axis=1)[:, ::-1]
    return back - amounts
