"""The linear relaxation of a few rows over many columns, by a dual simplex with long steps.

maximize cost·x subject to rows·x <= room, 0 <= x <= most. Prices that come of it are floats and
need not be right: whatever they are, `whole` makes of them a bound that holds.

Source: the bound flipping ratio test, R. Fourer, "Notes on the dual simplex method", 1994.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]

STEPS = 400
"""Pivots after which the prices at hand must do."""
TINY = 1e-9
"""Of a row's or column's own size: what counts as rounding."""
SHORT = 512
"""Break points that are sorted at first: a step seldom passes more."""


class Relaxed(NamedTuple):
    """The solution of a relaxation, or a proof that nothing is feasible."""

    prices: Floats  # at least 0; a ray that proves infeasibility where nothing is feasible, (rows,)
    values: Floats  # (columns,)
    basis: Positions  # columns; beyond the last one, the slacks of rows, (rows,)
    feasible: bool


def relax(
    cost: Floats, rows: Floats, room: Floats, most: Floats, basis: Positions | None = None
) -> Relaxed:
    """Solve a relaxation, from a basis of one like it if there is one."""
    m, n = rows.shape
    if not m:
        return Relaxed(np.zeros(0), np.where(cost > 0, most, 0.0), np.zeros(0, np.intp), True)
    size = np.maximum(np.abs(rows).max(axis=1, initial=0), np.abs(room))
    size[size == 0] = 1.0
    top = float(np.abs(cost).max(initial=0)) or 1.0
    body = np.hstack([rows / size[:, None], np.eye(m)])
    gain = np.append(cost / top, np.zeros(m))
    high = np.append(most, np.full(m, np.inf))
    limit = room / size
    basis = np.arange(n, n + m) if basis is None else basis.copy()
    upper: NDArray[np.bool_] | None = None
    prices, values, feasible = np.zeros(m), np.zeros(n + m), True
    for _ in range(STEPS):
        try:
            inverse = np.linalg.inv(body[:, basis])
        except np.linalg.LinAlgError:
            basis, upper = np.arange(n, n + m), None
            continue
        prices = gain[basis] @ inverse
        reduced = gain - prices @ body
        reduced[basis] = 0.0
        if upper is None:
            if (prices < -TINY).any():  # of a basis that was another problem's
                basis = np.arange(n, n + m)
                inverse, prices, reduced = np.eye(m), np.zeros(m), gain.copy()
            upper = reduced > 0
            upper[n:] = False
        values = np.where(upper, high, 0.0)
        values[basis] = 0.0
        found = inverse @ (limit - body[:, :n] @ values[:n])
        below, above = -found, found - high[basis]
        short = np.maximum(below, above)
        leaving = int(short.argmax())
        if short[leaving] <= TINY * max(1.0, float(np.abs(found).max())):
            values[basis] = found
            break
        sign = 1.0 if below[leaving] >= above[leaving] else -1.0
        row = sign * (inverse[leaving] @ body)
        entering, flipped = _step(
            row, reduced, upper, high, basis=basis, slope=float(short[leaving])
        )
        if entering < 0:
            prices, feasible = sign * inverse[leaving], False
            break
        upper[flipped] ^= True
        upper[basis[leaving]] = sign < 0
        upper[entering] = False
        basis[leaving] = entering
    scale = 1 / size if not feasible else top / size
    return Relaxed(np.maximum(prices * scale, 0.0), values[:n], basis, feasible)


def _step(
    row: Floats,
    reduced: Floats,
    upper: NDArray[np.bool_],
    high: Floats,
    *,
    basis: Positions,
    slope: float,
) -> tuple[int, Positions]:
    """Return the column that enters, -1 where none does, and those that change their bound."""
    able = np.where(upper, row > TINY, row < -TINY)
    able[basis] = False
    at = np.flatnonzero(able & (high > 0))
    if not at.size:
        return -1, at
    when = np.maximum(reduced[at] / row[at], 0.0)
    count = SHORT
    while True:
        order = np.argpartition(when, count)[:count] if count < len(at) else np.arange(len(at))
        order = order[np.argsort(when[order], kind="stable")]
        fall = np.cumsum(np.abs(row[at[order]]) * high[at[order]])
        enough = int(np.searchsorted(fall, slope))
        if enough < len(order):
            return int(at[order[enough]]), at[order[:enough]]
        if count >= len(at):
            return -1, at
        count *= 8
