"""Prices: the dual of a completion order, the bound it proves, and the shares it asks for.

For an order let c_1 be the last job to complete, and W_k the cost rate of the k last. Prices
lambda >= 0 of work are feasible if, for each k, no shares of the servers let c_1..c_k earn more
than W_k in a unit of time. Then sum lambda_j x_j bounds every policy of that order from below.
Chosen one after the other from c_1 so that each W_k is met, the bound is the optimum wherever jobs
that are served as the prices say complete in that order.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from schedopt.formulations.hesrpt.rules import Bounds, Rules, bounds_of
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Speedup, Whole, points
from schedopt.solvers.hesrpt.kernels import AMDAHL, POWER, TABLE, Curves, Floats, Ints
from schedopt.solvers.hesrpt.price_kernels import played, prices_of


def curves(instance: Instance, bounds: Bounds | None = None) -> Curves:
    """Return the speedups of an instance, and bounds on what jobs have, as flat arrays."""
    if bounds is None:
        bounds = bounds_of(Rules(instance), len(instance.jobs))
    parts = [_part(speedup, instance.servers) for speedup in instance.speedups]
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


def _part(speedup: Speedup | Whole, servers: int) -> tuple[int, float, Floats, Floats]:
    """Return a speedup's kind, its parameter, and the points of one that is linear between."""
    nothing = np.zeros(0)
    if isinstance(speedup, Power):
        return POWER, speedup.p, nothing, nothing
    if isinstance(speedup, Amdahl):
        return AMDAHL, speedup.parallel, nothing, nothing
    return TABLE, 0.0, *points(speedup, servers)


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
