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

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from validation.msfq.chain import System

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
T = TypeVar("T", Floats, "_Quadratic")
DIGITS = 3.0
"""Decimal digits by which z^k is below 1 on the circle."""
TURNS = 6
"""Points on the circle for each server: what is mistaken for π_n is π of n and so many more."""
NEAR, MOST_STEPS = 1e-17, 20_000
STEPS = 32
"""Steps towards z = 1 at a time."""


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
    known = np.ones((len(points), k), dtype=np.complex128)  # what multiplies Π so far, by l
    sums = np.zeros((len(points), k, k), dtype=np.complex128)  # what multiplies π_n, by l and n
    for _ in range(MOST_STEPS // STEPS):
        if np.abs(gap).max() < NEAR or np.abs(known).max() < NEAR:
            break
        gaps = _followed(system, gap)
        sums += _added(system, gaps, known)
        gap = gaps[-1]
    laws = np.empty((k, k))
    turn = np.exp(-2j * np.pi * np.outer(levels, np.arange(len(points))) / count)
    twice = np.where(np.arange(len(points)) == 0, 1.0, 2.0)  # count is odd: no other is real
    average = turn * twice / count * radius ** -levels[:, None].astype(float)
    matrices = _real(average, sums.reshape(len(points), k * k)).reshape(k, k, k)
    rights = _real(average, known)
    for l in range(k):
        laws[l] = np.linalg.solve(np.eye(k) - matrices[:, l], rights[:, l])
    return laws


def _real(left: Complex, right: Complex) -> Floats:
    """Return the real part of a product."""
    found: Floats = left.real @ right.real - left.imag @ right.imag
    return found


def _followed(system: System, gap: Complex) -> Complex:
    """Return 1 - z, 1 - σ(z), 1 - σ(σ(z)), ..., as far as 1 or for some steps."""
    k, l1, lk, m1, mk = system
    gaps = [gap]
    while len(gaps) <= STEPS and np.abs(gaps[-1]).max() >= NEAR:
        gaps.append(_busy(l1, k * m1, lk * _busy(lk, mk, l1 * gaps[-1])))
    return np.array(gaps)


def _added(system: System, gaps: Complex, known: Complex) -> Complex:
    """Return what some steps add to what multiplies π_n, by point, l and n; `known` goes on.

    What is summed over steps is near 0 where z is near 1: each transform less 1.
    """
    k, l1, lk, _, _ = system
    drains, falls, busy = _phases(system, gaps[:-1])
    following = np.log1p(-gaps[1:])
    ratio = drains / falls  # from l down, over the fall to there
    above = ratio * (falls[..., -1] * np.exp((1 - k) * following))[..., None]
    held = np.cumprod(np.concatenate((known[None], above)), axis=0)
    known[:] = held[-1]
    now = held[:-1]
    idle = [(l1 * to[..., 1] + lk * busy) / (l1 + lk) for to in (falls, drains)]
    drains[..., 0] = idle[1]
    powers = np.expm1(np.arange(k) * following[..., None])
    higher = _over_steps(now * ratio, falls - 1) + (now * (ratio - 1)).sum(axis=0)[..., None]
    lower = _over_steps(now, drains - 1)
    lower[:, 0, 0] = (now[..., 0] * (idle[0] - 1)).sum(axis=0)
    rest = _over_steps(now * above, powers) + (now * (above - 1)).sum(axis=0)[..., None]
    found: Complex = np.where(np.arange(k) > np.arange(k)[:, None], higher, lower) - rest
    return found


def _over_steps(by_threshold: Complex, by_number: Complex) -> Complex:
    """Return the products of what depends on l and what depends on n, summed over steps."""
    found: Complex = np.matmul(np.moveaxis(by_threshold, 0, 2), np.moveaxis(by_number, 0, 1))
    return found


def _phases(system: System, gap: Complex) -> tuple[Complex, Complex, Complex]:
    """Return the transforms of a drain of n, of the fall from n to 0, and of a large job.

    Each at 1 - z = ``gap``; shapes (..., k), (..., k) and (...).
    """
    k, l1, lk, m1, mk = system
    large = _busy(lk, mk, l1 * gap)
    s = lk * large
    passage = _busy(l1, k * m1, s)
    falls: Complex = np.ones((*gap.shape, k), dtype=np.complex128)
    for j in range(k - 1, 0, -1):  # 1 less the transform of the time from j to j - 1
        rate = s + l1 * passage
        passage = rate / (j * m1 + rate)
        falls[..., j] = 1.0 - passage
    rates = np.arange(k) * m1
    drains: Complex = rates / (rates + (s + l1 * gap)[..., None])
    drains[..., 0] = 1.0
    np.cumprod(falls, axis=-1, out=falls)
    np.cumprod(drains, axis=-1, out=drains)
    return drains, falls, 1.0 - large


def _busy(arrival: float, service: float, s: Complex) -> Complex:
    """Return 1 less the transform of an M/M/1 busy period."""
    drift = service - arrival + s
    return np.asarray(2.0 * s / (drift + np.sqrt(drift * drift + 4.0 * arrival * s)))


@dataclass(frozen=True, slots=True)
class _Quadratic:
    """at + slope·x + square·x², of which products do not go beyond that."""

    at: float
    slope: float = 0.0
    square: float = 0.0

    def __add__(self, other: _Quadratic | float) -> _Quadratic:
        if not isinstance(other, _Quadratic):
            return _Quadratic(self.at + other, self.slope, self.square)
        return _Quadratic(self.at + other.at, self.slope + other.slope, self.square + other.square)

    def __mul__(self, other: _Quadratic | float) -> _Quadratic:
        if not isinstance(other, _Quadratic):
            return _Quadratic(self.at * other, self.slope * other, self.square * other)
        return _Quadratic(
            self.at * other.at,
            self.at * other.slope + self.slope * other.at,
            self.at * other.square + self.slope * other.slope + self.square * other.at,
        )


class _Cycle:
    """Means over a cycle that starts with some small jobs and no large one.

    ``below`` and ``above`` return the duration, both numbers integrated over time, and the first
    two factorial moments of the next n.
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

    def below(self) -> Floats:
        """Return the means from n = 0..k-1 small jobs on, shape (quantities, k)."""
        k, l1, lk, _, mk = self.system
        found = np.empty((5, k))
        n = np.arange(1, k)
        mean, variance, area = self.fall[:, 1:]
        found[:, 1:] = self._from(mean, variance, area, np.minimum(n, self.l))
        idle = 1.0 / (l1 + lk)
        second = self.vB + self.B**2
        large = [self.B, l1 * second / 2, mk * self.B**2, l1 * self.B, l1 * l1 * second]
        found[:, 0] = lk * idle * np.array(large) + l1 * idle * found[:, 1]
        found[0, 0] += idle
        return found

    def above(self) -> Floats:
        """Return the means from n >= k on, as polynomials in n - k + 1, shape (quantities, 3)."""
        k = self.system.k
        over = _Quadratic(0.0, 1.0)
        mean, variance, area = self.fall[:, k - 1].tolist()
        # from i to i - 1 for i = k..n: as an M/M/1 queue with i - 1 more beside it
        beside = over * (k - 1) + (over * over + over * -1.0) * 0.5
        areas = over * (k * self.system.m1 * self.b**2) + beside * self.b + area
        found = self._from(over * self.b + mean, over * self.vb + variance, areas, self.l)
        return np.array([(each.at, each.slope, each.square) for each in found])

    def _from(self, mean: T, variance: T, area: T, batch: Any) -> list[T]:
        """Return the means from the time to ``batch``, its variance, and the small jobs over it."""
        _, l1, lk, m1, mk = self.system
        drain, spread = self.drain[0][batch], self.drain[1][batch]
        time = mean + drain
        second = time * time + variance + spread
        came, pairs = time * lk, second * lk * lk  # large jobs, and ordered pairs of them
        serving = came * self.B
        serving2 = came * self.vB + (came + pairs) * self.B**2
        drain2 = spread + drain**2
        both = (mean * drain + drain2) * lk * self.B  # of phases 4 and 1
        return [
            time + serving,
            area + (serving2 * 0.5 + both + drain2 / 2) * l1 + batch / m1,
            second * (lk / 2) + pairs * (self.B / 2) + came * (mk * self.B**2),
            (serving + drain) * l1,
            (serving2 + both * 2 + drain2) * (l1 * l1),
        ]


def _times(system: System, threshold: int, law: Floats) -> tuple[float, float]:
    """Return both classes' mean response times from the law of n at the starts of cycles."""
    k, cycle = system.k, _Cycle(system, threshold)
    n = np.arange(k)
    below = cycle.below().T
    start, slope, square = cycle.above().T
    rest = 1.0 - law.sum()
    now = law @ n + (k - 1) * rest
    first = (law @ below[:, 3] + start[3] * rest - now) / (1.0 - slope[3])
    pairs = law @ (n * (n - 1)) + (k - 1) * (k - 2) * rest + (2 * k - 3) * first
    after = law @ below[:, 4] + start[4] * rest + slope[4] * first
    second = (after - pairs) / (1.0 - square[4])
    mean = law @ below + start * rest + slope * first + square * second
    return float(mean[1] / (system.l1 * mean[0])), float(mean[2] / (system.lk * mean[0]))
