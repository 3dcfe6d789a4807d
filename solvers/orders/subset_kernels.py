"""Compiled bounds on what comes after a set of last jobs, in whatever order these complete.

Scaling: where all jobs of a set S have shares within (1-κ)N servers, these shares can be scaled up
to N servers. A speedup falls to no more than r(θ) of itself on the part θ of its servers: θ^p for
k^p, s(θN)/s(N) under Amdahl's law, θ^e for one through points of elasticity e at the least. So jobs
of S that earn W_S with all servers earn at most r(1-κ) W_S with the part 1-κ of them, r the
largest of S, whatever their prices are. The price at which job j earns its own cost beside them is
thus at least the least of (c_j + W_S (1 - r(1-κ))) / s_j(κN) over κ, in every order of S.
"""

from __future__ import annotations

from math import expm1, inf, log1p

import numpy as np

from solvers.compiling import njit
from solvers.orders.kernels import AMDAHL, POWER, Curves, Floats, Ints, slope, speed

HALVINGS = 60
TINY = 1e-200
SAFE = 1.0 - 1e-12
"""What prices are lowered by, lest rounding makes them too high."""


@njit(cache=True)
def elasticities(c: Curves) -> Floats:
    """Return the least elasticity k s'(k)/s(k) of each job on up to N servers; -f for Amdahl's.

    It is 0 for a job that may not have all servers, whose shares cannot be scaled up.
    """
    found = np.zeros(len(c.kinds))
    for j in range(len(found)):
        g = c.teams[j]
        if c.mosts[j] < c.servers or (g >= 0 and c.team_mosts[g] < c.servers):
            continue
        if c.kinds[j] == POWER:
            found[j] = c.pars[j]
        elif c.kinds[j] == AMDAHL:
            found[j] = -c.pars[j]
        else:
            least = 1.0
            for i in range(c.firsts[j], c.lasts[j]):
                k = c.xs[i]
                if 0.0 < k < c.servers:
                    least = min(least, k * slope(c, j, k) / c.ys[i])
            found[j] = least
    return found


@njit(cache=True)
def _lost(elasticity: float, part: float, servers: float) -> float:
    """Return 1 - r(1 - part), what jobs lose at least if they give up a part of the servers."""
    if elasticity < 0.0:  # Amdahl's law
        f = -elasticity
        return f * part / ((1.0 - f) * (1.0 - part) * servers + f)
    return 1.0 if part >= 1.0 and elasticity > 0.0 else -expm1(elasticity * log1p(-part))


@njit(cache=True)
def _lost_by_more(elasticity: float, part: float, servers: float) -> float:
    """Return the derivative of `_lost`."""
    if elasticity < 0.0:
        f = -elasticity
        below = (1.0 - f) * (1.0 - part) * servers + f
        return f * ((1.0 - f) * servers + f) / (below * below)
    if elasticity == 1.0:
        return 1.0
    return inf if part >= 1.0 else float(elasticity * (1.0 - part) ** (elasticity - 1.0))


@njit(cache=True)
def price_beside(
    c: Curves, j: int, cost: float, level: float, elasticity: float, room: float
) -> float:
    """Return the least price of job j beside jobs that earn ``level``, on up to ``room`` servers.

    The numerator is convex and the speedup concave, so their ratio falls and then rises.
    """
    high = min(room, float(c.mosts[j]))
    if c.teams[j] >= 0:
        high = min(high, float(c.team_mosts[c.teams[j]]))
    if high <= 0.0:
        return inf
    low = max(float(c.leasts[j]) / c.servers, TINY)
    high = max(high / c.servers, low)
    if level > 0.0 and elasticity != 0.0 and low < high:
        for _ in range(HALVINGS):
            part = low * (high / low) ** 0.5
            if not low < part < high:
                break
            s = speed(c, j, part * c.servers)
            rising = _lost_by_more(elasticity, part, c.servers) * level * s
            falling = slope(c, j, part * c.servers) * c.servers
            if rising < falling * (cost + level * _lost(elasticity, part, c.servers)):
                low = part
            else:
                high = part
            if high - low < 1e-13 * high:
                break
    lost = 0.0
    if level > 0.0 and elasticity != 0.0:
        lost = level * _lost(elasticity, low, c.servers)
    return SAFE * (cost + lost) / speed(c, j, high * c.servers)


@njit(cache=True)
def price_table(
    c: Curves, costs: Floats, flat: Floats, table: Floats, first: int, count: int
) -> None:
    """Fill rows of ``table``: the least price of each job after each set of last jobs.

    Parameters
    ----------
    c : Curves
    costs : ndarray
        By job, shape (M,).
    flat : ndarray
        `elasticities`, shape (M,).
    table : ndarray
        Shape (2^M, M); sets are binary numbers.
    first, count : int
        The rows to fill.
    """
    total = len(costs)
    tied = np.zeros(len(c.team_leasts), dtype=np.bool_)
    for done in range(first, min(first + count, len(table))):
        level, room = 0.0, c.servers
        power, amdahl = inf, 0.0
        tied[:] = False
        for i in range(total):
            if (done >> i) & 1:
                level += costs[i]
                room -= c.leasts[i]
                if flat[i] >= 0.0:
                    power = min(power, flat[i])
                elif amdahl == 0.0 or flat[i] > amdahl:
                    amdahl = flat[i]
                g = c.teams[i]
                if g >= 0 and c.team_leasts[g] > 0.0:
                    tied[g] = True
        for j in range(total):
            if (done >> j) & 1:
                continue
            g = c.teams[j]
            price = inf
            if (g >= 0 and tied[g]) or level == 0.0:  # it relieves its team of what it must have
                price = price_beside(c, j, costs[j], 0.0, 0.0, room)
            else:
                if power < inf:
                    price = price_beside(c, j, costs[j], level, power, room)
                if amdahl < 0.0:
                    price = min(price, price_beside(c, j, costs[j], level, amdahl, room))
            table[done, j] = price


@njit(cache=True)
def least_after(
    table: Floats, sizes: Floats, placed: int, rest: Ints, ahead: Floats, work: Floats
) -> None:
    """Put into ``work`` what the jobs that are left cost at least after each set of placed ones.

    Parameters
    ----------
    table : ndarray
        `price_table`, shape (2^M, M).
    sizes : ndarray
        By job, shape (M,).
    placed : int
        The set of the jobs that complete last.
    rest : ndarray of int64
        The other jobs, shape (m,).
    ahead : ndarray
        What each job's price is at least, shape (M,).
    work : ndarray
        Shape (2^m or more,): by the set of those of ``rest`` that are placed too.
    """
    m = len(rest)
    full = (1 << m) - 1
    sets = np.empty(full + 1, dtype=np.int64)
    sets[0] = placed
    for i in range(m):
        for t in range(1 << i):
            sets[t + (1 << i)] = sets[t] | (1 << rest[i])
    work[full] = 0.0
    for t in range(full - 1, -1, -1):
        least, done = inf, sets[t]
        for i in range(m):
            if not (t >> i) & 1:
                j = rest[i]
                value = max(ahead[j], table[done, j]) * sizes[j] + work[t + (1 << i)]
                least = min(least, value)
        work[t] = least
