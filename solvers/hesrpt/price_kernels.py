"""Prices: the dual of a completion order, the bound it proves, and the shares; compiled.

For an order let c_1 be the last job to complete, and W_k the cost rate of the k last. Prices
lambda >= 0 of work are feasible if, for each k, no shares of the servers let c_1..c_k earn more
than W_k in a unit of time. Then sum lambda_j x_j bounds every policy of that order from below.
Chosen one after the other from c_1 so that each W_k is met, the bound is the optimum wherever jobs
that are served as the prices say complete in that order.

For few jobs each rent is found to the last digit, from nothing. For many (`price_some` and
`play_some`) it is sought near the last one, to as many digits as a good order needs, a few epochs
at a time; what is played is exact all the same: shares are mixed of what jobs take at a rent just
under and at one just over that at which they take all servers.
"""

from math import exp, inf, log, log1p
from typing import NamedTuple

import numpy as np

from schedopt.solvers.compiling import compiled, njit, small
from schedopt.solvers.hesrpt.kernels import (
    POWER,
    Curves,
    Floats,
    Ints,
    slope,
    speed,
    taken,
    wished,
)
from schedopt.solvers.hesrpt.rent_kernels import (
    NEWTON,
    ROUNDS,
    best_shares,
    most_earned,
    rents,
    smooth,
)

EXACT = 2e-14
"""Relative error allowed in earnings."""
ROUNDING = 1e-15
CLOSE = 1e-13
"""Relative tolerance by which earnings may stay below their limit."""


@njit(cache=True)
def smooth_price(
    c: Curves, lam: Floats, jobs: Ints, n: int, goal: float, low: float
) -> tuple[float, float]:
    """Return a close approximation of `next_price`, and the rent there; -1 where the method fails.

    Requires `smooth`, and n of 2 or more. At a rent m the others leave the last job k = N - (what
    they take), and it takes just that if its price is m/s'(k). Total earnings then rise with m:
    Newton's method in logarithms, kept between bounds, finds where they are `goal`. `low` is the
    rent of the first n - 1 alone.
    """
    last = jobs[n - 1]
    par, power = c.pars[last], c.kinds[last] == POWER
    least, most = log(low), inf
    u = least + 0.1
    for _ in range(NEWTON):
        m = exp(u)
        k, rate, total, growth = c.servers, 0.0, 0.0, 0.0
        for i in range(n - 1):
            j = jobs[i]
            other = wished(c, j, lam[j], m)
            k -= other
            total += lam[j] * speed(c, j, other)
            if c.kinds[j] == POWER:
                fall = other / (1.0 - c.pars[j])
            else:
                fall = 0.5 * (other + c.pars[j] / (1.0 - c.pars[j])) if other > 0.0 else 0.0
            rate += fall
            growth -= m * fall
        if k <= 1e-12 * c.servers:
            least = u
            u = 0.5 * (u + most) if most < inf else u + 1.0
            continue
        if power:
            price, steepness = m / (par * k ** (par - 1.0)), 1.0 / k
        else:
            below = (1.0 - par) * k + par
            price, steepness = m * below * below / par, (below + (1.0 - par) * k) / (k * below)
        own = price * speed(c, last, k)
        total += own
        growth += own * (1.0 + rate * steepness)
        excess = log(total / goal)
        if abs(excess) <= EXACT:
            return price, m
        if excess < 0.0:
            least = u
        else:
            most = u
        step = u - excess * total / growth if growth > 0.0 else least
        if not least < step < most:
            step = 0.5 * (least + most) if most < inf else u + 1.0
        if abs(step - u) <= 1e-15 * max(abs(u), 1.0):
            break
        u = step
    return -1.0, low


@njit(cache=True)
def _room(c: Curves, jobs: Ints, n: int, firm: int) -> float:
    """Return the most servers that the last of n jobs can have beside what others must have."""
    last = jobs[n - 1]
    if not c.bounded:
        return c.servers
    own = c.teams[last]
    left, inside = c.servers, float(c.team_mosts[own]) if own >= 0 else c.servers
    musts = np.zeros(len(c.team_leasts))
    tops = np.zeros(len(c.team_leasts))
    firmly = np.zeros(len(c.team_leasts))
    for i in range(n - 1):
        j = jobs[i]
        g = c.teams[j]
        if g < 0:
            left -= c.leasts[j]
        else:
            musts[g] += c.leasts[j]
            tops[g] += c.mosts[j]
            if i < firm:
                firmly[g] = c.team_leasts[g]
    for g in range(len(musts)):
        if g == own:
            inside -= musts[g]
            left -= musts[g]
        else:
            left -= max(musts[g], min(firmly[g], tops[g], c.team_mosts[g]))
    return min(left, inside, float(c.mosts[last]))


