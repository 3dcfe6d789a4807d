"""The mean rewards of a cycle of MSFQ from each number of small jobs: see `exact`."""

from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

QUANTITIES = 5
"""Of a cycle from n: its length, the areas under small and large jobs, E[A] and E[A²]."""


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


def rewards_of(point: Point) -> tuple[Any, Any]:
    """Return the mean rewards of a cycle from each n: a table for n < k, and the tail beyond.

    The table has shape (5, k), see `QUANTITIES`. The tail, shape (5, 4), holds for n >= k the
    coefficients of 1, M, M² and τ^M, where M = n - k + 1.
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
    first, more = 1.0 if lazy else 0.0, Polynomial([0.0, 1.0])
    table = np.array(_rewards(point, first, np.minimum(n, l), (h4, v4), (w, v, area)))
    areas = more * more * (0.5 * b) + more * (km * b * b + (k - 1.5) * b) + area[-1]
    beyond = more * b + w[-1], more * vb + v[-1], areas
    tail = np.zeros((QUANTITIES, 4))
    for row, each in zip(tail, _rewards(point, first, l, (h4[-1], v4[-1]), beyond), strict=True):
        row[: len(each.coef)] = each.coef
    if lazy:
        return _with_time_until_large(point, table, tail)
    alone = np.array(_rewards(point, 1.0, 0, (0.0, 0.0), (0.0, 0.0, 0.0)))
    table[:, 0] = (l1 * table[:, 1] + lk * alone) / (l1 + lk)
    table[0, 0] += 1.0 / (l1 + lk)
    return table, tail


def _rewards(point: Point, first: float, drained: Any, drain: Any, falls: Any) -> list[Any]:
    """Return the five quantities, of numbers by n or of polynomials in M.

    Phases 2 and 3 take the time and variance, and leave the area, of ``falls``; then ``drained``
    jobs end, in the time and variance of ``drain``. Large jobs arrive all the while, and one
    (``first``) is there already.
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
    """Put the time until a large job comes before what it finds: (λ + μ_n)·f_n = source + ...."""
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
    found = np.empty_like(table)
    found[:, k - 1] = (offset[k - 1] + last * (p0 + p1 + p2 - p0 * tau)) / (1.0 - last * tau)
    for n in range(k - 2, -1, -1):
        found[:, n] = offset[n] + ratio[n] * found[:, n + 1]
    return found, np.array([p0, p1, p2, found[:, k - 1] - p0]).T
