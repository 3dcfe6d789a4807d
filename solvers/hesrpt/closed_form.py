"""One speedup k^p for all jobs: the optimum of a completion order in closed form.

With u_k = (s(N) lambda_k)^c, c = 1/(1 - p), jobs earn the most W at shares in proportion to u, and
prices of an order are feasible if u_1 + .. + u_k <= W_k^c for each k. Prices that meet these sums
are the optimum where the jobs, served so, complete in the order.
"""

from math import fsum, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TOGETHER = 1e-12
"""Times of completion that are this near, by their logarithms, are one but for rounding."""


class Optimum(NamedTuple):
    """The optimum of a completion order; arrays run from the last job to complete, shape (M,).

    At any time a job's share is proportional to its u. The bound is what prices chosen one after
    the other prove; the value is infinite where jobs would complete in another order.
    """

    value: float
    bound: float
    proportions: Floats  # log u of each job
    completion: Floats


def optimum(sizes: Floats, costs: Floats, p: float, servers: float) -> Optimum:
    """Return the optimum of a completion order; sizes and costs begin with the last job.

    Jobs complete by falling x u^-p. Since c has no bound, c log W is only subtracted from its like.
    """
    speed = float(servers**p)
    levels: Floats = np.cumsum(costs)
    if p == 1.0:  # one job after the other, with all servers
        ends: Floats = np.cumsum(sizes[::-1])[::-1] / speed
        value = fsum((costs * ends).tolist())
        # Shares differ by more than floats hold: the first to complete has it all.
        return Optimum(value, value, np.arange(len(sizes), dtype=np.float64) * 50, ends)
    bound = fsum((sizes * prices(levels, p)).tolist()) / speed
    c, logs = 1.0 / (1.0 - p), np.log(levels)
    rises = np.diff(logs)
    with np.errstate(all="ignore"):  # costs that are nothing beside others
        rest = np.append(0.0, np.log(-np.expm1(-c * rises)))  # log (1 - (W_before / W)^c)
        clock = np.log(sizes) - p * rest
        sooner = clock[1:] - p * c * rises - clock[:-1]
        steps = np.exp(clock) / speed
        steps[:-1] *= -np.expm1(np.minimum(sooner, 0.0))
    ends = np.cumsum(steps[::-1])[::-1]
    value = fsum((costs * ends).tolist()) if (sooner <= TOGETHER).all() else inf
    return Optimum(value, bound, rest + c * logs, ends)


def prices(levels: Floats, p: float) -> Floats:
    """Return s(N) lambda_k = (W_k^c - W_{k-1}^c)^(1-p), in a form that does not cancel."""
    if p == 1.0:
        return levels
    before = np.concatenate([[0.0], levels[:-1]])
    with np.errstate(divide="ignore"):
        ratio = np.where(before > 0, np.log1p((before - levels) / levels), -inf)
    found: Floats = levels * (-np.expm1(ratio / (1.0 - p))) ** (1.0 - p)
    return found
