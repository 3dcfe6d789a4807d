"""The inner loops of `exact`: the mean rewards of a cycle from each state."""

from typing import Any, NamedTuple

import numpy as np

from schedopt.solvers.compiling import compiled, njit

QUANTITIES = 5
"""Of a cycle from n: its length, the areas under small and large jobs, E[A] and E[A²]."""
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


@njit(cache=True, error_model="numpy", plain=lambda point: STEPS * point.k)
def rewards_of(point: Point) -> Any:
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
        _add_time_until_large(point, table, tail)
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
def _add_time_until_large(point: Point, table: Any, tail: Any) -> None:
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
