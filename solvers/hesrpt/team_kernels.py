"""Compiled roots of teams: rents of their own at which they take just what they must, or may."""

from __future__ import annotations

from math import exp, inf, log, sqrt

import numpy as np

from schedopt.solvers.compiling import njit
from schedopt.solvers.hesrpt.kernels import (
    AMDAHL,
    POWER,
    TABLE,
    Curves,
    Floats,
    Ints,
    speed,
    wished,
)

ROUNDS = 200
NEWTON = 60
"""Steps of Newton's method at the most."""
MOST_EXPONENT = 600.0
CLOSE = 2e-15
"""What logarithms of servers taken may be off by."""
MOST_STEP = 20.0
"""Of logarithms of rents."""


@njit(cache=True)
def team_bounds(c: Curves, jobs: Ints, n: int, firm: int, low: Floats, high: Floats) -> None:
    """Put the least and most servers of each team into ``low`` and ``high``.

    Teams without a job here have neither. The least is in force for teams of the ``firm`` first
    jobs; where these may not have as much as their team must, it is what they may have, so that
    others lower nothing.
    """
    for g in range(len(low)):
        low[g] = high[g] = 0.0
    for i in range(n):
        j = jobs[i]
        g = c.teams[j]
        if g >= 0:
            high[g] += c.mosts[j]
            if i < firm:
                low[g] = min(low[g] + c.mosts[j], c.team_leasts[g])
    for g in range(len(low)):
        high[g] = min(high[g], c.team_mosts[g])
        low[g] = min(low[g], high[g])


@njit(cache=True)
def _heads(c: Curves, lam: Floats, jobs: Ints, n: int) -> Floats:
    """Return log(p lambda_j) for the powers among n jobs, so that what they take costs one exp."""
    heads = np.zeros(n)
    for i in range(n):
        j = jobs[i]
        if c.kinds[j] == POWER and c.pars[j] < 1.0 and lam[j] > 0.0:
            heads[i] = log(c.pars[j] * lam[j])
    return heads


@njit(cache=True)
def _all_taken(
    c: Curves,
    lam: Floats,
    jobs: Ints,
    heads: Floats,
    m: float,
    team: int,
    bounds: Floats,
) -> tuple[float, float]:
    """Return what one team takes at a rent, and how it falls with the rent's logarithm.

    Of the team after the last, what all jobs take, each team within its bounds.
    """
    low, high, sums, falls = bounds[0], bounds[1], bounds[2], bounds[3]
    teams = len(sums)
    for g in range(teams):
        sums[g] = falls[g] = 0.0
    total = fall = 0.0
    log_m = log(m) if m > 0.0 else -inf
    for i in range(len(heads)):
        j = jobs[i]
        g = c.teams[j]
        if team not in (teams, g):
            continue
        least, most, par = float(c.leasts[j]), float(c.mosts[j]), float(c.pars[j])
        faster = 0.0
        if c.kinds[j] == POWER and par < 1.0 and lam[j] > 0.0:
            k = exp(min((heads[i] - log_m) / (1.0 - par), MOST_EXPONENT))
            faster = 1.0 / (1.0 - par)
        else:
            k = wished(c, j, lam[j], m)
            if c.kinds[j] == AMDAHL and k > 0.0 and par < 1.0:
                faster = 0.5 * (1.0 + par / ((1.0 - par) * k))
        if not least < k < most:
            k, faster = min(max(k, least), most), 0.0
        if g < 0:
            total += k
            fall += k * faster
        else:
            sums[g] += k
            falls[g] += k * faster
    if team < teams:
        return float(sums[team]), float(falls[team])
    for g in range(teams):
        total += min(max(sums[g], low[g]), high[g])
        if low[g] < sums[g] < high[g]:
            fall += falls[g]
    return total, fall


@njit(cache=True)
def _jumps(c: Curves, jobs: Ints, n: int) -> bool:
    """Tell whether what some job takes jumps where its rent passes a slope."""
    jumps = False
    for i in range(n):
        jumps = jumps or c.kinds[jobs[i]] == TABLE or c.pars[jobs[i]] == 1.0
    return jumps


@njit(cache=True)
def _root(
    c: Curves,
    lam: Floats,
    jobs: Ints,
    heads: Floats,
    team: int,
    target: float,
    bounds: Floats,
    start: float,
) -> float:
    """Return the rent at which a team, or all, take ``target`` servers; 0 where they never do.

    By Newton's method in logarithms from ``start``, where that is over 0, kept between bounds; by
    halving where what is taken jumps, or does not fall.
    """
    top = 0.0
    for i in range(len(heads)):
        j = jobs[i]
        top = max(top, lam[j])
    if top == 0.0 or _all_taken(c, lam, jobs, heads, 0.0, team, bounds)[0] <= target:
        return 0.0
    if not start > 0.0:
        for i in range(len(heads)):
            j = jobs[i]
            start = max(start, lam[j] * speed(c, j, c.servers) / c.servers)
    jumps = _jumps(c, jobs, len(heads))
    m, low, high, least = start, 0.0, inf, start * 1e-25
    for turn in range(2 * ROUNDS):
        total, fall = _all_taken(c, lam, jobs, heads, m, team, bounds)
        excess = log(total / target) if total > 0.0 and target > 0.0 else total - target
        if total > target:
            low = m
        else:
            high = m
        if (abs(excess) <= CLOSE and not jumps) or high <= low * (1.0 + 4e-16) or m > 1e300:
            break
        guess = m
        if fall > 0.0 and turn < NEWTON and not jumps:
            guess = m * exp(min(max(excess * total / fall, -MOST_STEP), MOST_STEP))
        if not low < guess < high:
            guess = 4.0 * m if high == inf else 0.25 * m if low == 0.0 else sqrt(low) * sqrt(high)
            if low > 0.0 and not low < guess < high:
                guess = low + 0.5 * (high - low)
                if not low < guess < high:
                    break
        m = guess
        if m < least:
            return 0.0
    return m if not jumps and abs(excess) <= CLOSE else high


@njit(cache=True)
def rents(c: Curves, lam: Floats, jobs: Ints, n: int, firm: int, own: Floats) -> float:
    """Return the rent of a server, and put it after each team's own into ``own``, shape (G + 1,).

    What ``own`` holds before is where the rents are looked for first, unless it is 0.
    """
    teams = len(own) - 1
    bounds, heads = np.zeros((4, teams)), _heads(c, lam, jobs, n)
    team_bounds(c, jobs, n, firm, bounds[0], bounds[1])
    m = _root(c, lam, jobs, heads, teams, c.servers, bounds, own[teams])
    _all_taken(c, lam, jobs, heads, m, teams, bounds)
    sums = bounds[2].copy()
    for g in range(teams):
        start = own[g] if own[g] != own[teams] else m
        own[g] = m
        if sums[g] > bounds[1, g]:
            own[g] = _root(c, lam, jobs, heads, g, bounds[1, g], bounds, start)
        elif sums[g] < bounds[0, g]:
            own[g] = _root(c, lam, jobs, heads, g, bounds[0, g], bounds, start)
    own[teams] = m
    return m
