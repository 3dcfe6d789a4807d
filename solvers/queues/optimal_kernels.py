"""Relative value iteration for the optimal nonpreemptive policy of a one-or-all system.

A state is what holds after a decision: i small and j large jobs wait, and c small ones run (0..k)
or one large one does (c = k + 1). Arrays have shape (k + 2, I + 1, J + 1) accordingly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Values = Any


@njit(cache=True)
def beyond(last: float, middle: float, first: float, h: int) -> float:
    """Return the value one step beyond the box, by the parabola through points h apart.

    Points next to each other would do for small systems; where large jobs let many small ones
    gather, only a parabola through points far apart is stable.
    """
    slope = (last - middle) / h
    return last + slope + (last - 2.0 * middle + first) * (h + 1) / (2.0 * h * h)


@njit(cache=True)
def decide(values: Values, best: Values, fixed: Values, choose: bool) -> None:
    """Fill in, for each state at an event, the value of the best decision from it.

    The decisions: start one more small job (and decide again), start a large job on empty servers,
    or leave it at that. Where ``choose`` is false, ``fixed`` says what is done (0 nothing, 1 small,
    2 large).
    """
    layers, wide, deep = values.shape
    k = layers - 2
    for c in range(k + 1, -1, -1):
        for i in range(wide):
            for j in range(deep):
                now = values[c, i, j]
                if c < k:
                    small = best[c + 1, i - 1, j] if i else np.inf
                    large = values[k + 1, i, j - 1] if c == 0 and j else np.inf
                    if choose:
                        now = min(now, small, large)
                    elif fixed[c, i, j] == 1:
                        now = small
                    elif fixed[c, i, j] == 2:
                        now = large
                best[c, i, j] = now


@njit(cache=True)
def sweeps(
    values: Values, best: Values, new: Values, fixed: Values, choose: bool,
    rates: Any, costs: Any, total: float, h: int, g: int, count: int,
) -> Any:  # fmt: skip
    """Apply the operator so often; return the least and the largest change of the last time.

    Parameters
    ----------
    rates : tuple of float
        λ_1, λ_k, μ_1, μ_k.
    costs : tuple of float
        What a small and a large job in the system cost per unit of time.
    total : float
        The uniformization rate.
    h, g : int
        How far apart the points of the parabola are along i and along j; 0 blocks arrivals.
    """
    least = most = 0.0
    for _ in range(count):
        decide(values, best, fixed, choose)
        least, most = _sweep(values, best, new, rates, costs, total, h, g)
        shift = new[0, 0, 0]
        for c in range(values.shape[0]):
            values[c] = new[c] - shift
    return least, most


@njit(cache=True)
def _sweep(
    values: Values, best: Values, new: Values, rates: Any, costs: Any, total: float, h: int, g: int
) -> Any:
    l1, lk, m1, mk = rates
    layers, wide, deep = values.shape
    k = layers - 2
    least, most = np.inf, -np.inf
    up = np.empty(deep)
    for c in range(layers):
        large_runs = c == k + 1
        served = mk if large_runs else c * m1
        left = total - l1 - lk - served
        below = 0 if large_runs else max(c - 1, 0)
        for i in range(wide):
            here, old = best[c, i], values[c, i]
            if i + 1 < wide:
                up[:] = best[c, i + 1]
            elif h:
                for j in range(deep):
                    up[j] = beyond(here[j], best[c, i - h, j], best[c, i - 2 * h, j], h)
            else:  # the job is lost, but something may be decided
                up[:] = here
            down = best[below, i]
            cost = costs[0] * (i + (0 if large_runs else c)) + costs[1] * large_runs
            out = new[c, i]
            for j in range(deep - 1):
                gain = cost + costs[1] * j + l1 * up[j] + lk * here[j + 1]
                out[j] = (gain + served * down[j] + left * old[j]) / total
            j = deep - 1
            far = beyond(here[j], here[j - g], here[j - 2 * g], g) if g else here[j]
            gain = cost + costs[1] * j + l1 * up[j] + lk * far
            out[j] = (gain + served * down[j] + left * old[j]) / total
            for j in range(deep):
                change = (out[j] - old[j]) * total
                least = min(least, change)
                most = max(most, change)
    return least, most


@njit(cache=True)
def extended(values: Values, wide: int, deep: int, h: int, g: int) -> Values:
    """Return values on a larger box, continued by parabolas: where iteration goes on from."""
    layers, old_wide, old_deep = values.shape
    out = np.empty((layers, wide, deep))
    out[:, :old_wide, :old_deep] = values
    for c in range(layers):
        for j in range(old_deep):
            for i in range(old_wide, wide):
                out[c, i, j] = beyond(
                    out[c, i - 1, j], out[c, i - 1 - h, j], out[c, i - 1 - 2 * h, j], h
                )
        for i in range(wide):
            for j in range(old_deep, deep):
                out[c, i, j] = beyond(
                    out[c, i, j - 1], out[c, i, j - 1 - g], out[c, i, j - 1 - 2 * g], g
                )
    return out


@njit(cache=True)
def decisions(values: Values) -> Any:
    """Return what the best policy does at each state at an event: 0 nothing, 1 small, 2 large."""
    layers, wide, deep = values.shape
    k = layers - 2
    best = np.empty_like(values)
    decide(values, best, values, True)
    table = np.zeros((k, wide, deep), dtype=np.int8)
    for c in range(k):
        for i in range(wide):
            for j in range(deep):
                tolerance = 1e-9 * (1.0 + abs(best[c, i, j]))
                if c == 0 and j and values[k + 1, i, j - 1] <= best[c, i, j] + tolerance:
                    table[c, i, j] = 2
                elif i and best[c + 1, i - 1, j] <= best[c, i, j] + tolerance:
                    table[c, i, j] = 1
    return table
