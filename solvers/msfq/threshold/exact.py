"""Exact mean response times of MSFQ at a threshold, without truncation.

Consider the system whenever phase 1 ends: n small jobs are there, and no large job. Until the next
such moment n is replaced by n' with the transform G_n(z) = E[z^n' | n]. For n >= k it is a(z)·σ^n,
so the transform Π of the stationary distribution π satisfies

    Π(z) = a(z)·Π(σ) + Σ_{n<k} π_n·(G_n(z) - a(z)·σ^n),   σ = B_S(s), s = λ_k·(1 - B_L(λ_1·(1-z))),

where B_S and B_L are the transforms of the busy periods of small and of large jobs. Since σ(z)
contracts towards 1, Π is a series that is linear in π_0..π_{k-1}. Its coefficients, by a Fourier
transform on a circle, give k linear equations for π_0..π_{k-1}. The means follow from the balance
of first and second moments.

In lazy MSFQ, whose decisions depend on the numbers of jobs alone, a drain begins only when a large
job arrives. It has one more unknown, y = E[τ^M; n >= k] with τ = B_S(λ_k): the probability that no
large job arrives in phase 2.

This goes beyond the paper, which assumes n >= k (section 5.2).

Symbols, with their names in the code where these differ:

==================  ====================================================================
λ_1, λ_k, μ_1, μ_k  arrival and service rates of small and of large jobs: l1, lk, m1, mk
k, l                servers, and the threshold; km is k·μ_1
n, M                small jobs in the system when phase 1 ends, and n - k + 1
A                   the time of phases 4 and 1, in which the next n small jobs arrive
b, vb               mean and variance of a busy period of small jobs on all servers
m, s, g             of the passage from j to j - 1 small jobs: mean, second moment, and the
                    number of small jobs integrated over it
h4, v4              mean and variance of the time in which the last l jobs end (phase 4)
z, w                a point in the unit circle, and 1 - z
B_S, B_L            transforms of the busy periods of small and of large jobs
s                   λ_k·(1 - B_L(λ_1·w)), in a step of the series
σ, a                B_S(s), and the factor of Π(σ): Π(z) = a(z)·Π(σ) + ...
D_n                 the transform of what follows n small jobs
==================  ====================================================================

A step leads from w to 1 - σ(z). The transforms of falls and drains do not depend on the threshold;
they are computed once for all thresholds of a system unless they take too much memory.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from schedopt.formulations.msfq.threshold import Curve, System

QUANTITIES = 5
"""Means of a cycle: its length, the integrals of both numbers of jobs over it, E[A] and E[A²]."""
DECADES = 3.0
"""The radius of the circle is 10^(-DECADES/k): coefficients up to k lose at most as many digits."""
POINTS = 6
"""Points on the circle for each server. The aliasing error is 10^(-DECADES·(POINTS - 1))."""
NEGLIGIBLE = 1e-19
"""The value of |w| below which w counts as 0."""
MOST_STEPS = 2_000_000
"""The most terms of the series."""
MOST_KEPT = 1 << 23
"""The most numbers of each kind that are kept for other thresholds of the same system."""


class Point(NamedTuple):
    """A system at a threshold. Rates are numpy floats, for which a division by 0 is infinite."""

    l1: float
    lk: float
    m1: float
    mk: float
    k: int
    l: int
    lazy: bool


def exact(system: System, threshold: int, *, lazy: bool = False) -> tuple[float, float]:
    """Return the mean response times of small and of large jobs at a threshold.

    Parameters
    ----------
    system : System
        A stable one-or-all system.
    threshold : int
        l, from 0 to k - 1.
    lazy : bool
        Whether a drain begins only when a large job arrives.

    Returns
    -------
    small, large : float
        In the unit of time of the rates. Infinite where the mean of phase 3 overflows.
    """
    l1, lk, m1, mk = map(np.float64, system[1:])
    point = Point(l1, lk, m1, mk, system.k, threshold, lazy)
    with np.errstate(all="ignore"):
        pi, y = _stationary(point)
        table, tail = cycle_means(point)
        if not np.isfinite(pi).all() or not np.isfinite(table).all():
            return np.inf, np.inf
        basis = _moments(system, pi, y, table, tail)
        cycle, *areas = (table @ pi + tail @ basis)[:3]
    small, large = areas[0] / (system.l1 * cycle), areas[1] / (system.lk * cycle)
    if not (np.isfinite(small) and np.isfinite(large) and cycle > 0):
        return np.inf, np.inf
    return float(small), float(large)


def exact_curve(system: System) -> Curve:
    """Return the exact mean response times at every threshold l = 0..k-1."""
    times = np.array([exact(system, l) for l in range(system.k)])
    return Curve(times[:, 0], times[:, 1], np.ones(system.k, dtype=np.bool_))


def _stationary(point: Point) -> tuple[Any, float]:
    """Return π_0..π_{k-1}, and y, which is 0 unless the policy is lazy."""
    k = point.k
    radius, count, _ = circle(k)
    free, terms = series(point)
    spectrum = np.conj(np.column_stack([free, terms]))
    values = np.fft.irfft(spectrum, count, axis=0)  # coefficients times radius^n
    powers = radius ** -np.arange(k)
    rows = values[:k] * powers[:, None]  # π_m = rows[m, 0] + Σ rows[m, 1+n]·π_n, and of y
    matrix, right = np.eye(k + 1), np.zeros(k + 1)
    matrix[:k] -= rows[:, 1:]
    right[:k] = rows[:, 0]
    if point.lazy:  # y follows from Π(τ)
        gap = float(busy_gap(point.lk, point.l1, k * point.m1))
        free, terms = series(point, gap)
        matrix[k] = (1.0 - gap) ** np.minimum(np.arange(k + 1), k - 1) - terms[0].real
        right[k] = free[0].real
    solved = np.linalg.solve(matrix, right)
    return solved[:k], float(solved[k])


def _moments(system: System, pi: Any, y: float, table: Any, tail: Any) -> Any:
    """Return P, E[M], E[M²] and y of M = n - k + 1 over n >= k, from the balance of moments."""
    k = system.k
    n = np.arange(k)
    rest = 1.0 - pi.sum()
    first, second = tail[3], tail[4]  # of A, the time in which the next small jobs gather
    l1 = system.l1
    known = l1 * (table[3] @ pi + first[0] * rest + first[3] * y)
    m1 = (known - n @ pi - (k - 1) * rest) / (1.0 - l1 * first[1])
    # E[n²] = E[n] + λ_1²·E[A²]
    left = (n * n) @ pi + (k - 1) ** 2 * rest + 2 * (k - 1) * m1
    mean = n @ pi + (k - 1) * rest + m1
    known = l1 * l1 * (table[4] @ pi + second[0] * rest + second[1] * m1 + second[3] * y)
    m2 = (mean + known - left) / (1.0 - l1 * l1 * second[2])
    return np.array([rest, m1, m2, y])


def busy_gap(theta: Any, arrival: float, service: float) -> Any:
    """Return 1 - B(θ) of an M/M/1 busy period, without cancellation near θ = 0."""
    c = service - arrival + theta
    return 2.0 * theta / (c + np.sqrt(c * c + 4.0 * arrival * theta))


def cycle_means(point: Point) -> tuple[Any, Any]:
    """Return the means of a cycle by the number n of small jobs at its start.

    Returns
    -------
    table : ndarray, shape (5, k)
        The means for n < k; see `QUANTITIES`.
    tail : ndarray, shape (5, 4)
        For n >= k, the coefficients of 1, M, M² and τ^M.
    """
    l1, lk, m1, _, k, l, lazy = point
    km, n = k * m1, np.arange(k)
    b = 1.0 / (km - l1)
    vb = 2.0 * km * (b * b * b) - b * b
    # from j to j - 1 small jobs: mean, second moment, area
    m, s, g = b, vb + b * b, km * b * b + (k - 1) * b
    falls, ends = np.zeros((3, k)), np.zeros((2, k))
    for j in range(k - 1, l, -1):
        m, g = (1.0 + l1 * m) / (j * m1), (j + l1 * g) / (j * m1)
        s = l1 * s / (j * m1) + 2.0 * (m * m)
        falls[:, j] = m, s - m * m, g
    w, v, area = falls.cumsum(axis=1)
    ends[:, 1 : l + 1] = 1.0 / (n[1 : l + 1] * m1), 1.0 / (n[1 : l + 1] * m1) ** 2
    h4, v4 = ends.cumsum(axis=1)
    first, more = float(lazy), Polynomial([0.0, 1.0])
    table = np.array(_cycle_means(point, first, np.minimum(n, l), (h4, v4), (w, v, area)))
    areas = more * more * (0.5 * b) + more * (km * b * b + (k - 1.5) * b) + area[-1]
    beyond = more * b + w[-1], more * vb + v[-1], areas
    tail = np.zeros((QUANTITIES, 4))
    means = _cycle_means(point, first, l, (h4[-1], v4[-1]), beyond)
    for row, each in zip(tail, means, strict=True):
        row[: len(each.coef)] = each.coef
    if lazy:
        return _with_time_until_large(point, table, tail)
    alone = np.array(_cycle_means(point, 1.0, 0, (0.0, 0.0), (0.0, 0.0, 0.0)))
    table[:, 0] = (l1 * table[:, 1] + lk * alone) / (l1 + lk)
    table[0, 0] += 1.0 / (l1 + lk)
    return table, tail


def _cycle_means(point: Point, first: float, drained: Any, drain: Any, falls: Any) -> list[Any]:
    """Return the five means of a cycle, as arrays by n or as polynomials in M.

    ``falls`` holds the mean and variance of the time of phases 2 and 3, and the number of small
    jobs integrated over it. ``drain`` holds the mean and variance of the time in which the last
    ``drained`` jobs end. Large jobs arrive all the time; ``first`` of them are there at the start.
    """
    l1, lk, m1, mk = point[:4]
    (w, v, area), (h4, v4) = falls, drain
    big = 1.0 / (mk - lk)
    big2 = 2.0 * mk * (big * big * big)
    r = lk * big
    wait = w + h4
    wait2 = wait * wait + v + v4
    a = w * r + (1.0 + r) * h4 + first * big
    spread = v * (r * r) + (1.0 + r) * (1.0 + r) * v4 + first * (big2 - big * big)
    square = a * a + spread + wait * (lk * big2)
    large = wait * (first + mk * big * big * lk + big * lk * first) + mk * big * big * first
    large = large + wait2 * (0.5 * lk + 0.5 * big * lk * lk)
    return [
        wait * (1.0 + r) + big * first,
        square * (0.5 * l1) + area + drained / m1,
        large,
        a,
        square,
    ]


def _with_time_until_large(point: Point, table: Any, tail: Any) -> tuple[Any, Any]:
    """Return the means of a cycle of the lazy policy, which waits for a large job first.

    The means f_n solve (λ + n·μ_1)·f_n = source + λ_1·f_{n+1} + n·μ_1·f_{n-1}.
    """
    l1, lk, m1, _, k, _, _ = point
    km = k * m1
    tau = 1.0 - busy_gap(lk, l1, km)
    source = lk * table.T
    source[:, 0] += 1.0
    source[:, 1] += np.arange(k)
    s0, s1, s2 = lk * tail[:, :3].T
    s0[0], s0[1], s1[1] = s0[0] + 1.0, s0[1] + (k - 1.0), s1[1] + 1.0
    p2 = s2 / lk
    p1 = (s1 - 2.0 * (km - l1) * p2) / lk
    p0 = (s0 - (km - l1) * p1 + (km + l1) * p2) / lk
    offset, ratio = np.zeros((k, QUANTITIES)), np.zeros(k)  # f_n = offset_n + ratio_n·f_{n+1}
    for n in range(k):
        pivot = l1 + lk + n * m1 * (1.0 - ratio[n - 1])
        offset[n] = (source[n] + n * m1 * offset[n - 1]) / pivot
        ratio[n] = l1 / pivot
    last = ratio[k - 1]  # f_k = p0 + p1 + p2 + (f_{k-1} - p0)·τ
    longer = np.empty_like(table)
    longer[:, k - 1] = (offset[k - 1] + last * (p0 + p1 + p2 - p0 * tau)) / (1.0 - last * tau)
    for n in range(k - 2, -1, -1):
        longer[:, n] = offset[n] + ratio[n] * longer[:, n + 1]
    return longer, np.array([p0, p1, p2, longer[:, k - 1] - p0]).T


class Step(NamedTuple):
    """A step of the series at all z: arrays of shape (points,), or (k, points) by n."""

    gap: Any  # 1 - σ
    beta: Any  # B_L(λ_1·w)
    falls: Any  # transforms of the falls from n to n - 1
    drains: Any  # transforms of drains of n jobs, with large and small arrivals
    open: Any  # whether w is not yet 0


def circle(k: int) -> tuple[float, int, Any]:
    """Return the radius of the circle, the number of points on it, and its upper half."""
    radius, count = 10.0 ** (-DECADES / k), 2 * max(POINTS * k // 2, 16)
    return radius, count, radius * np.exp(2j * np.pi * np.arange(count // 2 + 1) / count)


def series(point: Point, gap: float | None = None) -> tuple[Any, Any]:
    """Return the constant part of Π and its coefficients of π_0..π_{k-1} and y on the circle.

    With ``gap`` they are for the one point z = 1 - gap, where gap may be too small to compute from
    z.
    """
    system = System(point.k, *map(float, point[:4]))
    if gap is not None:
        return _sum_series(point, 1, _steps(system, np.array([gap], dtype=np.complex128)))
    gaps = 1.0 - circle(point.k)[2]
    return _sum_series(point, len(gaps), _cached_steps(system) or _steps(system, gaps))


@lru_cache(maxsize=2)
def _cached_steps(system: System) -> list[Step] | None:
    """Return the steps of the series; None if these are too large."""
    steps: list[Step] = []
    for step in _steps(system, 1.0 - circle(system.k)[2]):
        steps.append(step)
        if len(steps) * step.falls.size > MOST_KEPT:
            return None
    return steps


def _steps(system: System, w: Any) -> Iterator[Step]:
    """Yield the steps of the series until w is 0 at all points."""
    k, l1, lk, m1, mk = system
    for _ in range(MOST_STEPS):
        active = np.abs(w) >= NEGLIGIBLE
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
        yield Step(gap, beta, falls, drains, active)
        w = gap


def _sum_series(point: Point, count: int, steps: Any) -> tuple[Any, Any]:
    """Return the product of the factors a, and the coefficients of π_n and y."""
    l1, lk, _, _, k, l, lazy = point
    falls = _falls_without_large(point) if lazy else None
    weight, terms = np.ones(count, dtype=np.complex128), np.zeros((k + 1, count), np.complex128)
    at = np.empty((k, count), dtype=np.complex128)
    for step in steps:
        at[: l + 1] = step.drains[: l + 1]
        at[l + 1 :] = step.falls[l + 1 :]
        np.cumprod(at[l:], axis=0, out=at[l:])
        powers = np.full_like(at, 1.0 - step.gap)
        powers[0] = 1.0
        np.cumprod(powers, axis=0, out=powers)
        a = at[k - 1] / powers[k - 1]
        if falls is None:
            at[0] = (l1 * at[1] + lk * step.beta) / (l1 + lk)
        else:
            _wait_for_large(point, step, at, falls)
            change = (at[l] - step.drains[l]) * falls[k - 1]
            terms[k] += np.where(step.open, weight * change, 0.0)
        powers *= a
        at -= powers
        at *= np.where(step.open, weight, 0.0)
        terms[:k] += at
        weight *= np.where(step.open, a, 1.0)
    return weight, terms.T


def _falls_without_large(point: Point) -> Any:
    """Return ψ_n, the probability that no large job arrives in a fall from n to l, for n <= k."""
    l1, lk, m1, _, k, l, _ = point
    h = 1.0 - float(busy_gap(lk, l1, k * m1))
    passage = np.ones(k + 1)
    passage[k] = h
    for j in range(k - 1, l, -1):
        passage[j] = h = j * m1 / (l1 + lk + j * m1 - l1 * h)
    return passage.cumprod()


def _wait_for_large(point: Point, step: Step, at: Any, falls: Any) -> None:
    """Replace the transforms D_n in ``at`` by F_n, n < k: drains begin when a large job arrives.

    Up to l, (λ + n·μ_1)·F_n = λ_1·F_{n+1} + n·μ_1·F_{n-1} + λ_k·β·D_n. Above l, F_n = Q_n + (F_l -
    D_l)·ψ_n, where Q_n is the transform if a large job waits already.
    """
    l1, lk, m1, _, k, l, _ = point
    drains, up = step.drains, falls[l + 1]
    above = at[l + 1] if l + 1 < k else (1.0 - step.gap) * drains[l]
    offset, ratio = np.zeros_like(drains[: l + 1]), np.zeros(l + 1)  # F_n = offset + ratio·F_{n+1}
    for n in range(l + 1):
        pivot = l1 + lk + n * m1 * (1.0 - ratio[n - 1])
        offset[n] = (lk * step.beta * drains[n] + n * m1 * offset[n - 1]) / pivot
        ratio[n] = l1 / pivot
    value = (offset[l] + ratio[l] * (above - drains[l] * up)) / (1.0 - ratio[l] * up)
    at[l + 1 :] += (value - drains[l]) * falls[l + 1 : k, None]
    at[l] = value
    for n in range(l - 1, -1, -1):
        at[n] = offset[n] + ratio[n] * at[n + 1]
