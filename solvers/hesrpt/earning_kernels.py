"""Compiled kernels for the rent at which all servers are used, and the value of work at it.

A price lambda_j is the value of a unit of job j's work. At a server rent m, job j uses the k
servers that maximize lambda_j s_j(k) - m k. The rent at which all servers are used gives the
largest total value of work, and the shares that attain it.

A team that would use fewer servers than its floor, or more than its cap, has a rent of its own at
which it uses exactly that. Any rents give an upper bound on the value (they are Lagrange
multipliers), so rounding errors in them only weaken the bound.
"""

from math import exp, inf, log, sqrt

import numpy as np

from schedopt.solvers.compiling import kernel
from schedopt.solvers.hesrpt.speedup_kernels import (
    AMDAHL,
    POWER,
    TABLE,
    Curves,
    Floats,
    Ints,
    demand,
    speed,
    unbounded_demand,
)

ROUNDS = 200
NEWTON = 60
"""Most steps of Newton's method."""
CLOSE = 1e-14
"""Error that is allowed in the logarithm of the number of servers used."""
FIRST_STEP, LAST_STEP = 1.0 + 1e-12, 4.0
"""Factors by which a bracket around a starting rent grows: at first, and at most."""
MOST_STEP = 20.0
"""Longest step in the logarithm of a rent."""


