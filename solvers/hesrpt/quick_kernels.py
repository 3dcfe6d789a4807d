"""Compiled: prices and plays of many jobs, a few epochs at a time.

`price_kernels` finds each rent to the last digit, from nothing. Here each is sought near the last
one, to as many digits as a good order needs; what is played is exact all the same: shares are mixed
of what jobs take at a rent just under and at one just over that at which they take all servers.
"""

from __future__ import annotations

from math import exp, inf, log

from schedopt.solvers.compiling import compiled
from schedopt.solvers.hesrpt.kernels import Curves, Floats, Ints, slope, speed, taken

STEPS = 60
CLOSE = 1e-9
"""How near to a root is near enough, relatively."""
NARROW = 1e-11
"""The same of rents between which shares are mixed."""
FAR = 40.0
"""Rents that are e to this times lower count as none, and as much higher ones as any."""


@compiled
def _all_taken(c: Curves, lam: Floats, jobs: Ints, n: int, m: float) -> float:
    total = 0.0
    for i in range(n):
        total += taken(c, jobs[i], lam[jobs[i]], m)
    return total


@compiled
def near_rent(c: Curves, lam: Floats, jobs: Ints, n: int, hint: float) -> float:
    """Return about the rent at which n jobs take all servers, 0 if they never do.

    Parameters
    ----------
    c : Curves
        Without teams.
    lam : ndarray
        Prices by job, over 0, shape (M,).
    jobs : ndarray of int64
        Of which the first ``n`` count.
    n : int
    hint : float
        A rent that may be near.
    """
    low, high, above, below = -inf, inf, 0.0, 0.0
    u, step = log(hint), 0.05
    lowest = u - FAR
    for turn in range(STEPS):
        total = _all_taken(c, lam, jobs, n, exp(u))
        excess = log(total / c.servers) if total > 0.0 else -50.0
        if abs(excess) < 1e-12:
            break
        if excess > 0.0:
            low, above = u, excess
        else:
            high, below = u, excess
        if low == -inf or high == inf:
            if u < lowest or u > lowest + 2.0 * FAR:
                return 0.0 if u < lowest else exp(u)
            u += step if excess > 0.0 else -step
            step *= 2.0
            continue
        if high - low < 0.1 * CLOSE:
            break
        u = low + above * (high - low) / (above - below)
        if turn % 3 == 2 or not low + 0.01 * (high - low) < u < high - 0.01 * (high - low):
            u = 0.5 * (low + high)
    return exp(u)


@compiled
def _alone(c: Curves, j: int, cost: float, m: float, start: float) -> float:
    """Return about the price at which a job gains what it costs, at a rent."""
    low, high = start, start
    for _ in range(STEPS):
        k = taken(c, j, high, m)
        if high * speed(c, j, k) - m * k >= cost:
            break
        high *= 2.0
    for _ in range(STEPS):
        k = taken(c, j, low, m)
        if low * speed(c, j, k) - m * k <= cost:
            break
        low *= 0.5
    while high > low * 1.001:
        lam = 0.5 * (low + high)
        k = taken(c, j, lam, m)
        if lam * speed(c, j, k) - m * k < cost:
            low = lam
        else:
            high = lam
    return low


@compiled
def price_some(
    c: Curves,
    costs: Floats,
    order: Ints,
    levels: Floats,
    lam: Floats,
    first: int,
    last: int,
    hint: float,
) -> float:
    """Put about the prices of `price_kernels.prices_of` into ``lam``, for some places of an order.

    Parameters
    ----------
    c : Curves
        Without teams.
    costs : ndarray
        By job, shape (M,).
    order : ndarray of int64
        From the last job to complete, shape (M,).
    levels : ndarray
        What the last ones cost in a unit of time, shape (M,).
    lam : ndarray
        By job, shape (M,); changed.
    first, last : int
        The places.
    hint : float
        The rent after the places before.

    Returns
    -------
    float
        The rent after these.
    """
    for n in range(first + 1, last + 1):
        j, goal = order[n - 1], levels[n - 1]
        alone = goal / speed(c, j, c.mosts[j])
        if n == 1:
            lam[j] = alone
            hint = alone * max(slope(c, j, 0.5 * c.mosts[j]), 1e-9)
            continue
        lam[j] = _alone(c, j, costs[j], hint, costs[j] / speed(c, j, c.mosts[j]))
        low, high = 0.0, inf
        for _ in range(STEPS):
            m = near_rent(c, lam, order, n, hint)
            hint = max(m, hint * 1e-3)
            total, rate = m * c.servers - goal, 0.0
            for i in range(n):
                k = taken(c, order[i], lam[order[i]], m)
                rate = speed(c, order[i], k)
                total += lam[order[i]] * rate - m * k
            if abs(total) <= CLOSE * goal:
                break
            if total < 0.0:
                low = lam[j]
            else:
                high = lam[j]
            if high <= low * (1.0 + CLOSE) or high < 1e-9 * alone or low > 1e9 * alone:
                break
            step = lam[j] - total / rate if rate > 0.0 else 2.0 * lam[j]
            if not low < step < high:
                step = 0.5 * (low + high) if high < inf else 2.0 * lam[j]
            lam[j] = min(max(step, 1e-9 * alone), 1e9 * alone)
    return hint


