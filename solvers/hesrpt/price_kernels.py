"""Compiled kernels of prices: the demand for servers at a rent, and the value of work.

A price lambda_j is the value of a unit of job j's work. At a server rent m, job j uses the k
servers that maximize lambda_j s_j(k) - m k. The rent at which all servers are used gives the
largest total value of work, and the shares that attain it. A team that would use fewer servers than
its floor, or more than its cap, has a rent of its own at which it uses exactly that. Any rents give
an upper bound on the value (they are Lagrange multipliers), so rounding errors in them only weaken
the bound.

Let c_1 be the last job of an order to complete, and W_k the total weight of the last k jobs.
Prices lambda >= 0 of work are feasible if, for each k, no shares of the servers give c_1..c_k work
of a value above W_k per unit of time. Then sum lambda_j x_j bounds every policy with this order
from below. If prices are chosen one after another from c_1 so that each W_k is attained, the bound
is the optimum, provided that the jobs, served by these prices, complete in this order.
"""

from math import exp, inf, log, log1p, sqrt
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


def most_servers(c: Curves) -> Floats:
    """Return the most servers of each job alone, shape (M,): its own cap or that of its team."""
    teams = np.append(c.team_mosts, c.servers)[c.teams]
    return np.asarray(np.minimum(c.mosts, teams))


def capped_jobs(c: Curves) -> Curves:
    """Return the curves with the caps of teams as caps of their jobs."""
    return c._replace(mosts=np.maximum(most_servers(c), c.leasts))


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
    c: Curves, lam: Floats, jobs: Ints, n: int, m: float, team: int, bounds: Floats
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
    top, jumps = 0.0, False  # whether some demand is a discontinuous function of the rent
    for i in range(n):
        top = max(top, lam[jobs[i]])
        jumps = jumps or c.kinds[jobs[i]] == TABLE or c.pars[jobs[i]] == 1.0
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


TINY = 1e-200


@kernel(python_up_to=6000)
def most_earned(c: Curves, lam: Floats, jobs: Ints, n: int, firm: int, own: Floats) -> float:
    """Return the largest value of the work of n jobs per unit of time, and store rents in ``own``.

    ``own``, shape (G + 1,), receives the rent of each team, then that of a server. Its values are
    the starting points unless they are 0. Floors count only for the teams of the first ``firm``
    jobs.
    """
    teams = len(own) - 1
    bounds = np.zeros((4, teams))
    team_bounds(c, jobs, n, firm, bounds[0], bounds[1])
    m = _team_rent(c, lam, jobs, n, teams, c.servers, bounds, own[teams])
    if teams:
        _team_demand(c, lam, jobs, n, m, teams, bounds)
    sums, total = bounds[2].copy(), m * c.servers
    for g in range(teams):
        start = own[g] if own[g] != own[teams] else m
        own[g] = m
        if sums[g] > bounds[1, g]:
            own[g] = _team_rent(c, lam, jobs, n, g, bounds[1, g], bounds, start)
        elif sums[g] < bounds[0, g]:
            own[g] = _team_rent(c, lam, jobs, n, g, bounds[0, g], bounds, start)
        total += (own[g] - m) * (bounds[1, g] if own[g] > m else bounds[0, g])
    own[teams] = m
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


ROUNDING = 1e-15
ABOVE, BELOW = 2e-14, 1e-13
"""Relative errors that are allowed in the value of work: above and below its limit."""


def _most_servers(c: Curves, jobs: Ints, n: int, firm: int) -> float:
    """Return the most servers that the last of n jobs can have beside the minimum of the others."""
    last = jobs[n - 1]
    if not c.bounded:
        return c.servers
    own = c.teams[last]
    remaining, inside = c.servers, float(c.team_mosts[own]) if own >= 0 else c.servers
    musts = np.zeros(len(c.team_leasts))
    tops = np.zeros(len(c.team_leasts))
    firmly = np.zeros(len(c.team_leasts))
    for i in range(n - 1):
        j = jobs[i]
        g = c.teams[j]
        if g < 0:
            remaining -= c.leasts[j]
        else:
            musts[g] += c.leasts[j]
            tops[g] += c.mosts[j]
            if i < firm:
                firmly[g] = c.team_leasts[g]
    for g in range(len(musts)):
        if g == own:
            inside -= musts[g]
            remaining -= musts[g]
        else:
            remaining -= max(musts[g], min(firmly[g], tops[g], c.team_mosts[g]))
    return min(remaining, inside, float(c.mosts[last]))


