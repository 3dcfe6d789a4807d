"""MSFQ's response times at every threshold, from the moments of a cycle: literal reading, exactly.

Look at the system whenever no large job is left: n small jobs are there. Until the next such moment
the small jobs fall to k - 1 (phase 2), from there to l with j servers busy at level j (phase 3),
and the last l leave without others being admitted (phase 4); large jobs that came meanwhile are
then served until none is left (phase 1). Small jobs that come in phases 4 and 1 are the next n, so

    Π(z) = sum over n < k of π_n·(g_n(z) - a(z)·σ^n) + a(z)·Π(σ),

with g_n the transform of the next number after n < k, and a(z)·σ^n that after n >= k. It is
followed along z, σ(z), σ(σ(z)), ... to 1, where Π is 1. That is done on a circle, whose averages
are π_0, ..., π_{k-1}: k equations. All thresholds share the points. Means over a cycle are then
sums of means and variances of the phases, written out in `_Cycle`; what happens from n >= k on is
quadratic in n, and the first two moments of n are fixed by the next ones being the same.

Written for the checker alone, from the rule itself; `validation.msfq.chain` spells the same system
out state by state, and tests hold the two together.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from validation.msfq.chain import System

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
T = TypeVar("T", float, Polynomial)
DIGITS = 3.0
"""Decimal digits by which z^k is below 1 on the circle."""
TURNS = 6
"""Points on the circle for each server: what is mistaken for π_n is π of n and so many more."""
NEAR, MOST_STEPS = 1e-17, 20_000


@lru_cache(maxsize=8)
def curve(system: System) -> tuple[Floats, Floats]:
    """Return the mean response times of small and of large jobs at l = 0..k-1, shape (k,) each."""
    laws = _laws(system)
    times = np.array([_times(system, l, laws[l]) for l in range(system.k)])
    return times[:, 0], times[:, 1]


def _laws(system: System) -> Floats:
    """Return π_0..π_{k-1} for each threshold, shape (k, k)."""
    k = system.k
    count = max(TURNS * k, 48) | 1
    radius = 10.0 ** (-DIGITS / k)
    points = radius * np.exp(2j * np.pi * np.arange(count // 2 + 1) / count)  # the rest: conjugates
    gap = 1.0 - points
    levels = np.arange(k)
    known = np.ones((k, len(points)), dtype=np.complex128)  # what multiplies Π so far, by l
    sums = np.zeros((k, len(points), k), dtype=np.complex128)  # what multiplies π_n
    for _ in range(MOST_STEPS):
        if np.abs(gap).max() < NEAR or np.abs(known).max() < NEAR:
            break
        following, drains, falls, busy = _phases(system, gap)
        powers = np.exp(levels * np.log1p(-following)[:, None])
        for l in range(k):
            # below the drain's batch, a drain of n; above, down to l and a drain of l
            after = np.where(levels <= l, drains, falls / falls[:, [l]] * drains[:, [l]])
            if l == 0:
                after[:, 1:] = falls[:, 1:]
            after[:, 0] = (system.l1 * after[:, 1] + system.lk * busy) / (system.l1 + system.lk)
            above = after[:, k - 1] * np.exp((1 - k) * np.log1p(-following)) if k > 1 else busy
            sums[l] += known[l][:, None] * (after - above[:, None] * powers)
            known[l] *= above
        gap = following
    laws = np.empty((k, k))
    turn = np.exp(-2j * np.pi * np.outer(levels, np.arange(len(points))) / count)
    twice = np.where(np.arange(len(points)) == 0, 1.0, 2.0)  # count is odd: no other is real
    average = turn * twice / count * radius ** -levels[:, None].astype(float)
    for l in range(k):
        matrix, right = (average @ sums[l]).real, (average @ known[l]).real
        laws[l] = np.linalg.solve(np.eye(k) - matrix, right)
    return laws


def _phases(system: System, gap: Complex) -> tuple[Complex, Complex, Complex, Complex]:
    """Return 1 - σ, the transforms of a drain of n and of the fall from n, and of a large job.

    Each at 1 - z = ``gap``; shapes (points,), (points, k), (points, k), (points,).
    """
    k, l1, lk, m1, mk = system
    large = _busy(lk, mk, l1 * gap)
    s = lk * large
    passage = _busy(l1, k * m1, s)
    following = passage
    falls = np.ones((len(gap), k), dtype=np.complex128)
    steps = np.empty((len(gap), k), dtype=np.complex128)
    for j in range(k - 1, 0, -1):  # 1 less the transform of the time from j to j - 1
        rate = s + l1 * passage
        passage = rate / (j * m1 + rate)
        steps[:, j] = 1.0 - passage
    for j in range(1, k):
        falls[:, j] = falls[:, j - 1] * steps[:, j]
    drains = np.ones((len(gap), k), dtype=np.complex128)
    for j in range(1, k):
        drains[:, j] = drains[:, j - 1] * (j * m1 / (j * m1 + s + l1 * gap))
    return following, drains, falls, 1.0 - large


def _busy(arrival: float, service: float, s: Complex) -> Complex:
    """Return 1 less the transform of an M/M/1 busy period."""
    drift = service - arrival + s
    return np.asarray(2.0 * s / (drift + np.sqrt(drift * drift + 4.0 * arrival * s)))


class _Cycle:
    """Means over a cycle that starts with some small jobs and no large one.

    ``of`` returns the duration, both numbers integrated over time, and the first two factorial
    moments of the next n.
    """

    def __init__(self, system: System, threshold: int) -> None:
        k, l1, lk, m1, mk = system
        self.system, self.l = system, threshold
        self.b = 1.0 / (k * m1 - l1)
        self.vb = 2.0 * k * m1 * self.b**3 - self.b**2
        self.B = 1.0 / (mk - lk)
        self.vB = 2.0 * mk * self.B**3 - self.B**2
        # from level j to j - 1: the mean time, its second moment, the small jobs over that time
        mean, second, area = self.b, self.vb + self.b**2, k * m1 * self.b**2 + (k - 1) * self.b
        self.fall = np.zeros((3, k))  # sums from threshold + 1 up to n
        single = np.zeros((3, k))
        for j in range(k - 1, threshold, -1):
            mean = (1.0 + l1 * mean) / (j * m1)
            second = l1 * second / (j * m1) + 2.0 * mean**2
            area = (j + l1 * area) / (j * m1)
            single[:, j] = mean, second - mean**2, area
        self.fall = np.cumsum(single, axis=1)
        rates = np.arange(1, k) * m1
        self.drain = np.array(
            [np.append(0.0, np.cumsum(1 / rates)), np.append(0.0, np.cumsum(1 / rates**2))]
        )

    def of(self, n: int) -> Floats:
        """Return the means from n small jobs on."""
        _, l1, lk, _, mk = self.system
        if n == 0:
            idle = 1.0 / (l1 + lk)
            second = self.vB + self.B**2
            large = [self.B, l1 * second / 2, mk * self.B**2, l1 * self.B, l1 * l1 * second]
            found = lk * idle * np.array(large) + l1 * idle * self.of(1)
            found[0] += idle
            return found
        mean, variance, area = self.fall[:, n]
        return np.array(self._from(mean, variance, area, min(n, self.l)))

    def above(self) -> Floats:
        """Return the means from n >= k on, as polynomials in n - k + 1, shape (quantities, 3)."""
        k = self.system.k
        over = Polynomial([0.0, 1.0])
        mean, variance, area = self.fall[:, k - 1]
        # from i to i - 1 for i = k..n: as an M/M/1 queue with i - 1 more beside it
        beside = over * (k - 1) + over * (over - 1.0) / 2
        area = over * (k * self.system.m1 * self.b**2) + beside * self.b + area
        found = self._from(over * self.b + mean, over * self.vb + variance, area, self.l)
        return np.array([np.append(p.coef, np.zeros(3))[:3] for p in found])

    def _from(self, mean: T, variance: T, area: T, batch: int) -> list[T]:
        """Return the means from the time to ``batch``, its variance, and the small jobs over it."""
        _, l1, lk, m1, mk = self.system
        drain, spread = self.drain[:, batch]
        time = mean + drain
        second = time**2 + variance + spread
        came, pairs = time * lk, second * lk * lk  # large jobs, and ordered pairs of them
        serving = came * self.B
        serving2 = came * self.vB + (came + pairs) * self.B**2
        drain2 = spread + drain**2
        both = (mean * drain + drain2) * lk * self.B  # of phases 4 and 1
        return [
            time + serving,
            area + (serving2 / 2 + both + drain2 / 2) * l1 + batch / m1,
            second * lk / 2 + pairs * self.B / 2 + came * mk * self.B**2,
            (serving + drain) * l1,
            (serving2 + both * 2 + drain2) * (l1 * l1),
        ]


def _times(system: System, threshold: int, law: Floats) -> tuple[float, float]:
    """Return both classes' mean response times from the law of n at the starts of cycles."""
    k, cycle = system.k, _Cycle(system, threshold)
    n = np.arange(k)
    below = np.array([cycle.of(i) for i in range(k)])  # shape (k, quantities)
    start, slope, square = cycle.above().T
    rest = 1.0 - law.sum()
    now = law @ n + (k - 1) * rest
    first = (law @ below[:, 3] + start[3] * rest - now) / (1.0 - slope[3])
    pairs = law @ (n * (n - 1)) + (k - 1) * (k - 2) * rest + (2 * k - 3) * first
    after = law @ below[:, 4] + start[4] * rest + slope[4] * first
    second = (after - pairs) / (1.0 - square[4])
    mean = law @ below + start * rest + slope * first + square * second
    return float(mean[1] / (system.l1 * mean[0])), float(mean[2] / (system.lk * mean[0]))
