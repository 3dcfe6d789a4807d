"""Compiled arithmetic of prices: what servers are worth to jobs, and what their work must cost.

A price lambda_j is what a unit of job j's work earns. At a rent m of a server, job j takes the k
servers that maximize lambda_j s_j(k) - m k. The rent at which all servers are taken gives the most
that jobs can earn together, and the shares with which they do.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POWER, AMDAHL, TABLE = 0, 1, 2
ROUNDS = 200


class Curves(NamedTuple):
    """The speedups of all jobs, as flat arrays.

    Attributes
    ----------
    kinds : ndarray of int64
        `POWER`, `AMDAHL` or `TABLE`, shape (M,).
    pars : ndarray
        p or f, shape (M,).
    firsts, lasts : ndarray of int64
        Where each job's table begins and ends in ``xs`` and ``ys``, shape (M,).
    xs, ys : ndarray
        Servers and speedups of all tables.
    mosts : ndarray
        The most servers that each job may have, shape (M,).
    servers : float
        N.
    """

    kinds: Ints
    pars: Floats
    firsts: Ints
    lasts: Ints
    xs: Floats
    ys: Floats
    mosts: Floats
    servers: float


@njit(cache=True)
def _segment(c: Curves, j: int, k: float) -> int:
    """Return the segment of job j's table in which k lies: the right one at a point."""
    low, high = int(c.firsts[j]), int(c.lasts[j]) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if c.xs[middle] <= k:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True)
def speed(c: Curves, j: int, k: float) -> float:
    """Return s_j(k)."""
    if k <= 0.0:
        return 0.0
    par: float = c.pars[j]
    if c.kinds[j] == POWER:
        return float(k**par)
    if c.kinds[j] == AMDAHL:
        return k / ((1.0 - par) * k + par)
    if k >= c.xs[c.lasts[j] - 1]:
        return float(c.ys[c.lasts[j] - 1])
    i = _segment(c, j, k)
    part = (k - c.xs[i]) / (c.xs[i + 1] - c.xs[i])
    return float(c.ys[i] + part * (c.ys[i + 1] - c.ys[i]))


@njit(cache=True)
def slope(c: Curves, j: int, k: float) -> float:
    """Return s_j'(k), from the right."""
    par: float = c.pars[j]
    if c.kinds[j] == POWER:
        if par == 1.0:
            return 1.0
        return inf if k <= 0.0 else float(par * k ** (par - 1.0))
    if c.kinds[j] == AMDAHL:
        below = (1.0 - par) * k + par
        return par / (below * below)
    if k >= c.xs[c.lasts[j] - 1]:
        return 0.0
    i = _segment(c, j, k)
    return float((c.ys[i + 1] - c.ys[i]) / (c.xs[i + 1] - c.xs[i]))


@njit(cache=True)
def taken(c: Curves, j: int, lam: float, m: float) -> float:
    """Return the least k that maximizes lam s_j(k) - m k."""
    most: float = c.mosts[j]
    if lam <= 0.0:
        return 0.0
    if m <= 0.0:
        return most
    steepness = m / lam
    par: float = c.pars[j]
    if c.kinds[j] != TABLE and par == 1.0:
        return most if steepness < 1.0 else 0.0
    if c.kinds[j] == POWER:
        logarithm = log(par / steepness) / (1.0 - par)
        return most if logarithm >= log(most) else exp(logarithm)
    if c.kinds[j] == AMDAHL:
        return min(max((sqrt(par / steepness) - par) / (1.0 - par), 0.0), most)
    low, high = c.firsts[j], c.lasts[j] - 1
    while low < high:  # slopes fall: find the first segment that is not steeper
        middle = (low + high) // 2
        if c.ys[middle + 1] - c.ys[middle] > steepness * (c.xs[middle + 1] - c.xs[middle]):
            low = middle + 1
        else:
            high = middle
    return min(float(c.xs[low]), most)


@njit(cache=True)
def _all_taken(c: Curves, lam: Floats, jobs: Ints, n: int, m: float) -> float:
    total = 0.0
    for i in range(n):
        total += taken(c, jobs[i], lam[jobs[i]], m)
    return total


@njit(cache=True)
def rent(c: Curves, lam: Floats, jobs: Ints, n: int) -> float:
    """Return the rent of a server at which n jobs take all servers; 0 where they never do."""
    high = low = 0.0
    for i in range(n):
        j = jobs[i]
        high = max(high, lam[j] * slope(c, j, min(c.servers / n, c.mosts[j])))
        if c.mosts[j] >= c.servers:
            low = max(low, lam[j] * slope(c, j, c.servers * (1.0 - 1e-12)))
    for i in range(n):  # a job that is bounded, or level, leaves more to the others
        j = jobs[i]
        if c.kinds[j] == TABLE or c.mosts[j] < c.servers:
            high = max(high, lam[j] * slope(c, j, 0.0) if c.kinds[j] != POWER else 0.0)
    if high == 0.0:
        return 0.0
    high *= 1.0 + 1e-12
    while _all_taken(c, lam, jobs, n, high) > c.servers:
        high *= 4.0
    least = high * 1e-25
    low = max(low * (1.0 - 1e-9), least)
    while low > least and _all_taken(c, lam, jobs, n, low) < c.servers:
        low *= 0.5
    if _all_taken(c, lam, jobs, n, low) < c.servers:
        return 0.0
    above = log(_all_taken(c, lam, jobs, n, low) / c.servers)
    below = 1.0  # log(taken / servers) at high, where it is below 0
    m = sqrt(low) * sqrt(high)
    for turn in range(ROUNDS):
        total = _all_taken(c, lam, jobs, n, m)
        if total == c.servers:
            return m
        excess = log(total / c.servers) if total > 0.0 else -700.0
        if excess > 0.0:
            low, above = m, excess
        else:
            high, below = m, excess
        if abs(excess) < 1e-15 or high <= low * (1.0 + 4e-16):
            return m
        a, b = log(low), log(high)
        m = exp(0.5 * (a + b))
        if below < 0.0 and turn % 3 != 2:  # the secant, and bisection now and then
            m = exp(a + (b - a) * above / (above - below))
        if not low < m < high:
            m = low + 0.5 * (high - low)
            if not low < m < high:
                return m
    return m


