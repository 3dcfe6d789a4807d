"""The inner loops of `exact`: the series for Π, and the mean rewards of a cycle from each state."""

from typing import Any, NamedTuple

import numpy as np

from schedopt.solvers.compiling import compiled, njit

QUANTITIES = 5
"""Of a cycle from n: its length, the areas under small and large jobs, E[A] and E[A²]."""
NEAR = 1e-19
MOST_STEPS = 2_000_000
STEPS = 20
"""Steps of Python for each server."""


class Point(NamedTuple):
    """A system at a threshold; rates are numpy's, of which a division by 0 is infinite."""

    l1: float
    lk: float
    m1: float
    mk: float
    k: int
    l: int
    lazy: bool


def busy_gap(theta: Any, arrival: float, service: float) -> Any:
    """Return 1 - B(θ) for an M/M/1 busy period: its root, without cancellation near θ = 0."""
    c = service - arrival + theta
    return 2.0 * theta / (c + np.sqrt(c * c + 4.0 * arrival * theta))


_busy_gap = compiled(busy_gap)


def series(point: Point, gaps: Any) -> Any:
    """Return Π's constant part and its coefficients of π_0..π_{k-1} (and y) at some z.

    `gaps` are 1 - z: near 1 these must not be computed from z.
    """
    l1, lk, m1, _, k, l, _ = point
    psi = np.ones(k + 1)  # passage from n down to l before the next large job, n <= k - 1
    h = last = 1.0 - float(busy_gap(lk, l1, k * m1))
    passage = [1.0] * (k + 1)
    for j in range(k - 1, l, -1):
        passage[j] = h = j * m1 / (l1 + lk + j * m1 - l1 * h)
    for j in range(l + 1, k):
        psi[j] = psi[j - 1] * passage[j]
    psi[k] = psi[k - 1] * last
    free = np.empty(gaps.size, dtype=np.complex128)
    terms = np.zeros((gaps.size, k + 1), dtype=np.complex128)
    at, falls, drains, offset = np.empty((4, k + 1), dtype=np.complex128)
    work = Work(at, falls, drains, psi, offset, np.empty(k + 1))
    _series(point, gaps, free, terms, work)
    return free, terms


class Work(NamedTuple):
    """What a step of the series writes to: G_n, falls from n to n - 1, drains, and what `psi` is.

    The last two are for `_wait_for_large`.
    """

    at: Any
    falls: Any
    drains: Any
    psi: Any
    offset: Any
    ratio: Any


@compiled
def _series(point: Point, gaps: Any, free: Any, terms: Any, work: Work) -> None:
    for i in range(gaps.size):
        w = gaps[i]
        weight = 1.0 + 0.0j
        for _ in range(MOST_STEPS):
            sigma_gap, a, extra = _step(point, w, work)
            sigma = 1.0 - sigma_gap
            power = a
            for n in range(point.k):
                terms[i, n] += weight * (work.at[n] - power)
                power *= sigma
            terms[i, point.k] += weight * extra
            weight *= a
            w = sigma_gap
            if abs(w) < NEAR:
                break
        free[i] = weight


@compiled
def _step(point: Point, w: Any, work: Work) -> Any:
    """Fill in G_n(z), n < k; return 1 - σ, a(z) and the coefficient of y."""
    l1, lk, m1, mk, k, l, lazy = point
    beta_gap = _busy_gap(l1 * w, lk, mk)
    s = lk * beta_gap
    sigma_gap = _busy_gap(s, l1, k * m1)
    sigma = 1.0 - sigma_gap
    at, hs, ds = work.at, work.falls, work.drains
    h = sigma
    for j in range(k - 1, l, -1):
        h = j * m1 / (l1 + j * m1 + s - l1 * h)
        hs[j] = h
    ds[0] = 1.0
    for j in range(1, l + 1):  # a drain of j jobs, with large and small arrivals
        ds[j] = ds[j - 1] * (j * m1) / (j * m1 + s + l1 * w)
    for n in range(l + 1):
        at[n] = ds[n]
    for n in range(l + 1, k):
        at[n] = at[n - 1] * hs[n]
    a = at[k - 1] * sigma ** (1 - k)
    if not lazy:
        at[0] = (l1 * at[1] + lk * (1.0 - beta_gap)) / (l1 + lk)
        return sigma_gap, a, 0.0 * a
    above = at[l + 1] if l + 1 < k else sigma * ds[l]
    _wait_for_large(point, 1.0 - beta_gap, above, work)
    return sigma_gap, a, (at[l] - ds[l]) * work.psi[k - 1]


