"""Compiled branch and bound over timelines: which jobs complete between which arrivals.

A timeline is followed from its end. After the last arrival prices are those of an order: each job
that completes has the price at which those who are there earn what they cost. Before an arrival
time is known, and costs what is not earned in it: there jobs may earn more than they cost, or less,
by the same in all epochs up to the arrival. What that is follows from the epoch that the arrival
ends, where all prices are known; so all prices follow one after the other, and prove what they are
worth plus that spare for all known time. They are the dual optimum wherever each epoch lasts.

The jobs that are not placed yet earn less beside more others (earnings are submodular), so that
those who are placed and were there when a job arrived give it a price it may have in every epoch.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from schedopt.solvers.compiling import njit, small
from schedopt.solvers.hesrpt.kernels import Curves, Floats, Ints, speed
from schedopt.solvers.hesrpt.price_kernels import next_price
from schedopt.solvers.hesrpt.rent_kernels import best_shares, most_earned


class Late(NamedTuple):
    """Jobs that arrive at different times.

    Attributes
    ----------
    sizes, costs : ndarray
        By job, shape (M,).
    starts : ndarray
        When jobs arrive: 0, and the other times, rising, shape (R,).
    groups : ndarray of int64
        At which of these each job arrives, shape (M,).
    after : ndarray of int64
        For each job those that complete after it, as binary numbers, shape (M,).
    """

    sizes: Floats
    costs: Floats
    starts: Floats
    groups: Ints
    after: Ints


@njit(cache=True)
def there(late: Late, done: int, group: int, out: Ints) -> int:
    """Put those of the placed jobs that have arrived with a group into ``out``; return how many."""
    count = 0
    for j in range(len(late.sizes)):
        if (done >> j) & 1 and late.groups[j] <= group:
            out[count] = j
            count += 1
    return count


@njit(cache=True)
def prices_ahead(late: Late) -> Floats:
    """Return room for what `closed` puts out; at the first time nobody need have arrived."""
    return np.zeros(len(late.sizes) + len(late.starts))


@njit(cache=True)
def closed(
    c: Curves, late: Late, lam: Floats, done: int, now: int, base: float, out: Floats
) -> float:
    """Return the bound of a node, and put what each other job's price is at least into ``out``.

    Parameters
    ----------
    c : Curves
    late : Late
    lam : ndarray
        The placed jobs' prices, 0 for others, shape (M,).
    done : int
        The placed jobs, as a binary number.
    now : int
        The time at which arrive who must be placed before the next `BACK`.
    base : float
        What the placed jobs contribute, and the known time from then on.
    out : ndarray
        Prices by job, then what those earn who arrive up to a time, shape (M + times,).
    """
    total = len(late.sizes)
    jobs = np.zeros(total, dtype=np.int64)
    own = np.zeros(len(c.team_leasts) + 1)
    bound = base
    for g in range(now + 1):
        n = there(late, done, g, jobs)
        out[total + g] = most_earned(c, lam, jobs, n, n, own) if n else 0.0
        if g < now:
            spare = -out[total + g]
            for i in range(n):
                spare += late.costs[jobs[i]]
            bound += spare * (late.starts[g + 1] - late.starts[g])
    for j in range(total):
        if (done >> j) & 1:
            continue
        g = late.groups[j]
        n = there(late, done, g, jobs)
        jobs[n] = j
        out[j] = next_price(c, lam, jobs, n + 1, out[total + g] + late.costs[j], n + 1)
        lam[j] = 0.0
        bound += out[j] * late.sizes[j]
    return bound


@njit(cache=True)
def spare_before(c: Curves, late: Late, lam: Floats, done: int, now: int) -> tuple[float, float]:
    """Return what known time before an arrival costs beyond what is earned in it, and what is."""
    jobs = np.zeros(len(late.sizes), dtype=np.int64)
    n = there(late, done, now - 1, jobs)
    own = np.zeros(len(c.team_leasts) + 1)
    earned = most_earned(c, lam, jobs, n, n, own) if n else 0.0
    spare = -earned
    for i in range(n):
        spare += late.costs[jobs[i]]
    return float(spare * (late.starts[now] - late.starts[now - 1])), float(earned)


@njit(cache=True)
def played(c: Curves, late: Late, lam: Floats, ends: Floats, times: Floats, shares: Floats) -> int:
    """Let the jobs in the system always earn the most at given prices; return how many epochs.

    Parameters
    ----------
    c : Curves
    late : Late
    lam : ndarray
        Prices of work, over 0, shape (M,).
    ends : ndarray
        Takes when each job completes, shape (M,); infinite where work never ends.
    times : ndarray
        Takes when each epoch ends, shape (E,), E = M + R at the least; or shape (0,).
    shares : ndarray
        Takes each epoch's shares by job, shape (E, M); or shape (0, M).
    """
    total = len(late.sizes)
    left, out, rates = late.sizes.copy(), np.zeros(total), np.zeros(total)
    jobs, count, come = np.zeros(total, dtype=np.int64), 0, 0
    now, epoch, done = 0.0, 0, 0
    for j in range(total):
        ends[j] = inf
    while done < total:
        while come < len(late.starts) and late.starts[come] <= now:
            for j in range(total):
                if late.groups[j] == come:
                    jobs[count] = j
                    count += 1
            come += 1
        until = late.starts[come] if come < len(late.starts) else inf
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
def cost_of_played(c: Curves, late: Late, lam: Floats) -> float:
    """Return what playing prices costs."""
    ends = np.zeros(len(lam))
    played(c, late, lam, ends, np.zeros(0), np.zeros((0, len(lam))))
    total = 0.0
    for j in range(len(lam)):
        total += late.costs[j] * (ends[j] - late.starts[late.groups[j]])
    return total
