"""The choices of rents at which diagrams know what jobs gain: teams have rents of their own."""

from __future__ import annotations

from itertools import product
from math import inf, log

import numpy as np

from schedopt.solvers.hesrpt.kernels import Curves, Floats, Ints, slope, speed

NEAR, FAR = (1.5, 1.5), (4.5, 4.0)
"""Up to where logarithms of a team's rent over that of the others are near each other, or farther
apart, and how far, in steps of the rents."""
COARSE = 0.3
"""The step of the rents, in logarithms, of two teams beside servers that nobody can use."""
LEAST_ELASTICITY = 1e-3
TAILS = (1e-9, 1e-4, 1e-2), (3.0, 10.0, 100.0)
"""Rents beside those that matter mostly: where servers are left over, or are short."""


def rents_of(c: Curves, costs: Floats, step: float) -> Floats:
    """Return rents from below that of any one job on all servers to above that of all jobs.

    Parameters
    ----------
    c : Curves
    costs : ndarray
        By job, shape (M,).
    step : float
        Between their logarithms.
    """
    least = inf
    for j, cost in enumerate(costs.tolist()):
        most = float(c.mosts[j])
        elasticity = most * slope(c, j, most * (1 - 1e-12)) / speed(c, j, most)
        least = min(least, cost * max(elasticity, LEAST_ELASTICITY) / c.servers)
    narrow = max(min([c.servers, *c.team_mosts.tolist()]), 0.02 * c.servers)
    most = 1.02 * float(costs.sum()) / narrow
    rents = np.geomspace(least, most, int(log(most / least) / step) + 2)
    if c.bounded or not (c.pars > 0).all():
        few, many = (np.array(tail) for tail in TAILS)
        rents = np.concatenate([least * few, rents, most * many])
    return np.asarray(rents)


def points_of(c: Curves, rents: Floats, step: float) -> Ints:
    """Return points as indices of rents, of jobs without a team and of each team, (Q, G + 1).

    They come in blocks of R, each with the rents of all jobs without a team; in the first block all
    teams have the same.

    Parameters
    ----------
    c : Curves
    rents : ndarray
        Rising, shape (R,).
    step : float
        Between most of their logarithms.
    """
    count, teams = len(rents), len(c.team_mosts)
    index = np.arange(count)
    found = [np.repeat(index[:, None], teams + 1, axis=1)]
    if not teams:
        return found[0]
    logs = np.log(rents)
    for shifts in _shifts(c, step):
        near = [np.searchsorted(logs, logs + shift - 0.5 * step) for shift in shifts]
        rows = [index, *(np.minimum(at, count - 1) for at in near)]
        found.append(np.stack(rows, axis=1))
    capped = np.flatnonzero(c.team_mosts < c.servers)
    if len(capped):  # servers are left over that cost others nothing
        found.append(np.zeros((count, teams + 1), dtype=np.int64))
        found[-1][:, capped + 1] = index[:, None]
    if len(capped) == 2:
        some = index[:: max(1, round(COARSE / step))]
        pairs = np.array(list(product(some, repeat=2)), dtype=np.int64)
        spare = -len(pairs) % count
        padded = np.zeros((len(pairs) + spare, teams + 1), dtype=np.int64)
        padded[: len(pairs), capped + 1] = pairs
        found.append(padded)
    return np.concatenate(found).astype(np.int64)


def _shifts(c: Curves, step: float) -> list[tuple[float, ...]]:
    """Return logarithms of the teams' rents over that of the others, one team's at a time.

    They are over 0 where the team may have no more, below where it must have more.
    """
    near = np.arange(step * NEAR[1], NEAR[0], step * NEAR[1])
    sizes = [*near.tolist(), *np.arange(NEAR[0], FAR[0] + step, step * FAR[1]).tolist()]
    teams = len(c.team_mosts)
    every = []
    for g in range(teams):
        some = sizes if c.team_mosts[g] < c.servers else []
        some = [*some, *(-size for size in sizes)] if c.team_leasts[g] > 0 else some
        every += [tuple(size if i == g else 0.0 for i in range(teams)) for size in some]
    return every