@njit(cache=True)
def next_price(c: Curves, lam: Floats, jobs: Ints, n: int, goal: float, firm: int) -> float:
    """Return the price of the last of n jobs at which all n can earn ``goal`` per unit of time.

    It is infinite where the others must have all servers: then it cannot complete first. The
    others' prices are given in ``lam``, where the last job's is changed. Floors of teams count only
    for teams of the first ``firm`` jobs.
    """
    j = jobs[n - 1]
    room = _room(c, jobs, n, firm)
    if room <= ROUNDING * c.servers:
        return inf
    price = goal / speed(c, j, room)
    if n == 1 and not c.bounded:
        return price
    if n > 1 and smooth(c):
        low = rents(c, lam, jobs, n - 1, n - 1, np.zeros(len(c.team_leasts) + 1))
        near = smooth_price(c, lam, jobs, n, goal, low)[0] if low > 0.0 else -1.0
        if near > 0.0:
            return near
    return _falling_price(c, lam, jobs, n, goal, firm, price)


@njit(cache=True)
def _falling_price(
    c: Curves, lam: Floats, jobs: Ints, n: int, goal: float, firm: int, price: float
) -> float:
    """Return `next_price` by descending from a price at which more than ``goal`` is earned.

    What can be earned is convex in the price, so Newton's method from above never passes the root.
    In logarithms it is far faster, and mostly convex too; as soon as it passes the root, logarithms
    are given up.
    """
    j, own = jobs[n - 1], np.zeros(len(c.team_leasts) + 1)
    under, over, newton, logs = 0.0, price, 0.0, True
    short = much = 0.0  # less than the goal at under, more at over
    for turn in range(ROUNDS):
        lam[j] = price
        excess = most_earned(c, lam, jobs, n, firm, own) - goal
        if -CLOSE * goal <= excess <= 1e-15 * goal:
            return price
        if excess <= 0.0:
            under, short, logs = price, -excess, False
            price = newton
        else:
            g = c.teams[j]
            rate = speed(c, j, taken(c, j, price, own[g] if g >= 0 and c.bounded else own[-1]))
            over, much = price, excess
            newton = price - excess / rate if rate > 0.0 else 0.0
            if excess <= 1e-16 * rate * price:
                return newton
            price = newton
            if logs and rate > 0.0:
                price = over * exp(-log1p(excess / goal) * (goal + excess) / (rate * over))
        if not under < price < over:  # a kink, or shares too small for a float: halve, or the chord
            price, logs = 0.5 * (under + over), False
            if short > 0.0 and turn % 2:
                price = under + (over - under) * short / (short + much)
            if not under < price < over:
                return under
    return under


@njit(cache=True, plain=small(6000))
def prices_of(c: Curves, order: Ints, levels: Floats) -> Floats:
    """Return the price of each job, shape (M,), for an order from the last to complete.

    `levels` holds W_k, the cost rate of the k last jobs.
    """
    lam = np.zeros(len(c.kinds))
    for n in range(1, len(order) + 1):
        lam[order[n - 1]] = next_price(c, lam, order, n, levels[n - 1], n)
        if lam[order[n - 1]] == inf:  # side constraints do not let jobs complete in this order
            for j in range(len(lam)):
                lam[j] = inf
            break
    return lam


@njit(cache=True)
def cost_of(costs: Floats, ends: Floats) -> float:
    """Return the sum of costs times completions."""
    total = 0.0
    for j in range(len(costs)):
        total += costs[j] * ends[j]
    return total


@njit(cache=True)
def replay(
    c: Curves,
    sizes: Floats,
    lam: Floats,
    starts: Floats,
    groups: Ints,
    ends: Floats,
    times: Floats,
    shares: Floats,
) -> int:
    """Serve jobs so that they always earn the most at given prices; return the number of epochs.

    Each job leaves when it is done, in whatever order: so this is a policy that can be carried out,
    and its cost an upper bound on the optimum. Job j arrives at ``starts[groups[j]]``. `ends` takes
    completions, infinite where work never ends. `times` and `shares` take the end of each epoch and
    its shares by job, or nothing if they have length 0; there is at most one epoch for each job and
    each start.
    """
    total = len(sizes)
    left, out, rates = sizes.copy(), np.zeros(total), np.zeros(total)
    jobs, count, come = np.zeros(total, dtype=np.int64), 0, 0
    now, epoch, done = 0.0, 0, 0
    for j in range(total):
        ends[j] = inf
    while done < total:
        while come < len(starts) and starts[come] <= now:
            for j in range(total):
                if groups[j] == come:
                    jobs[count] = j
                    count += 1
            come += 1
        until = starts[come] if come < len(starts) else inf
        step = until - now
        if count:
            best_shares(c, lam, jobs, count, out)
        for i in range(count):
            rates[i] = speed(c, jobs[i], out[i] * c.servers)
            if rates[i] > 0.0:
                step = min(step, left[jobs[i]] / rates[i])
        if not step < inf:
            return epoch
        now = until if step >= until - now else now + step
        kept = 0
        for i in range(count):
            j = jobs[i]
            if len(shares):
                shares[epoch, j] = out[i]
            over = rates[i] > 0.0 and left[j] / rates[i] <= step * (1.0 + 1e-13)
            left[j] -= step * rates[i]
            if over:
                ends[j] = now
                done += 1
            else:
                jobs[kept] = j
                kept += 1
        count = kept
        if len(times):
            times[epoch] = now
        epoch += 1
    return epoch


