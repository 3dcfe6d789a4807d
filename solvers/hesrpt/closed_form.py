"""Allocations without a search: closed forms, makespans, and certificates of bounds.

Symbols: x is the size of a job, s(k) = k^p its speedup on k servers, N the number of servers, W_k
the total weight of the last k jobs to complete, lambda_k the work price of the k-th, and
c = 1/(1 - p).
"""

from math import fsum, inf
from typing import NamedTuple

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.solvers.engine import Certificate, NoCertificateError
from schedopt.solvers.hesrpt.price_kernels import Floats, Ints, curves, prices_of
from schedopt.solvers.result import Result

ROUNDING = 1e-12
"""Relative rounding error of completion times and of remaining sizes."""
SLACK = 1e-11
"""Relative slack of prices, so that rounding in the checker does not make them infeasible."""
ENOUGH = 5e-10
"""Fraction of a bound that a certificate may leave unproven; twice that counts as rounding."""


class Optimum(NamedTuple):
    """The optimum of a completion order; arrays are ordered from the last job to complete, (M,).

    At any time the share of a job is proportional to its u. ``bound`` is proved by prices that are
    computed one after another; ``value`` is infinite if the jobs would complete in another order.
    """

    value: float
    bound: float
    proportions: Floats  # log u of each job
    completion: Floats


def optimum(sizes: Floats, costs: Floats, p: float, servers: float) -> Optimum:
    """Return the optimum of a completion order for s(k) = k^p; arrays begin with the last job.

    With u_k = (s(N) lambda_k)^c the value of work is largest at shares proportional to u, and the
    prices of an order are feasible if u_1 + .. + u_k <= W_k^c for each k. Prices that attain these
    sums are optimal if the jobs then complete in this order, that is, by decreasing x u^-p.
    """
    speed = float(servers**p)
    levels: Floats = np.cumsum(costs)
    if p == 1.0:  # one job after the other, with all servers
        ends: Floats = np.cumsum(sizes[::-1])[::-1] / speed
        value = fsum((costs * ends).tolist())
        # Shares differ by more than floats can hold: the first job to complete gets all servers.
        return Optimum(value, value, np.arange(len(sizes), dtype=np.float64) * 50, ends)
    bound = fsum((sizes * prices(levels, p)).tolist()) / speed
    c, logs = 1.0 / (1.0 - p), np.log(levels)
    rises = np.diff(logs)
    with np.errstate(all="ignore"):  # for costs that vanish beside others
        rest = np.append(0.0, np.log(-np.expm1(-c * rises)))  # log (1 - (W_before / W)^c)
        clock = np.log(sizes) - p * rest
        sooner = clock[1:] - p * c * rises - clock[:-1]
        steps = np.exp(clock) / speed
        steps[:-1] *= -np.expm1(np.minimum(sooner, 0.0))
    ends = np.cumsum(steps[::-1])[::-1]
    value = fsum((costs * ends).tolist()) if (sooner <= ROUNDING).all() else inf
    return Optimum(value, bound, rest + c * logs, ends)


def prices(levels: Floats, p: float) -> Floats:
    """Return s(N) lambda_k = (W_k^c - W_{k-1}^c)^(1-p), computed without cancellation."""
    if p == 1.0:
        return levels
    before = np.concatenate([[0.0], levels[:-1]])
    with np.errstate(divide="ignore"):
        ratio = np.where(before > 0, np.log1p((before - levels) / levels), -inf)
    return np.asarray(levels * (-np.expm1(ratio / (1.0 - p))) ** (1.0 - p))


def least_makespan(
    instance: Instance, jobs: Ints | None = None, left: Floats | None = None
) -> tuple[float, float, Floats]:
    """Return the least makespan, a lower bound on it, and the shares of the jobs.

    Speedups are concave, so the average of a share over time does at least as much work. Hence a
    time T suffices if and only if the jobs need at most all servers to complete together at T.

    Parameters
    ----------
    instance : Instance
    jobs : ndarray of int, optional
        The jobs to consider; all by default.
    left : ndarray, optional
        Their remaining sizes.

    Notes
    -----
    Source: heSRPT paper, Theorem 1, for any concave speedups.
    """
    jobs = np.arange(len(instance.jobs)) if jobs is None else jobs
    sizes, servers = instance.sizes if left is None else left, float(instance.servers)

    def needed(time_: float) -> Floats:
        return instance.each("servers_for", jobs, sizes / time_)

    high = float((sizes / instance.each("at", jobs, np.full(len(sizes), servers))).sum())
    low = high / (2.0 * len(sizes))
    while low > 0 and needed(low).sum() <= servers:
        high, low = low, low / 2
    while needed(high).sum() > servers:
        high *= 1 + 1e-15
    while low < (middle := low + (high - low) / 2) < high:
        if needed(middle).sum() <= servers:
            high = middle
        else:
            low = middle
    return high, low, needed(high) / servers


def certificate(model: Allocation, result: Result[Allocated]) -> Certificate:
    """Return work prices by position in the order, which prove the bound on all orders again.

    They may prove a last digit less.

    Raises
    ------
    NoCertificateError
        If jobs differ in more than their sizes.
    """
    instance = model.instance
    if result.bound is None or model.changed:
        raise NoCertificateError("the model was changed natively" if model.changed else "no bound")
    if model.given or instance.arrivals.any() or instance.objective == "makespan":
        raise NoCertificateError("only of flow times over all orders, without arrivals")
    if model.rules.names or len(instance.speedups) > 1 or np.ptp(instance.costs) > 0:
        raise NoCertificateError("jobs differ in more than their sizes")
    rank = np.lexsort((-np.arange(len(instance.jobs)), -instance.sizes))
    order: Ints = rank.astype(np.int64)
    levels = np.cumsum(instance.costs[order])
    if instance.power is not None:
        by_place = prices(levels, instance.power) / instance.servers**instance.power
    else:
        by_place = prices_of(curves(instance), order, levels)[order]
    if float(np.sort(by_place) @ instance.sizes[order]) < result.bound * (1.0 - ENOUGH):
        raise NoCertificateError("prices by place prove less")
    slack = SLACK + len(order) * 1e-15
    return {"kind": "ranks", "prices": (by_place * (1.0 - slack)).tolist()}