@compiled
def _wait_for_large(point: Point, beta: Any, above: Any, work: Work) -> None:
    """Turn drains at once into drains that a large job starts: F_n from D_n, n < k.

    Up to l: (λ + n·μ_1)·F_n = λ_1·F_{n+1} + n·μ_1·F_{n-1} + λ_k·β·D_n; above it
    F_n = Q_n + (F_l - D_l)·ψ_n, where Q_n has a large job waiting already.
    """
    l1, lk, m1, _, k, l, _ = point
    at, ds, psi = work.at, work.drains, work.psi
    offset, ratio = work.offset, work.ratio  # F_n = offset_n + ratio_n·F_{n+1}
    total = l1 + lk
    below, below_ratio = 0.0 * beta, 0.0
    for n in range(l + 1):
        pivot = total + n * m1 * (1.0 - below_ratio)
        below = (lk * beta * ds[n] + n * m1 * below) / pivot
        below_ratio = l1 / pivot
        offset[n], ratio[n] = below, below_ratio
    up = psi[l + 1]
    value = (offset[l] + ratio[l] * (above - ds[l] * up)) / (1.0 - ratio[l] * up)
    for n in range(l + 1, k):
        at[n] += (value - ds[l]) * psi[n]
    at[l] = value
    for n in range(l - 1, -1, -1):
        at[n] = offset[n] + ratio[n] * at[n + 1]


@njit(cache=True, error_model="numpy", plain=lambda point: STEPS * point.k)
def rewards(point: Point) -> Any:
    """Return the mean rewards of a cycle from each n: a table for n < k, and the tail beyond.

    The table has shape (5, k), see `QUANTITIES`. The tail, shape (5, 4), holds for n >= k the
    coefficients of 1, M, M² and τ^M, where M = n - k + 1.
    """
    l1, lk, m1, _, k, l, lazy = point
    km = k * m1
    b = 1.0 / (km - l1)
    vb = 2.0 * km * (b * b * b) - b * b
    table = np.zeros((QUANTITIES, k))
    tail = np.zeros((QUANTITIES, 4))
    first = 1.0 if lazy else 0.0
    # From j to j - 1 small jobs: mean, variance, area.
    m, s, g = np.empty(k + 1), np.empty(k + 1), np.empty(k + 1)
    m[k], s[k], g[k] = b, vb + b * b, km * b * b + (k - 1) * b
    for j in range(k - 1, l, -1):
        m[j] = (1.0 + l1 * m[j + 1]) / (j * m1)
        s[j] = l1 * s[j + 1] / (j * m1) + 2.0 * (m[j] * m[j])
        g[j] = (j + l1 * g[j + 1]) / (j * m1)
    h4 = v4 = w = v = area = 0.0
    for n in range(k):
        if 0 < n <= l:
            h4 += 1.0 / (n * m1)
            v4 += 1.0 / ((n * m1) * (n * m1))
        if n > l:
            w += m[n]
            v += s[n] - m[n] * m[n]
            area += g[n]
        worth = _worth(point, first, min(n, l), h4, v4, (w, 0.0), (v, 0.0), (area, 0.0, 0.0))
        for i in range(QUANTITIES):
            table[i, n] = worth[i, 0]
    full = km * b * b + (k - 1.5) * b
    worth = _worth(point, first, l, h4, v4, (w, b), (v, vb), (area, full, 0.5 * b))
    for i in range(QUANTITIES):
        for p in range(3):
            tail[i, p] = worth[i, p]
    if lazy:
        _until_large(point, table, tail)
        return table, tail
    alone = _worth(point, 1.0, 0, 0.0, 0.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0, 0.0))
    for i in range(QUANTITIES):
        one = table[i, 1] if k > 1 else tail[i, 0]
        table[i, 0] = (l1 * one + lk * alone[i, 0]) / (l1 + lk)
    table[0, 0] += 1.0 / (l1 + lk)
    return table, tail


