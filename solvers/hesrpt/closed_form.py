"""One speedup k^p for all jobs: the optimum of any completion order in closed form.

With u_k = (s(N) lambda_k)^c, c = 1/(1 - p), jobs earn the most W at shares in proportion to u, and
prices of an order are feasible if u_1 + .. + u_k <= W_k^c for each k. Maximizing sum x_k lambda_k
under these nested sums is isotonic: jobs that would complete in the wrong order are pooled, and
then complete together.
"""

from math import exp, expm1, fsum, inf, log, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import njit, small

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Optimum(NamedTuple):
    """The optimum of a completion order; arrays run from the last job to complete, shape (M,).

    At any time a job's share is proportional to its u. The bound is what prices chosen one after
    the other prove; it equals the value unless jobs were pooled.
    """

    value: float
    bound: float
    proportions: Floats  # log u of each job
    completion: Floats


def optimum(sizes: Floats, costs: Floats, p: float, servers: float) -> Optimum:
    """Return the optimum of a completion order; sizes and costs begin with the last job."""
    speed = float(servers**p)
    levels: Floats = np.cumsum(costs)
    if p == 1.0:  # one job after the other, with all servers
        ends: Floats = np.cumsum(sizes[::-1])[::-1] / speed
        value = fsum((costs * ends).tolist())
        # Shares differ by more than floats hold: the first to complete has it all.
        return Optimum(value, value, np.arange(len(sizes), dtype=np.float64) * 50, ends)
    bound = fsum((sizes * prices(levels, p)).tolist()) / speed
    logs, ends = _pooled(np.log(sizes), np.log(levels), p)
    ends /= speed
    return Optimum(fsum((costs * ends).tolist()), bound, logs, ends)


def prices(levels: Floats, p: float) -> Floats:
    """Return s(N) lambda_k = (W_k^c - W_{k-1}^c)^(1-p), in a form that does not cancel."""
    if p == 1.0:
        return levels
    before = np.concatenate([[0.0], levels[:-1]])
    with np.errstate(divide="ignore"):
        ratio = np.where(before > 0, np.log1p((before - levels) / levels), -inf)
    found: Floats = levels * (-np.expm1(ratio / (1.0 - p))) ** (1.0 - p)
    return found


@njit(cache=True, plain=small(6000, 2))
def _pooled(
    sizes: Floats, levels: Floats, p: float
) -> tuple[Floats, Floats]:  # pragma: no cover  (compiled)
    """Pool adjacent violators; return log u and s(N) times the completion times, shape (M,) each.

    ``sizes`` and ``levels`` are logarithms of x and W. A block of pooled jobs counts as one job of
    size ||x||_{1/p}. Blocks complete by falling nu = x·u^-p, u^c = W_last^c - W_before^c. Since
    c = 1/(1-p) has no bound, c·log W is kept apart and only ever subtracted from its like.
    """
    count = len(sizes)
    c = 1.0 / (1.0 - p)
    first = np.zeros(count, dtype=np.int64)
    mass = np.zeros(count)  # log sum x^(1/p) of each block
    rest = np.zeros(count)  # log (1 - (W_before / W_last)^c)
    top = np.zeros(count)  # log W_last
    blocks = 0
    for k in range(count):
        first[blocks], mass[blocks], top[blocks] = k, sizes[k] / p, levels[k]
        while True:
            a = first[blocks]
            rest[blocks] = log(-expm1(c * (levels[a - 1] - levels[k]))) if a > 0 else 0.0
            if blocks == 0:
                break
            fall = c * (top[blocks] - top[blocks - 1])
            if mass[blocks] - rest[blocks] - fall <= mass[blocks - 1] - rest[blocks - 1]:
                break
            high = max(mass[blocks - 1], mass[blocks])
            low = min(mass[blocks - 1], mass[blocks])
            blocks -= 1
            mass[blocks], top[blocks] = high + log1p(exp(low - high)), levels[k]
        blocks += 1
    logs = np.zeros(count)
    ends = np.zeros(count)
    now = 0.0
    last = count
    for b in range(blocks - 1, -1, -1):
        step = exp(p * (mass[b] - rest[b]))
        if b < blocks - 1:
            fall = c * (top[b + 1] - top[b])
            step *= -expm1(p * (mass[b + 1] - rest[b + 1] - fall - mass[b] + rest[b]))
        now += step
        for k in range(first[b], last):
            logs[k] = sizes[k] / p - mass[b] + rest[b] + c * top[b]
            ends[k] = now
        last = first[b]
    return logs, ends
