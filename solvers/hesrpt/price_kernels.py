"""Compiled kernels for prices: the dual of a completion order, its bound, and its shares.

Let c_1 be the last job of an order to complete, and W_k the total weight of the last k jobs.
Prices lambda >= 0 of work are feasible if, for each k, no shares of the servers give c_1..c_k work
of a value above W_k per unit of time. Then sum lambda_j x_j bounds every policy with this order
from below. If prices are chosen one after another from c_1 so that each W_k is attained, the bound
is the optimum, provided that the jobs, served by these prices, complete in this order.

The rent of an epoch is searched for from the rent of the epoch before, which takes a few steps.
"""

from math import exp, inf, log1p
from typing import NamedTuple

import numpy as np

from schedopt.solvers.compiling import kernel
from schedopt.solvers.hesrpt.earning_kernels import ROUNDS, best_shares, most_earned
from schedopt.solvers.hesrpt.speedup_kernels import (
    TABLE,
    Curves,
    Floats,
    Ints,
    demand,
    price_for,
    speed,
)

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

    It is infinite if the other jobs need all servers, so that this job cannot complete first. The
    method is Newton's in logarithms where the function is nearly linear (without tables), otherwise
    Newton's without; every other step is a secant, which kinks do not slow down; else bisection.

    Parameters
    ----------
    lam : ndarray, shape (M,)
        The prices of the others; the price of the last job is changed.
    goal : float
        The value of work per unit of time.
    rest : float
        About the value of the last job's work.
    firm : int
        Floors of teams count only for teams of the first ``firm`` jobs.
    own : ndarray, shape (G + 1,)
        See `most_earned`.
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
    """Simulate shares that maximize the value of work at the prices, until all jobs complete.

    Jobs leave when they complete, in whatever order, so this is a policy and its cost an upper
    bound.

    Parameters
    ----------
    lam : ndarray, shape (M,)
        Work prices.
    starts, groups : ndarray
        Job j arrives at ``starts[groups[j]]``; ``starts`` increases from 0.
    record : ndarray, shape (E, M) or (0, 0)
        Output for the shares by epoch and job, unless it is empty.
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


def levels_of(costs: Floats, order: Ints) -> Floats:
    """Return W_k for an order from the last job to complete, shape (M,)."""
    return np.cumsum(costs[order])