@njit(cache=True, error_model="numpy")
def _worth(
    point: Point,
    first: float,
    drained: int,
    h4: float,
    v4: float,
    mean: tuple[float, float],
    variance: tuple[float, float],
    space: tuple[float, float, float],
) -> Any:
    """Return the five quantities as polynomials in M, shape (5, 3).

    Phases 2 and 3 take w0 + w1·M (`mean`) with variance v0 + v1·M and leave the area g0 + g1·M +
    g2·M² (`space`); then ``drained`` jobs end. Large jobs arrive all the while, and one (``first``)
    is there already.
    """
    _, lk, m1, mk, _, _, _ = point
    (w0, w1), (v0, v1), (g0, g1, g2) = mean, variance, space
    big = 1.0 / (mk - lk)
    big2 = 2.0 * mk * (big * big * big)
    r = lk * big
    a0, a1 = (1.0 + r) * h4 + r * w0 + first * big, r * w1
    spread = (1.0 + r) * (1.0 + r) * v4 + r * r * v0 + first * (big2 - big * big)
    wait = (w0 + h4, w1, 0.0)
    wait2 = (v0 + v4 + wait[0] * wait[0], v1 + 2.0 * wait[0] * w1, w1 * w1)
    a2 = (spread + a0 * a0, r * r * v1 + 2.0 * a0 * a1, a1 * a1)
    one, area, a = (first, 0.0, 0.0), (g0 + drained / m1, g1, g2), (a0, a1, 0.0)
    out = np.empty((QUANTITIES, 3))
    for p in range(3):  # slices and arrays within would take seconds to compile
        square = a2[p] + lk * big2 * wait[p]
        out[0, p] = (1.0 + r) * wait[p] + big * one[p]
        out[1, p] = area[p] + 0.5 * point.l1 * square
        out[2, p] = first * wait[p] + 0.5 * lk * wait2[p] + mk * big * big * (one[p] + lk * wait[p])
        out[2, p] += 0.5 * big * (lk * lk * wait2[p] + 2.0 * lk * first * wait[p])
        out[3, p], out[4, p] = a[p], square
    return out


@njit(cache=True, error_model="numpy")
def _until_large(point: Point, table: Any, tail: Any) -> None:
    """Put the time until a large job comes before what it finds: (λ + μ_n)·f_n = source + ...."""
    l1, lk, m1, _, k, _, _ = point
    km = k * m1
    tau = 1.0 - _busy_gap(lk, l1, km)
    for i in range(QUANTITIES):
        s0, s1, s2 = lk * tail[i, 0], lk * tail[i, 1], lk * tail[i, 2]
        if i == 0:
            s0 += 1.0
        elif i == 1:
            s0 += k - 1.0
            s1 += 1.0
        p2 = s2 / lk
        p1 = (s1 - 2.0 * (km - l1) * p2) / lk
        p0 = (s0 - (km - l1) * p1 + (km + l1) * p2) / lk
        offset, ratio = np.empty(k), np.empty(k)  # f_n = offset_n + ratio_n·f_{n+1}
        below, below_ratio = 0.0, 0.0
        for n in range(k):
            source = lk * table[i, n] + (1.0 if i == 0 else (n if i == 1 else 0.0))
            pivot = l1 + lk + n * m1 * (1.0 - below_ratio)
            below = (source + n * m1 * below) / pivot
            below_ratio = l1 / pivot
            offset[n], ratio[n] = below, below_ratio
        last = ratio[k - 1]  # f_k = p0 + p1 + p2 + (f_{k-1} - p0)·τ
        at = (offset[k - 1] + last * (p0 + p1 + p2 - p0 * tau)) / (1.0 - last * tau)
        table[i, k - 1] = at
        for n in range(k - 2, -1, -1):
            table[i, n] = offset[n] + ratio[n] * table[i, n + 1]
        tail[i, 0], tail[i, 1], tail[i, 2], tail[i, 3] = p0, p1, p2, at - p0