def next_price(
    c: Curves, lam: Floats, jobs: Ints, n: int, goal: float, rest: float, firm: int, own: Floats
) -> float:
    """Return the price of the last of n jobs at which the value of work of all n is ``goal``.

    It is infinite if the other jobs need all servers, so that this job cannot complete first. Of
    ``lam`` the price of the last job is changed, whose work has about the value ``rest``. See
    `most_earned` for ``firm`` and ``own``. The method is Newton's in logarithms where the function
    is nearly linear (without tables), otherwise Newton's without; every other step is a secant,
    which kinks do not slow down; else bisection.
    """
    j = jobs[n - 1]
    g = c.teams[j] if c.teams[j] >= 0 else -1
    room = _most_servers(c, jobs, n, firm)
    if room <= ROUNDING * c.servers:
        return inf
    most = goal / speed(c, j, room)
    if n == 1 and not c.bounded:
        return most
    if n > 1 and own[-1] <= 0.0:
        most_earned(c, lam, jobs, n - 1, min(firm, n - 1), own)
    m = own[g]
    start = min(price_for(c, j, rest, m), most) if m > 0.0 else most  # at the others' rents
    price, over = start if start > 0.0 else most, most
    under = short = much = 0.0  # less than the goal by `short` at `under`, more by `much` at `over`
    for turn in range(ROUNDS):
        lam[j] = price
        excess = most_earned(c, lam, jobs, n, firm, own) - goal
        if -BELOW * goal <= excess <= ABOVE * goal:
            return price
        rate = speed(c, j, demand(c, j, price, own[g]))
        if excess <= 0.0:
            under, short = price, -excess
        else:
            over, much = price, excess
        step = excess / (rate * price) if rate > 0.0 else inf
        if excess > 0.0 and step <= 1e-16:
            return price * (1.0 - step)
        chord = turn % 2 and short > 0.0 and much > 0.0
        if chord:
            price = under + (over - under) * short / (short + much)
        elif c.kinds[j] != TABLE and goal + excess > 0.0 and step < inf:
            price *= exp(-log1p(excess / goal) * (goal + excess) / excess * step)
        if not chord and not under < price < over:
            price = (under if excess <= 0.0 else over) * (1.0 - step)
        if not under < price < over:
            price = 0.5 * (under + over)
            if not under < price < over:
                return under
    return under


@kernel(python_up_to=6000)
def prices_of(c: Curves, order: Ints, levels: Floats) -> Floats:
    """Return the work price of each job, shape (M,), for an order from the last job to complete.

    ``levels`` holds W_k. All prices are infinite if side constraints do not allow this order.
    """
    lam, own = np.zeros(len(c.kinds)), np.zeros(len(c.team_leasts) + 1)
    for n in range(1, len(order) + 1):
        rest = levels[n - 1] - (levels[n - 2] if n > 1 else 0.0)
        lam[order[n - 1]] = next_price(c, lam, order, n, levels[n - 1], rest, n, own)
        if lam[order[n - 1]] == inf:
            return np.full(len(lam), inf)
    return lam


class Simulation(NamedTuple):
    """Completion times, ends of epochs, and the server rent in each epoch.

    There are at most as many epochs as jobs and arrivals.
    """

    ends: Floats  # completions, infinite where work never ends, (M,)
    times: Floats  # ends of epochs, (E,)
    rents: Floats  # of a server in each epoch, 0 for none, (E,)


@kernel(python_up_to=12, size=lambda c, sizes, *_: len(sizes))
def simulate(
    c: Curves, sizes: Floats, lam: Floats, starts: Floats, groups: Ints, record: Floats
) -> Simulation:
    """Simulate shares that maximize the value of work at prices ``lam``, until all jobs complete.

    Jobs leave when they complete, in whatever order, so this is a policy and its cost an upper
    bound. Job j arrives at ``starts[groups[j]]``; ``starts`` increases from 0. The shares by epoch
    and job are stored in ``record`` unless it is empty.
    """
    total = len(sizes)
    remaining, ends = sizes.copy(), np.full(total, inf)
    times, rents = np.zeros(total + len(starts)), np.zeros(total + len(starts))
    jobs, own = np.zeros(total, dtype=np.int64), np.zeros(len(c.team_leasts) + 1)
    shares, rates = np.zeros(total), np.zeros(total)
    epoch, count, come, now = 0, 0, 0, 0.0
    while epoch < len(times):
        while come < len(starts) and starts[come] <= now:
            for j in range(total):
                if groups[j] == come:
                    jobs[count] = j
                    count += 1
            come += 1
        until = starts[come] if come < len(starts) else inf
        step = until - now
        if count:
            rents[epoch] = best_shares(c, lam, jobs, count, own, shares)
        for i in range(count):
            rates[i] = speed(c, jobs[i], shares[i] * c.servers)
            if rates[i] > 0.0:
                step = min(step, remaining[jobs[i]] / rates[i])
        if not step < inf:  # all is done, or never will be
            break
        now = until if step >= until - now else now + step
        kept = 0
        for i in range(count):
            j = jobs[i]
            if len(record):
                record[epoch, j] = shares[i]
            over = rates[i] > 0.0 and remaining[j] / rates[i] <= step * (1.0 + 1e-13)
            remaining[j] -= step * rates[i]
            if over:
                ends[j] = now
            else:
                jobs[kept] = j
                kept += 1
        times[epoch] = now
        epoch, count = epoch + 1, kept
    return Simulation(ends, times[:epoch], rents[:epoch])