@njit(cache=True)
def earned(c: Curves, lam: Floats, jobs: Ints, n: int, m: float) -> float:
    """Return what n jobs can earn at most with all servers: at any rent m a bound from above."""
    total = m * c.servers
    for i in range(n):
        j = jobs[i]
        k = taken(c, j, lam[j], m)
        total += lam[j] * speed(c, j, k) - m * k
    return total


@njit(cache=True)
def gains(c: Curves, lam: Floats, jobs: Ints, rents: Floats, out: Floats) -> float:
    """Put what each job takes at its own rent into ``out``; return what they gain by it."""
    total = 0.0
    for i in range(len(jobs)):
        j = jobs[i]
        out[i] = taken(c, j, lam[j], rents[i])
        total += lam[j] * speed(c, j, out[i]) - rents[i] * out[i]
    return total


@njit(cache=True)
def _smooth_price(c: Curves, lam: Floats, jobs: Ints, n: int, goal: float) -> float:
    """Return nearly what `next_price` does, by one root where speedups are smooth; else -1.

    At a rent m the others leave the last job k = N - (what they take), and it takes just that if
    its price is m/s'(k). What all then earn rises with m.
    """
    for i in range(n):
        j = jobs[i]
        if c.kinds[j] == TABLE or c.pars[j] == 1.0 or c.mosts[j] < c.servers:
            return -1.0
    last = jobs[n - 1]
    low = rent(c, lam, jobs, n - 1)  # at which nothing is left for it
    if low <= 0.0:
        return -1.0
    high, below, above, price = 0.0, 0.0, 0.0, -1.0
    m = low * 1.1
    for turn in range(60):
        k, total = c.servers, 0.0
        for i in range(n - 1):
            j = jobs[i]
            other = taken(c, j, lam[j], m)
            k -= other
            total += lam[j] * speed(c, j, other)
        if k <= 1e-9 * c.servers:
            excess = -goal
        else:
            price = m / slope(c, last, k)
            excess = total + price * speed(c, last, k) - goal
        if abs(excess) <= 1e-12 * goal:
            return price
        if excess < 0.0:
            low, below = m, excess
        else:
            high, above = m, excess
        if high == 0.0:
            m *= 2.0
        elif below < 0.0 and below > -goal and turn % 3 != 2:
            m = low - below * (high - low) / (above - below)
        else:
            m = 0.5 * (low + high)
        if high > 0.0 and not low < m < high:
            return price
    return price


@njit(cache=True)
def next_price(c: Curves, lam: Floats, jobs: Ints, n: int, goal: float) -> float:
    """Return the price of the last of n jobs at which all n together can earn ``goal``.

    The others' prices are given in ``lam``. What can be earned is convex in the price, so Newton's
    method from above comes down on the root and never passes it.
    """
    j = jobs[n - 1]
    price = goal / speed(c, j, min(c.servers, c.mosts[j]))
    if n == 1:
        return price
    near = _smooth_price(c, lam, jobs, n, goal)
    if near > 0.0:
        price = near
    for _ in range(ROUNDS):
        lam[j] = price
        m = rent(c, lam, jobs, n)
        excess = earned(c, lam, jobs, n, m) - goal
        if excess <= 1e-15 * goal:
            return price
        rate = speed(c, j, taken(c, j, price, m))
        if rate * price <= excess:  # a kink, or shares too small for a float
            price *= 0.5
            continue
        price -= excess / rate
        if excess <= 1e-16 * rate * price:
            return price
    return price


@njit(cache=True)
def best_shares(c: Curves, lam: Floats, jobs: Ints, n: int, out: Floats) -> None:
    """Put the shares with which n jobs earn the most into ``out``; they sum to 1 at most.

    Where jobs are indifferent at the rent, all take the same part of what they are indifferent to.
    """
    m = rent(c, lam, jobs, n)
    few = many = 0.0
    for i in range(n):
        j = jobs[i]
        out[i] = taken(c, j, lam[j], m * (1.0 + 1e-13))
        few += out[i]
        many += taken(c, j, lam[j], m * (1.0 - 1e-13))
    part = (c.servers - few) / (many - few) if many > few else 0.0
    part = min(max(part, 0.0), 1.0)
    total = 0.0
    for i in range(n):
        j = jobs[i]
        out[i] += part * (taken(c, j, lam[j], m * (1.0 - 1e-13)) - out[i])
        total += out[i]
    # What rounding leaves over is shared out; what jobs cannot use is not.
    whole = total if total > c.servers * (1.0 - 1e-9) else c.servers
    for i in range(n):
        out[i] /= whole