def team_bounds(c: Curves, jobs: Ints, n: int, firm: int, low: Floats, high: Floats) -> None:
    """Store the least and most servers of each team in ``low`` and ``high``.

    Both are 0 for teams without a job here. A floor applies to teams of the first ``firm`` jobs,
    and is lowered to what these jobs may have together.
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


def _team_demand(
    c: Curves,
    lam: Floats,
    jobs: Ints,
    n: int,
    m: float,
    team: int,
    bounds: Floats,
) -> tuple[float, float]:
    """Return the servers that a team uses at a rent, and the derivative by the rent's logarithm.

    If ``team`` is the number of teams, the total of all jobs, with each team within its limits.
    """
    teams = bounds.shape[1]
    for g in range(teams):
        bounds[2, g] = bounds[3, g] = 0.0
    total = fall = 0.0
    for i in range(n):
        j = jobs[i]
        g = c.teams[j]
        if team < teams and g != team:
            continue
        least, most, par = float(c.leasts[j]), float(c.mosts[j]), float(c.pars[j])
        faster = 0.0
        k = unbounded_demand(c, j, lam[j], m)
        if par < 1.0 and c.kinds[j] == POWER:
            faster = 1.0 / (1.0 - par)
        elif par < 1.0 and c.kinds[j] == AMDAHL and k > 0.0:
            faster = 0.5 * (1.0 + par / ((1.0 - par) * k))
        if not least < k < most:
            k, faster = min(max(k, least), most), 0.0
        if g < 0 or team < teams:
            total += k
            fall += k * faster
        else:
            bounds[2, g] += k
            bounds[3, g] += k * faster
    for g in range(teams if team == teams else 0):
        total += min(max(bounds[2, g], bounds[0, g]), bounds[1, g])
        if bounds[0, g] < bounds[2, g] < bounds[1, g]:
            fall += bounds[3, g]
    return total, fall


def _has_jumps(c: Curves, jobs: Ints, n: int) -> bool:
    """Return True if the demand of some job is a discontinuous function of the rent."""
    jumps = False
    for i in range(n):
        jumps = jumps or c.kinds[jobs[i]] == TABLE or c.pars[jobs[i]] == 1.0
    return jumps


def _team_rent(
    c: Curves,
    lam: Floats,
    jobs: Ints,
    n: int,
    team: int,
    target: float,
    bounds: Floats,
    start: float,
) -> float:
    """Return the rent at which a team, or all jobs, use ``target`` servers; 0 if they never do.

    Newton's method in logarithms from ``start``, if that is positive, with a bracket; the secant
    where the demand jumps or is constant.
    """
    top, jumps = 0.0, _has_jumps(c, jobs, n)
    for i in range(n):
        top = max(top, lam[jobs[i]])
    spare = c.bounded or jumps
    if top == 0.0 or (spare and _team_demand(c, lam, jobs, n, 0.0, team, bounds)[0] <= target):
        return 0.0
    wide = FIRST_STEP
    if not start > 0.0:
        wide = LAST_STEP
        for i in range(n):
            j = jobs[i]
            start = max(start, lam[j] * speed(c, j, c.servers) / c.servers)
    m, low, high, least = start, 0.0, inf, start * 1e-25
    above = below = 0.0  # the excess at low and high
    for turn in range(2 * ROUNDS):
        total, fall = _team_demand(c, lam, jobs, n, m, team, bounds)
        excess = log(total / target) if total > 0.0 and target > 0.0 else total - target
        if abs(excess) <= CLOSE:
            return m
        if total > target:
            low, above = m, excess
        else:
            high, below = m, excess
        if high <= low * (1.0 + 4e-16) or m > 1e300:
            break
        guess = m
        if fall > 0.0 and turn < NEWTON and not jumps:
            guess = m * exp(min(max(excess * total / fall, -MOST_STEP), MOST_STEP))
            if abs(guess - m) <= 4e-16 * m:
                return m
        elif low > 0.0 and high < inf and turn % 3 != 2:
            guess = low * exp(log(high / low) * above / (above - below))
        if not low < guess < high:
            guess = m * wide if high == inf else m / wide if low == 0.0 else sqrt(low) * sqrt(high)
            wide = min(1.0 + 1e3 * (wide - 1.0), LAST_STEP)
            if low > 0.0 and not low < guess < high:
                guess = low + 0.5 * (high - low)
                if not low < guess < high:
                    break
        m = guess
        if m < least:
            return 0.0
    return high


def server_prices(c: Curves, lam: Floats, jobs: Ints, n: int, firm: int, own: Floats) -> float:
    """Return the rent of a server; store the rents of teams, then that rent, in ``own``, (G + 1,).

    Values in ``own`` other than 0 are the starting points.
    """
    teams = len(own) - 1
    bounds = np.zeros((4, teams))
    team_bounds(c, jobs, n, firm, bounds[0], bounds[1])
    m = _team_rent(c, lam, jobs, n, teams, c.servers, bounds, own[teams])
    if teams:
        _team_demand(c, lam, jobs, n, m, teams, bounds)
    sums = bounds[2].copy()
    for g in range(teams):
        start = own[g] if own[g] != own[teams] else m
        own[g] = m
        if sums[g] > bounds[1, g]:
            own[g] = _team_rent(c, lam, jobs, n, g, bounds[1, g], bounds, start)
        elif sums[g] < bounds[0, g]:
            own[g] = _team_rent(c, lam, jobs, n, g, bounds[0, g], bounds, start)
    own[teams] = m
    return m


TINY = 1e-200


@kernel(python_up_to=6000)
def most_earned(c: Curves, lam: Floats, jobs: Ints, n: int, firm: int, own: Floats) -> float:
    """Return the largest value of the work of n jobs per unit of time, and store rents in ``own``.

    ``own``, shape (G + 1,), receives the rent of each team, then that of a server. Its values are
    the starting points unless they are 0. Floors count only for the teams of the first ``firm``
    jobs.
    """
    teams = len(own) - 1
    m = server_prices(c, lam, jobs, n, firm, own)
    total = m * c.servers
    if teams:
        bounds = np.zeros((2, teams))
        team_bounds(c, jobs, n, firm, bounds[0], bounds[1])
        for g in range(teams):
            total += (own[g] - m) * (bounds[1, g] if own[g] > m else bounds[0, g])
    for i in range(n):
        j = jobs[i]
        r = own[c.teams[j]] if c.teams[j] >= 0 else m
        k = demand(c, j, lam[j], r)
        total += lam[j] * speed(c, j, k) - r * k
    return total


BESIDE, SAME = 1e-13, 2e-13
"""Relative steps to just beside a rent, and difference below which two rents count as equal."""


@kernel(python_up_to=6000)
def best_shares(c: Curves, lam: Floats, jobs: Ints, n: int, own: Floats, out: Floats) -> float:
    """Store in ``out`` the shares that maximize the value of work; return the server rent.

    They sum to at most 1. ``own`` is as for `most_earned`. Jobs that are indifferent at a rent use
    the same fraction of the servers between which they are indifferent. Jobs without a team count
    as one more team.
    """
    teams = len(c.team_leasts)
    low, high = np.zeros(teams + 1), np.zeros(teams + 1)
    most_earned(c, lam, jobs, n, n, own)
    m = own[teams]
    team_bounds(c, jobs, n, n, low[:teams], high[:teams])
    high[teams] = c.servers
    few, many, most_each = np.zeros(teams + 1), np.zeros(teams + 1), np.zeros(n)
    for i in range(n):
        j = jobs[i]
        g = c.teams[j] if c.teams[j] >= 0 else teams
        out[i] = _demand_beside(c, j, lam[j], own[g], 1.0)
        most_each[i] = _demand_beside(c, j, lam[j], own[g], -1.0)
        few[g] += out[i]
        many[g] += most_each[i]
    remaining, more = c.servers, 0.0
    for g in range(teams + 1):
        least, most = min(max(few[g], low[g]), high[g]), min(max(many[g], low[g]), high[g])
        low[g] = high[g] if own[g] > m * (1.0 + SAME) else least
        high[g] = least if own[g] < m * (1.0 - SAME) else most
        remaining -= low[g]
        more += high[g] - low[g]
    spread = min(max(remaining / more, 0.0), 1.0) if more > 0.0 else 0.0
    total = 0.0
    for i in range(n):
        j = jobs[i]
        g = c.teams[j] if c.teams[j] >= 0 else teams
        goal = low[g] + spread * (high[g] - low[g])
        part = (goal - few[g]) / (many[g] - few[g]) if many[g] > few[g] else 0.0
        out[i] += min(max(part, 0.0), 1.0) * (most_each[i] - out[i])
        total += out[i]
    # What rounding leaves over is shared out; what jobs cannot use, or may not, is not.
    whole = total if total > c.servers * (1.0 - 1e-9) and not c.bounded else c.servers
    whole = max(whole, total)
    for i in range(n):
        out[i] /= whole
    return float(m)


def _demand_beside(c: Curves, j: int, lam: float, m: float, side: float) -> float:
    """Return a job's demand just above (side 1) or below (-1) a rent; at 0 its most servers."""
    if m == 0.0 and side > 0.0:
        return demand(c, j, lam, lam * TINY)
    return demand(c, j, lam, m * (1.0 + side * BESIDE))