@compiled
def _mixed(c: Curves, lam: Floats, jobs: Ints, n: int, m: float, out: Floats) -> None:
    """Put what n jobs take at about a rent into ``out``; they take all servers if they can."""
    part, low, high = 0.0, m, m
    if m > 0.0:
        wide = NARROW
        while wide < 1.0:
            low, high = m * (1.0 - wide), m * (1.0 + wide)
            most = _all_taken(c, lam, jobs, n, low)
            least = _all_taken(c, lam, jobs, n, high)
            if least <= c.servers <= most:
                part = (c.servers - least) / (most - least) if most > least else 0.0
                break
            wide *= 10.0
    total = 0.0
    for i in range(n):
        j = jobs[i]
        if m > 0.0:
            k = taken(c, j, lam[j], high)
            out[i] = k + part * (taken(c, j, lam[j], low) - k)
        else:
            out[i] = taken(c, j, lam[j], 1e-200 * lam[j])
        total += out[i]
    if total > c.servers:  # by rounding
        for i in range(n):
            out[i] *= c.servers / total


@compiled
def play_some(
    c: Curves,
    lam: Floats,
    left: Floats,
    jobs: Ints,
    ends: Floats,
    times: Floats,
    rents: Floats,
    record: Floats,
    at: Ints,
    shares: Floats,
    rates: Floats,
    epochs: int,
) -> None:
    """Let those who are there always earn the most at given prices, for a number of epochs.

    Parameters
    ----------
    c : Curves
        Without teams.
    lam : ndarray
        Prices by job, over 0, shape (M,).
    left : ndarray
        The work that is left of each job, shape (M,).
    jobs : ndarray of int64
        Those who are there come first, shape (M,).
    ends : ndarray
        Completions, shape (M,).
    times, rents : ndarray
        When epochs end, and their rents, 0 for none, shape (M,).
    record : ndarray
        Shares by epoch and job, shape (M, M); of shape (0, 0): not kept.
    at : ndarray of int64
        [epochs so far, jobs that are there].
    shares, rates : ndarray
        Room, shape (M,).
    epochs : int
    """
    for _ in range(epochs):
        epoch, count = at[0], at[1]
        if count == 0:
            return
        hint = rents[epoch - 1] if epoch > 0 else 0.0
        if hint <= 0.0:
            for i in range(count):
                j = jobs[i]
                hint = max(hint, lam[j] * speed(c, j, c.servers) / c.servers)
        m = near_rent(c, lam, jobs, count, hint)
        _mixed(c, lam, jobs, count, m, shares)
        step = inf
        for i in range(count):
            rates[i] = speed(c, jobs[i], shares[i])
            if rates[i] > 0.0:
                step = min(step, left[jobs[i]] / rates[i])
        if not step < inf:
            at[1] = 0
            return
        now = (times[epoch - 1] if epoch > 0 else 0.0) + step
        kept = 0
        for i in range(count):
            j = jobs[i]
            if len(record) > 0:
                record[epoch, j] = shares[i] / c.servers
            if rates[i] > 0.0 and left[j] / rates[i] <= step * (1.0 + 1e-13):
                ends[j] = now
            else:
                left[j] -= step * rates[i]
                jobs[kept] = j
                kept += 1
        times[epoch], rents[epoch] = now, m
        at[0], at[1] = epoch + 1, kept