@njit(cache=True, plain=small(6000))
def played(c: Curves, sizes: Floats, lam: Floats, record: Floats) -> Floats:
    """Return completions of jobs present from the start, served at given prices: see `replay`.

    `record` takes each epoch's shares by job, shape (M, M), or nothing if its shape is (0, 0).
    """
    ends = np.full(len(sizes), inf)
    if lam[0] != inf:
        groups = np.zeros(len(sizes), dtype=np.int64)
        replay(c, sizes, lam, np.zeros(1), groups, ends, np.zeros(0), record)
    return ends


def levels_of(costs: Floats, order: Ints) -> Floats:
    """Return W_k for an order from the last to complete, shape (M,)."""
    return np.cumsum(costs[order])


STEPS = 60
NEARLY = 1e-9
"""Relative accuracy of roots."""
NARROW = 1e-11
"""Relative distance of the two rents between which shares are interpolated."""
FAR = 40.0
"""Search range of log rents around the hint: rents below it count as 0."""


@compiled
def _all_taken(c: Curves, lam: Floats, jobs: Ints, n: int, m: float) -> float:
    total = 0.0
    for i in range(n):
        total += taken(c, jobs[i], lam[jobs[i]], m)
    return total


@compiled
def near_rent(c: Curves, lam: Floats, jobs: Ints, n: int, hint: float) -> float:
    """Return about the rent at which n jobs take all servers, without teams; 0 if they never do.

    `hint` is where the search starts.
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
        if high - low < 0.1 * NEARLY:
            break
        u = low + above * (high - low) / (above - below)
        if turn % 3 == 2 or not low + 0.01 * (high - low) < u < high - 0.01 * (high - low):
            u = 0.5 * (low + high)
    return exp(u)


@compiled
def _alone(c: Curves, j: int, cost: float, m: float, start: float) -> float:
    """Return about the break-even price of a job at a rent."""
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
    """Put approximate `prices_of` into ``lam`` for some places of an order, without teams.

    `hint` is the rent after the places before; that after these is returned.
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
            if abs(total) <= NEARLY * goal:
                break
            if total < 0.0:
                low = lam[j]
            else:
                high = lam[j]
            if high <= low * (1.0 + NEARLY) or high < 1e-9 * alone or low > 1e9 * alone:
                break
            step = lam[j] - total / rate if rate > 0.0 else 2.0 * lam[j]
            if not low < step < high:
                step = 0.5 * (low + high) if high < inf else 2.0 * lam[j]
            lam[j] = min(max(step, 1e-9 * alone), 1e9 * alone)
    return hint


@compiled
def _mixed(c: Curves, lam: Floats, jobs: Ints, n: int, m: float, out: Floats) -> None:
    """Put the servers of n jobs at about a rent into ``out``; they take all servers if they can."""
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


class Play(NamedTuple):
    """The state of a play of prices."""

    left: Floats  # work of each job, (M,)
    jobs: Ints  # those present come first, (M,)
    ends: Floats  # completions, (M,)
    times: Floats  # ends of epochs, (M,)
    rents: Floats  # of a server in each epoch, 0 for none, (M,)
    record: Floats  # shares by epoch and job, (M, M), or nothing if its shape is (0, 0)
    at: Ints  # epochs so far, jobs present
    shares: Floats  # work space, (M,)
    rates: Floats  # work space, (M,)

    def path(self) -> tuple[Floats, Floats]:
        """Return the times from 0 at which epochs end, and their rents."""
        epochs = int(self.at[0])
        return np.append(0.0, self.times[:epochs]), self.rents[:epochs].copy()


def begun(sizes: Floats, record: Floats) -> Play:
    """Return a play at its beginning."""
    count = len(sizes)
    rows = [np.zeros(count) for _ in range(4)]
    times, rents, shares, rates = rows
    at, ends = np.array([0, count]), np.full(count, inf)
    return Play(sizes.copy(), np.arange(count), ends, times, rents, record, at, shares, rates)


@compiled
def play_some(c: Curves, lam: Floats, play: Play, epochs: int) -> bool:
    """Go on with a play of prices for some epochs, without teams; tell whether it has more.

    The jobs present always earn the most at their prices, which are positive.
    """
    left, jobs, times, rents, record, at = (
        play.left,
        play.jobs,
        play.times,
        play.rents,
        play.record,
        play.at,
    )
    shares, rates = play.shares, play.rates
    for _ in range(epochs):
        epoch, count = at[0], at[1]
        if count == 0:
            break
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
            break
        now = (times[epoch - 1] if epoch > 0 else 0.0) + step
        kept = 0
        for i in range(count):
            j = jobs[i]
            if len(record) > 0:
                record[epoch, j] = shares[i] / c.servers
            if rates[i] > 0.0 and left[j] / rates[i] <= step * (1.0 + 1e-13):
                play.ends[j] = now
            else:
                left[j] -= step * rates[i]
                jobs[kept] = j
                kept += 1
        times[epoch], rents[epoch] = now, m
        at[0], at[1] = epoch + 1, kept
    return bool(at[1] > 0)
