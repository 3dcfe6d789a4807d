"""Prices: the dual of a completion order, the bound it proves, and the shares it asks for.

For an order let c_1 be the last job to complete, and W_k the cost rate of the k last. Prices
lambda >= 0 of work are feasible if, for each k, no shares of the servers let c_1..c_k earn more
than W_k in a unit of time. Then sum lambda_j x_j bounds every policy of that order from below.
Chosen one after the other from c_1 so that each W_k is met, the bound is the optimum wherever jobs
that are served as the prices say complete in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numba import njit

from instances.constraints import Constraint, Shares
from instances.hesrpt import Amdahl, Instance, Job, Power, Speedup, Whole, points
from solvers.orders.kernels import (
    AMDAHL,
    POWER,
    TABLE,
    Curves,
    Floats,
    Ints,
    best_shares,
    next_price,
    speed,
)


def curves(instance: Instance, constraints: Sequence[Constraint] = ()) -> Curves:
    """Return the speedups of an instance as flat arrays.

    Parameters
    ----------
    instance : Instance
    constraints : sequence of Constraint
        Of these, a job's own ``at_most`` bounds its servers; the others are left out, which can
        only lower the bounds that prices prove.
    """
    parts = [_part(speedup, instance.servers) for speedup in instance.speedups]
    lengths = [len(k) for _, _, k, _ in parts]
    lasts = np.cumsum(lengths)
    of = instance.kinds
    mosts = np.full(len(instance.jobs), float(instance.servers))
    for constraint in constraints:
        if isinstance(constraint, Shares) and constraint.at_most is not None:
            for name in constraint.jobs:
                j = instance.index[name]
                mosts[j] = min(mosts[j], constraint.at_most * instance.servers)
    return Curves(
        kinds=np.array([kind for kind, _, _, _ in parts], dtype=np.int64)[of],
        pars=np.array([par for _, par, _, _ in parts], dtype=np.float64)[of],
        firsts=(lasts - lengths)[of].astype(np.int64),
        lasts=lasts[of].astype(np.int64),
        xs=np.concatenate([*(k for _, _, k, _ in parts), np.zeros(1)]),
        ys=np.concatenate([*(s for _, _, _, s in parts), np.zeros(1)]),
        mosts=mosts,
        servers=float(instance.servers),
    )


def _part(speedup: Speedup | Whole, servers: int) -> tuple[int, float, Floats, Floats]:
    """Return a speedup's kind, its parameter, and the points of one that is linear between."""
    nothing = np.zeros(0)
    if isinstance(speedup, Power):
        return POWER, speedup.p, nothing, nothing
    if isinstance(speedup, Amdahl):
        return AMDAHL, speedup.parallel, nothing, nothing
    return TABLE, 0.0, *points(speedup, servers)


@njit(cache=True)
def prices_of(c: Curves, order: Ints, levels: Floats) -> Floats:  # pragma: no cover  (compiled)
    """Return the price of each job, shape (M,), for an order from the last to complete.

    Parameters
    ----------
    c : Curves
    order : ndarray of int64
        Positions of jobs, the last to complete first, shape (n,).
    levels : ndarray
        W_k, the cost rate of the k last, shape (n,).
    """
    lam = np.zeros(len(c.kinds))
    for n in range(1, len(order) + 1):
        j = order[n - 1]
        lam[j] = next_price(c, lam, order, n, levels[n - 1])
    return lam


@njit(cache=True)
def played(
    c: Curves, sizes: Floats, lam: Floats, record: Floats
) -> Floats:  # pragma: no cover  (compiled)
    """Let the jobs in the system always earn the most at given prices; return when each completes.

    Each job leaves when it is done, in whatever order: so this is what a policy really gets, and
    its cost an upper bound on the optimum. Completions are infinite where work never ends.

    Parameters
    ----------
    c : Curves
    sizes, lam : ndarray
        By job, shape (M,).
    record : ndarray
        Shape (M, M): takes each epoch's shares by job; shape (0, 0): nothing is recorded. Epochs
        end at the completions, in their order.
    """
    total = len(sizes)
    jobs = np.arange(total)
    count = total
    left = sizes.copy()
    shares = np.zeros(total)
    rates = np.zeros(total)
    ends = np.full(total, np.inf)
    now = 0.0
    epoch = 0
    while count > 0:
        best_shares(c, lam, jobs, count, shares)
        step = np.inf
        for i in range(count):
            rates[i] = speed(c, jobs[i], shares[i] * c.servers)
            if rates[i] > 0.0:
                step = min(step, left[jobs[i]] / rates[i])
        if not step < np.inf:
            return ends
        now += step
        kept = 0
        for i in range(count):
            j = jobs[i]
            if len(record) > 0:
                record[epoch, j] = shares[i]
            done = rates[i] > 0.0 and left[j] / rates[i] <= step * (1.0 + 1e-13)
            left[j] -= step * rates[i]
            if done:
                ends[j] = now
            else:
                jobs[kept] = j
                kept += 1
        count = kept
        epoch += 1
    return ends


def levels_of(costs: Floats, order: Ints) -> Floats:
    """Return W_k for an order from the last to complete, shape (M,)."""
    return np.cumsum(costs[order])


@cache
def compiled() -> None:
    """Compile the kernels once, so that compiling is not counted as solving."""
    one = Instance(
        name="one",
        servers=2,
        speedup=Power(p=0.5),
        jobs=(Job(name="a", size=1.0), Job(name="b", size=2.0)),
    )
    c, order = curves(one), np.array([1, 0])
    lam = prices_of(c, order, levels_of(one.costs, order))
    played(c, one.sizes, lam, np.zeros((0, 0)))
