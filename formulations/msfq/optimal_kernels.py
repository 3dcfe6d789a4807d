"""Relative value iteration for the optimal nonpreemptive policy of a one-or-all system.

A state is what holds after a decision: i small and j large jobs wait, and c small ones run (0..k) or
one large one does (c = k + 1). Arrays have shape (k + 2, I + 1, J + 1) accordingly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

Values = Any


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def decide(values: Values, best: Values) -> None:
    """Fill in, for each state at an event, the value of the best decision from it.

    The decisions: start one more small job (and decide again), start a large job on empty servers,
    or leave it at that.
    """
    layers, wide, deep = values.shape
    k = layers - 2
    for j in prange(deep):
        for i in range(wide):
            best[k + 1, i, j] = values[k + 1, i, j]
            best[k, i, j] = values[k, i, j]
        for c in range(k - 1, -1, -1):
            best[c, 0, j] = values[c, 0, j]
            for i in range(1, wide):
                best[c, i, j] = min(values[c, i, j], best[c + 1, i - 1, j])
        if j:
            for i in range(wide):
                best[0, i, j] = min(best[0, i, j], values[k + 1, i, j - 1])


@njit(cache=True)  # type: ignore[untyped-decorator]
def _beyond(last: float, middle: float, first: float, h: int) -> float:
    """Return the value one step beyond, by the parabola through three points h apart."""
    slope = (last - middle) / h
    return last + slope + (last - 2.0 * middle + first) * (h + 1) / (2.0 * h * h)


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def sweep(
    values: Values, best: Values, new: Values,
    rates: Any, costs: Any, total: float, h: int, g: int,
) -> Any:  # fmt: skip
    """Apply the operator once; return the least and the largest change, in cost per unit of time.

    Parameters
    ----------
    rates : tuple of float
        λ_1, λ_k, μ_1, μ_k.
    costs : tuple of float
        What a small and a large job in the system cost per unit of time.
    total : float
        The uniformization rate.
    """
    l1, lk, m1, mk = rates
    layers, wide, deep = values.shape
    k = layers - 2
    least = np.full(layers * wide, np.inf)
    most = np.full(layers * wide, -np.inf)
    for row in prange(layers * wide):
        c, i = row // wide, row % wide
        running = 0 if c == k + 1 else c
        served = mk if c == k + 1 else c * m1
        left = total - l1 - lk - served
        for j in range(deep):
            cost = costs[0] * (i + running) + costs[1] * (j + (1 if c == k + 1 else 0))
            if i + 1 < wide:
                small = best[c, i + 1, j]
            elif h:
                small = _beyond(best[c, i, j], best[c, i - h, j], best[c, i - 2 * h, j], h)
            else:
                small = values[c, i, j]
            if j + 1 < deep:
                large = best[c, i, j + 1]
            elif g:
                large = _beyond(best[c, i, j], best[c, i, j - g], best[c, i, j - 2 * g], g)
            else:
                large = values[c, i, j]
            done = 0.0
            if c == k + 1:
                done = mk * best[0, i, j]
            elif c:
                done = served * best[c - 1, i, j]
            old = values[c, i, j]
            now = (cost + l1 * small + lk * large + done + left * old) / total
            new[c, i, j] = now
            change = (now - old) * total
            least[row] = min(least[row], change)
            most[row] = max(most[row], change)
    return least.min(), most.max()
