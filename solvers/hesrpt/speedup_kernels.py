"""Compiled kernels for speedups: the demand for servers at a price, and the price of work."""

from math import exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.hesrpt.epochs import Bounds, Rules, bounds_of
from schedopt.instances.hesrpt import Amdahl, Instance, Power, Speedup
from schedopt.solvers.compiling import kernel
from schedopt.solvers.kernels import last_at_most

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POWER, AMDAHL, TABLE = 0, 1, 2
ROUNDS = 200


class Curves(NamedTuple):
    """The speedups of all jobs, and their least and most servers, as flat arrays.

    The limits of a team apply while any of its jobs is present.
    """

    kinds: Ints  # `POWER`, `AMDAHL` or `TABLE`, (M,)
    pars: Floats  # p or f, (M,)
    firsts: Ints  # where each job's table begins in xs and ys, (M,)
    lasts: Ints  # where it ends
    xs: Floats  # servers and speedups of all tables
    ys: Floats
    leasts: Floats  # servers of each job, (M,)
    mosts: Floats
    teams: Ints  # -1 for none, (M,)
    team_leasts: Floats  # servers of each team, (G,)
    team_mosts: Floats
    servers: float
    bounded: bool  # whether any of these limits is more than that there are N servers


def curves(instance: Instance, bounds: Bounds | None = None) -> Curves:
    """Return the speedups and the limits of an instance as flat arrays."""
    if bounds is None:
        bounds = bounds_of(Rules(instance), len(instance.jobs))
    parts = [_part(speedup) for speedup in instance.speedups]
    lengths = np.array([len(k) for _, _, k, _ in parts], dtype=np.int64)
    lasts = np.cumsum(lengths)
    of, servers = instance.kinds, float(instance.servers)
    return Curves(
        kinds=np.array([kind for kind, _, _, _ in parts], dtype=np.int64)[of],
        pars=np.array([par for _, par, _, _ in parts], dtype=np.float64)[of],
        firsts=(lasts - lengths)[of],
        lasts=lasts[of],
        xs=np.concatenate([*(k for _, _, k, _ in parts), np.zeros(1)]),
        ys=np.concatenate([*(s for _, _, _, s in parts), np.zeros(1)]),
        leasts=bounds.leasts * servers,
        mosts=bounds.mosts * servers,
        teams=bounds.teams,
        team_leasts=bounds.team_leasts * servers,
        team_mosts=bounds.team_mosts * servers,
        servers=servers,
        bounded=bool(bounds.leasts.any() or (bounds.mosts < 1).any() or len(bounds.team_mosts)),
    )


def _part(speedup: Speedup) -> tuple[int, float, Floats, Floats]:
    """Return the kind of a speedup, its parameter, and the points of a piecewise linear one."""
    nothing = np.zeros(0)
    if isinstance(speedup, Power):
        return POWER, speedup.p, nothing, nothing
    if isinstance(speedup, Amdahl):
        return AMDAHL, speedup.parallel, nothing, nothing
    return TABLE, 0.0, *speedup.breaks()


def _segment(c: Curves, j: int, k: float) -> int:
    """Return the segment of job j's table that contains k; at a point, the segment to its right."""
    return last_at_most(c.xs, int(c.firsts[j]), int(c.lasts[j]) - 1, k)


@kernel(python_up_to=6000)
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


@kernel(python_up_to=6000)
def speeds(c: Curves, jobs: Ints, k: Floats, out: Floats) -> Floats:
    """Store s_j(k) of some jobs, each with its own k, in ``out``, and return it."""
    for i in range(len(jobs)):
        out[i] = speed(c, jobs[i], k[i])
    return out


@kernel(python_up_to=6000)
def slope(c: Curves, j: int, k: float) -> float:
    """Return the derivative s_j'(k), from the right."""
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


def unbounded_demand(c: Curves, j: int, lam: float, m: float) -> float:
    """Return the least k from 0 to N that maximizes lam s_j(k) - m k."""
    if lam <= 0.0:
        return 0.0
    if m <= 0.0:
        return c.servers
    steepness = m / lam
    par: float = c.pars[j]
    if c.kinds[j] != TABLE and par == 1.0:
        return c.servers if steepness < 1.0 else 0.0
    if c.kinds[j] == POWER:
        logarithm = log(par / steepness) / (1.0 - par)
        return c.servers if logarithm >= log(c.servers) else exp(logarithm)
    if c.kinds[j] == AMDAHL:
        return min(max((sqrt(par / steepness) - par) / (1.0 - par), 0.0), c.servers)
    low, high = int(c.firsts[j]), int(c.lasts[j]) - 1
    while low < high:  # slopes fall: find the first segment that is not steeper
        middle = (low + high) // 2
        if c.ys[middle + 1] - c.ys[middle] > steepness * (c.xs[middle + 1] - c.xs[middle]):
            low = middle + 1
        else:
            high = middle
    return min(float(c.xs[low]), c.servers)


def demand(c: Curves, j: int, lam: float, m: float) -> float:
    """Return the least k within the job's limits that maximizes lam s_j(k) - m k."""
    return min(max(unbounded_demand(c, j, lam, m), float(c.leasts[j])), float(c.mosts[j]))


def price_for(c: Curves, j: int, budget: float, m: float) -> float:
    """Return the price at which job j gains ``budget`` at rent m: min_k (budget + m k) / s_j(k)."""
    low, high = float(c.leasts[j]), float(c.mosts[j])
    if budget <= 0.0:
        return max(budget + m * low, 0.0) / speed(c, j, low) if low > 0.0 else 0.0
    par = c.pars[j]
    if c.kinds[j] == POWER or c.kinds[j] == AMDAHL:
        if par == 1.0:
            k = high
        elif c.kinds[j] == POWER:
            k = budget * par / ((1.0 - par) * m)
        else:
            k = sqrt(budget * par / (m * (1.0 - par)))
        k = min(max(k, low), high)
        return (budget + m * k) / speed(c, j, k)
    least = (budget + m * high) / speed(c, j, high)
    if low > 0.0:
        least = min(least, (budget + m * low) / speed(c, j, low))
    for i in range(c.firsts[j], c.lasts[j]):
        k = c.xs[i]
        if k >= high:
            break
        if k > low and c.ys[i] > 0.0:
            least = min(least, (budget + m * k) / c.ys[i])
    return least
