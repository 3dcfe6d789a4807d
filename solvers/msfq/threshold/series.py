"""The series for Π, see `exact`, at many z at once.

A step goes from w = 1 - z to 1 - σ(z). What it needs but for the threshold, the falls and drains of
small jobs, is the same for all thresholds of a system, and kept where it is not too much.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from schedopt.formulations.msfq.process import System
from schedopt.solvers.msfq.threshold.cycle_means import Point, busy_gap

DECADES = 3.0
"""The circle's radius is 10^(-DECADES/k): coefficients up to k lose so many digits at most."""
POINTS = 6
"""Points on the circle for each server: what folds back is 10^(-DECADES·(POINTS-1))."""
NEAR, MOST_STEPS = 1e-19, 2_000_000
KEPT = 1 << 23
"""Most numbers of each kind that are kept for other thresholds."""


class Step(NamedTuple):
    """A step at all z: shape (points,), and (k, points) for n small jobs."""

    gap: Any  # 1 - σ
    beta: Any  # 1 - B_L(λ_1·w)
    falls: Any  # transforms of the falls from n to n - 1
    drains: Any  # from n on, with large and small arrivals
    waits: Any  # of the lazy variant, see `_wait_coefficients`
    open: Any  # whether w is not yet 0


def circle(k: int) -> tuple[float, int, Any]:
    """Return the circle's radius, the number of points on it, and the upper half of these."""
    radius, count = 10.0 ** (-DECADES / k), 2 * max(POINTS * k // 2, 16)
    return radius, count, radius * np.exp(2j * np.pi * np.arange(count // 2 + 1) / count)


def series(point: Point, gap: float | None = None) -> tuple[Any, Any]:
    """Return Π's constant part and its coefficients of π_0..π_{k-1} (and y) on the circle.

    Or at one z, by 1 - z: near 1 that must not be computed from z.
    """
    system = System(point.k, *map(float, point[:4]))
    gaps, steps = _cached_steps(system, point.lazy, gap)
    return _sum_series(point, len(gaps), steps or _steps(system, point.lazy, gaps))


@lru_cache(maxsize=2)
def _cached_steps(system: System, lazy: bool, gap: float | None) -> tuple[Any, list[Step] | None]:
    gaps = 1.0 - circle(system.k)[2] if gap is None else np.array([gap], dtype=np.complex128)
    found: list[Step] = []
    for step in _steps(system, lazy, gaps):
        found.append(step)
        if len(found) * step.falls.size > KEPT:
            return gaps, None
    return gaps, found


def _steps(system: System, lazy: bool, w: Any) -> Iterator[Step]:
    """Yield steps until all w are 0."""
    k, l1, lk, m1, mk = system
    for _ in range(MOST_STEPS):
        active = np.abs(w) >= NEAR
        if not active.any():
            return
        beta_gap = busy_gap(l1 * w, lk, mk)
        s = lk * beta_gap
        gap = busy_gap(s, l1, k * m1)
        falls = np.empty((k, len(w)), dtype=np.complex128)
        h = falls[0] = 1.0 - gap
        for j in range(k - 1, 0, -1):
            falls[j] = h = j * m1 / (l1 + j * m1 + s - l1 * h)
        rates = m1 * np.arange(k)[:, None]
        drains = np.divide(rates, rates + (s + l1 * w), where=rates > 0, out=np.ones_like(falls))
        np.cumprod(drains, axis=0, out=drains)
        beta = 1.0 - beta_gap
        waits = _wait_coefficients(system, beta, drains) if lazy else None
        yield Step(gap, beta, falls, drains, waits, active)
        w = gap


def _wait_coefficients(system: System, beta: Any, drains: Any) -> tuple[Any, Any]:
    """Return F_n and the ratios by which it changes with F_{n+1}, were F_k 0 and l beyond it."""
    k, l1, lk, m1, _ = system
    waits, ratio = np.zeros((k + 1, drains.shape[1]), dtype=np.complex128), np.zeros(k)
    for n in range(k):
        pivot = l1 + lk + n * m1 * (1.0 - ratio[n - 1])
        waits[n] = (lk * beta * drains[n] + n * m1 * waits[n - 1]) / pivot
        ratio[n] = l1 / pivot
    for n in range(k - 2, -1, -1):
        waits[n] += ratio[n] * waits[n + 1]
    return waits, ratio


def _sum_series(point: Point, count: int, steps: Any) -> tuple[Any, Any]:
    l1, lk, m1, _, k, l, lazy = point
    psi = np.ones(k + 1)  # passage from n down to l before the next large job, n <= k - 1
    h = last = 1.0 - float(busy_gap(lk, l1, k * m1))
    passage = [1.0] * (k + 1)
    for j in range(k - 1, l, -1):
        passage[j] = h = j * m1 / (l1 + lk + j * m1 - l1 * h)
    for j in range(l + 1, k):
        psi[j] = psi[j - 1] * passage[j]
    psi[k] = psi[k - 1] * last
    weight, terms = np.ones(count, dtype=np.complex128), np.zeros((k + 1, count), np.complex128)
    at = np.empty((k, count), dtype=np.complex128)
    for step in steps:
        at[: l + 1] = step.drains[: l + 1]
        at[l + 1 :] = step.falls[l + 1 :]
        np.cumprod(at[l:], axis=0, out=at[l:])
        if lazy:
            above = at[l + 1].copy() if l + 1 < k else (1.0 - step.gap) * step.drains[l]
        powers = np.full_like(at, 1.0 - step.gap)
        powers[0] = 1.0
        np.cumprod(powers, axis=0, out=powers)
        a = at[k - 1] / powers[k - 1]
        if lazy:
            _wait_for_large(point, step, above, at, psi)
            terms[k] += np.where(step.open, weight * (at[l] - step.drains[l]) * psi[k - 1], 0.0)
        else:
            at[0] = (l1 * at[1] + lk * step.beta) / (l1 + lk)
        powers *= a
        at -= powers
        at *= np.where(step.open, weight, 0.0)
        terms[:k] += at
        weight *= np.where(step.open, a, 1.0)
    return weight, terms.T


def _wait_for_large(point: Point, step: Step, above: Any, at: Any, psi: Any) -> None:
    """Turn drains at once into drains that a large job starts: F_n from D_n, n < k.

    Up to l: (λ + n·μ_1)·F_n = λ_1·F_{n+1} + n·μ_1·F_{n-1} + λ_k·β·D_n; above it
    F_n = Q_n + (F_l - D_l)·ψ_n, where Q_n has a large job waiting already.
    """
    k, l = point.k, point.l
    drains, (waits, ratio), up = step.drains, step.waits, psi[l + 1]
    offset = waits[l] - ratio[l] * waits[l + 1]
    value = (offset + ratio[l] * (above - drains[l] * up)) / (1.0 - ratio[l] * up)
    at[l + 1 :] += (value - drains[l]) * psi[l + 1 : k, None]
    at[l] = value
    down = np.cumprod(ratio[:l][::-1])[::-1, None]
    at[:l] = waits[:l] + down * (value - waits[l])
