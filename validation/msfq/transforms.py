"""MSFQ's response times at every threshold, exactly, from the moments of a cycle.

A cycle begins when no large job is left; n small jobs are there. Until the next such moment they
fall to k - 1 (phase 2), then to the threshold l (phase 3), and the last l leave (phase 4); large
jobs that arrived meanwhile are served (phase 1). Small jobs that arrive in phases 4 and 1 are the
next n. So the transform Π of the stationary distribution π of n satisfies

    Π(z) = sum over n < k of π_n·(g_n(z) - a(z)·σ^n) + a(z)·Π(σ),

where g_n is the transform of the next number after n < k, and a(z)·σ^n that after n >= k. It is
iterated along z, σ(z), σ(σ(z)), ... to 1, where Π is 1. On a circle the averages are π_0, ...,
π_{k-1}: k equations. Means over a cycle are sums of means and variances of the phases (`_Cycle`),
quadratic in n from k on. The moments of n follow from stationarity.

Symbols in the code: l1, lk, m1, mk are the arrival and service rates of small and of large jobs; a
gap is 1 minus a point z or a transform.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from schedopt.validation.msfq.chain import System

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]


DIGITS = 3.0
"""z^k is 10^-DIGITS on the circle."""
POINTS = 6
"""Points on the circle for each server; π_n is aliased with π at n plus that many."""
NEGLIGIBLE = 1e-17
"""The value of 1 - z below which z counts as 1."""
MOST_STEPS = 20_000
"""The most iterations of σ."""
BLOCK = 32
"""Neighbouring thresholds that are computed together, so that divisors stay in range."""
MOST_NUMBERS = 2**22
"""The most numbers along z, σ(z), ... in memory at a time."""


@lru_cache(maxsize=8)
def response_curve(system: System) -> tuple[Floats, Floats]:
    """Return the mean response times of small and of large jobs at thresholds 0..k-1.

    Parameters
    ----------
    system : System
        A stable one-or-all system.

    Returns
    -------
    small, large : ndarray, shape (k,)
        In the unit of time of the rates.
    """
    laws = _cycle_start_laws(system)
    times = np.array([_response_times(system, l, law) for l, law in enumerate(laws)])
    return times[:, 0], times[:, 1]


def _cycle_start_laws(system: System) -> Floats:
    """Return π_0..π_{k-1} for each threshold, shape (thresholds, k)."""
    k = system.k
    count = max(POINTS * k, 48) | 1
    radius = 10.0 ** (-DIGITS / k)
    half = np.arange(count // 2 + 1)  # the other points are their conjugates
    gaps = _iterated_roots(system, 1.0 - radius * np.exp(2j * np.pi * half / count))
    levels = np.arange(k)
    turn = np.exp(-2j * np.pi * np.outer(levels, half) / count)
    twice = np.where(half == 0, 1.0, 2.0)  # count is odd, so only the first point is real
    average = turn * twice / count * radius ** -levels[:, None].astype(float)
    blocks = [slice(l, min(l + BLOCK, k)) for l in range(0, k, BLOCK)]
    matrices, rights = np.zeros((k, k, k)), np.zeros((k, k))
    points = max(1, min(64, MOST_NUMBERS // (len(gaps) * k)))
    for first in range(0, len(half), points):
        some = slice(first, first + points)
        phases, following = _phase_transforms(system, gaps[:-1, some]), np.log1p(-gaps[1:, some])
        for block in blocks:
            sums, known = _series_terms(system, phases, following, levels[block])
            product = _real_product(average[:, some], sums.reshape(len(sums), -1))
            matrices[:, block] += product.reshape(k, -1, k)
            rights[:, block] += _real_product(average[:, some], known)
    return np.array([np.linalg.solve(np.eye(k) - matrices[:, l], rights[:, l]) for l in levels])


def _real_product(left: Complex, right: Complex) -> Floats:
    part: Floats = left.real @ right.real - left.imag @ right.imag
    return part


def _iterated_roots(system: System, gap: Complex) -> Complex:
    """Return 1 - z, 1 - σ(z), 1 - σ(σ(z)), ..., until they are negligible."""
    k, l1, lk, m1, mk = system
    gaps = [gap]
    while len(gaps) <= MOST_STEPS and np.abs(gaps[-1]).max() >= NEGLIGIBLE:
        gaps.append(_busy_period(l1, k * m1, lk * _busy_period(lk, mk, l1 * gaps[-1])))
    return np.array(gaps)


def _series_terms(
    system: System, phases: tuple[Complex, Complex, Complex], following: Complex, at: Any
) -> tuple[Complex, Complex]:
    """Return Π(z) as a linear function of π_0..π_{k-1}: the coefficients and the constant term.

    The coefficients have shape (points z, thresholds, k). Summands are transforms minus 1, which
    are near 0 where z is near 1.
    """
    k, l1, lk, _, _ = system
    drains, single, busy = phases
    falls: Complex = single.copy()  # falls from n to the lowest threshold
    falls[..., : at[0] + 1] = 1.0
    np.cumprod(falls, axis=-1, out=falls)
    ratio = drains[..., at] / falls[..., at]  # drains of l jobs, divided by the falls to l
    above = ratio * (falls[..., -1] * np.exp((1 - k) * following))[..., None]
    held: Complex = np.concatenate((np.ones_like(above[:1]), above))
    np.cumprod(held, axis=0, out=held)
    known, now = held[-1], held[:-1]
    idle = [(l1 * to[..., 1] + lk * busy) / (l1 + lk) for to in (falls, drains)]
    drained = drains - 1
    drained[..., 0] = idle[1] - 1
    powers = np.expm1(np.arange(k) * following[..., None])
    higher = _sum_over_steps(now * ratio, falls - 1) + (now * (ratio - 1)).sum(axis=0)[..., None]
    lower = _sum_over_steps(now, drained)
    if at[0] == 0:
        lower[:, 0, 0] = (now[..., 0] * (idle[0] - 1)).sum(axis=0)
    rest = _sum_over_steps(now * above, powers) + (now * (above - 1)).sum(axis=0)[..., None]
    return np.where(np.arange(k) > at[:, None], higher, lower) - rest, known


def _sum_over_steps(by_threshold: Complex, by_number: Complex) -> Complex:
    """Return the products of a factor by threshold and a factor by n, summed over the steps."""
    products: Complex = np.moveaxis(by_threshold, 0, 2) @ np.moveaxis(by_number, 0, 1)
    return products


def _phase_transforms(system: System, gap: Complex) -> tuple[Complex, Complex, Complex]:
    """Return the transforms of a drain of n jobs, of the fall from n to n - 1, and of a large job.

    Each at 1 - z = ``gap``; shapes (..., k), (..., k) and (...).
    """
    k, l1, lk, m1, mk = system
    large = _busy_period(lk, mk, l1 * gap)
    s = lk * large
    passage = _busy_period(l1, k * m1, s)
    falls: Complex = np.ones((*gap.shape, k), dtype=np.complex128)
    for j in range(k - 1, 0, -1):  # 1 minus the transform of the time from j to j - 1
        rate = s + l1 * passage
        passage = rate / (j * m1 + rate)
        falls[..., j] = 1.0 - passage
    rates = np.arange(k) * m1
    drains: Complex = rates / (rates + (s + l1 * gap)[..., None])
    drains[..., 0] = 1.0
    np.cumprod(drains, axis=-1, out=drains)
    return drains, falls, 1.0 - large


def _busy_period(arrival: float, service: float, s: Complex) -> Complex:
    """Return 1 minus the transform of an M/M/1 busy period."""
    drift = service - arrival + s
    return np.asarray(2.0 * s / (drift + np.sqrt(drift * drift + 4.0 * arrival * s)))


class _Cycle:
    """Means over a cycle that starts with n small jobs and no large one.

    ``below`` and ``above`` return the duration, the integrals of both numbers of jobs over time,
    and the first two factorial moments of the next n.
    """

    def __init__(self, system: System, threshold: int) -> None:
        k, l1, lk, m1, mk = system
        self.system, self.l = system, threshold
        self.b = 1.0 / (k * m1 - l1)
        self.vb = 2.0 * k * m1 * self.b**3 - self.b**2
        self.B = 1.0 / (mk - lk)
        self.vB = 2.0 * mk * self.B**3 - self.B**2
        # from j to j - 1 small jobs: mean time, second moment, number of small jobs integrated
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
        """Return the means for n = 0..k-1, shape (quantities, k)."""
        k, l1, lk, _, mk = self.system
        means = np.empty((5, k))
        n = np.arange(1, k)
        mean, variance, area = self.fall[:, 1:]
        means[:, 1:] = self._means_from(mean, variance, area, np.minimum(n, self.l))
        idle = 1.0 / (l1 + lk)
        second = self.vB + self.B**2
        large = [self.B, l1 * second / 2, mk * self.B**2, l1 * self.B, l1 * l1 * second]
        means[:, 0] = lk * idle * np.array(large) + l1 * idle * means[:, 1]
        means[0, 0] += idle
        return means

    def above(self) -> Floats:
        """Return the means for n >= k as polynomials in n - k + 1, shape (quantities, 3)."""
        k = self.system.k
        over = Polynomial([0.0, 1.0])
        mean, variance, area = self.fall[:, k - 1].tolist()
        # from i to i - 1 for i = k..n: as an M/M/1 queue with i - 1 more beside it
        beside = over * (k - 1) + (over * over - over) * 0.5
        areas = over * (k * self.system.m1 * self.b**2) + beside * self.b + area
        means = self._means_from(over * self.b + mean, over * self.vb + variance, areas, self.l)
        return np.array([np.pad(each.coef, (0, 3 - len(each.coef))) for each in means])

    def _means_from(self, mean: Any, variance: Any, area: Any, batch: Any) -> list[Any]:
        """Return the means from the time to the drain of ``batch`` jobs and its variance.

        The area is the number of small jobs integrated over that time.
        """
        _, l1, lk, m1, mk = self.system
        drain, spread = self.drain[0][batch], self.drain[1][batch]
        time = mean + drain
        second = time * time + variance + spread
        came, pairs = (
            time * lk,
            second * lk * lk,
        )  # arrivals of large jobs, and of ordered pairs of them
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


def _response_times(system: System, threshold: int, law: Floats) -> tuple[float, float]:
    """Return both classes' mean response times from the distribution of n."""
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
