"""Allocations without a search: closed forms, makespans, even splits, and groups of many jobs.

Symbols: x is the size of a job, s(k) = k^p its speedup on k servers, N the number of servers, W_k
the total weight of the last k jobs to complete, lambda_k the work price of the k-th, and
c = 1/(1 - p).
"""

from collections.abc import Sequence
from math import fsum, inf
from typing import NamedTuple

import numpy as np

from schedopt.formulations.hesrpt.epochs import Rules, in_force, smiths_order
from schedopt.instances.extras import installed
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.hesrpt.dominance import limits_by_job
from schedopt.solvers.hesrpt.feasibility import servable
from schedopt.solvers.hesrpt.speedup_kernels import Floats, Ints

ROUNDING = 1e-12
"""Relative rounding error of completion times and of remaining sizes."""


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


def split_evenly(instance: Instance, rules: Rules) -> Allocated | None:
    """Return an allocation that serves the present jobs as evenly as the rules allow.

    Returns None if the rules allow no shares for some present jobs, or none that complete them.
    While jobs of the same kinds are present, each kind keeps its share, so that its jobs and groups
    stay within their limits.
    """
    if not installed("scipy"):
        return None
    count = len(instance.jobs)
    kinds, kind_of = _kinds_of(limits_by_job(rules.bounds, count))
    by_job = any(len(bound.jobs) == 1 for bound in rules.bounds)  # these may need new shares
    remaining, ends, arrivals = instance.sizes.copy(), np.full(count, inf), instance.arrivals
    time, epochs = 0.0, []
    parts: Floats = np.zeros(kinds)
    while not np.isfinite(ends).all():
        here = np.flatnonzero((arrivals <= time) & ~np.isfinite(ends))
        until = float(arrivals[arrivals > time].min(initial=inf))
        if not len(here):
            epochs.append((time, until, here, np.zeros(0)))
            time = until
            continue
        counts = np.bincount(kind_of[here], minlength=kinds)
        if by_job or ((parts > 0) != (counts > 0)).any():
            shares = _even_shares(rules, here)
            if shares is None:
                return None
            parts = np.bincount(kind_of[here], shares, kinds).astype(np.float64)
        else:
            shares = (parts / np.maximum(counts, 1))[kind_of[here]]
        rates = instance.each("at", here, shares * instance.servers)
        with np.errstate(divide="ignore"):
            after = remaining[here] / rates
        lasts = min(float(after.min()), until - time)
        if not np.isfinite(lasts):
            return None
        end = until if lasts == until - time else time + lasts
        epochs.append((time, end, here, shares))
        remaining[here] -= rates * lasts
        gone = (after == lasts) | (remaining[here] <= ROUNDING * instance.sizes[here])
        ends[here[gone]] = end
        time = end
    return allocated(instance, ends, epochs)


def _even_shares(rules: Rules, here: Ints) -> Floats | None:
    """Return shares of the present jobs that maximize the least share, and then their sum.

    Jobs with the same limits have the same share.
    """
    from scipy.optimize import linprog

    present = here.tolist()
    if not servable(rules.bounds, present):
        return None
    bounds = list(in_force(rules.bounds, present))
    asked = limits_by_job(bounds, max(present) + 1)
    _, of = _kinds_of([asked[j] for j in present])
    sizes = np.bincount(of).astype(np.float64)
    rows, most = [np.append(sizes, 0.0)], [1.0]
    for bound in bounds:
        row = np.append(np.bincount(of[np.isin(here, bound.jobs)], minlength=len(sizes)), 0.0)
        if len(bound.jobs) == 1:
            row = np.minimum(row, 1.0)
        rows += [row, -row]
        most += [bound.at_most, -bound.at_least]
    rows += [np.append(-row, 1.0) for row in np.eye(len(sizes))]
    most += [0.0] * len(sizes)
    goal = -np.append(sizes, 2.0 * len(here))
    solved = linprog(goal, A_ub=np.array(rows), b_ub=most)
    return np.maximum(solved.x[of], 0.0) if solved.status == 0 else None


def _kinds_of(asked: Sequence[tuple[object, ...]]) -> tuple[int, Ints]:
    """Return the number of different limits, and for each job which of them it has."""
    kinds: dict[tuple[object, ...], int] = {}
    of = np.array([kinds.setdefault(limits, len(kinds)) for limits in asked])
    return len(kinds), of


class Waves(NamedTuple):
    """The wave of each job, shape (M,), the length of each wave, and the total cost."""

    of: Ints
    lengths: Floats
    cost: float


def in_waves(
    instance: Instance,
    rules: Rules,
    *,
    counts: Sequence[int] = (4, 16, 64),
    large: int = 300_000,
) -> Allocated | None:
    """Return the best allocation in waves, which are groups of jobs that complete together.

    It has few epochs, where the shares of all jobs in all epochs would be too many numbers.
    Returns None for few jobs and with side constraints.

    Parameters
    ----------
    instance : Instance
    rules : Rules
    counts : sequence of int, optional
        Numbers of waves that are tried, in increasing order.
    large : int, optional
        For more jobs than this, only 8 waves are tried.
    """
    order = smiths_order(instance)[::-1]
    if rules.bounds or len(order) < counts[-1]:
        return None
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    if len(order) > large:
        counts = (8,)
    waves = (_shortest_waves(instance, ranks * count // len(order), count) for count in counts)
    best = min(waves, key=lambda wave: wave.cost)
    ends = np.cumsum(best.lengths)
    shares = _servers_for_lengths(instance, best.of, 1.0 / best.lengths) / instance.servers
    who = np.argsort(best.of, kind="stable")
    cuts = np.searchsorted(best.of[who], np.arange(1, len(ends)))
    jobs, held = np.split(who, cuts), np.split(shares[who], cuts)
    epochs = zip([0.0, *ends[:-1].tolist()], ends.tolist(), jobs, held, strict=True)
    return allocated(instance, ends[best.of], epochs)


def _shortest_waves(instance: Instance, of: Ints, count: int, steps: int = 3) -> Waves:
    """Return waves that use all servers one after another, with nearly the shortest lengths.

    Speedups are concave, so the number of servers that a wave needs is convex in the inverse of
    its length. Linear interpolation between two lengths gives a feasible length near the shortest;
    it is repeated for some ``steps``.
    """
    servers = float(instance.servers)
    even = (servers / np.bincount(of, minlength=count))[of]
    longest = np.zeros(count)
    np.maximum.at(longest, of, instance.sizes / instance.each("at", np.arange(len(of)), even))
    pace = 1.0 / longest
    asked = np.bincount(of, _servers_for_lengths(instance, of, pace))
    for _ in range(steps):
        further = pace * servers / asked
        more = np.bincount(of, _servers_for_lengths(instance, of, further))
        between = np.where(
            np.isfinite(more) & (more > asked),
            pace + (further - pace) * (servers - asked) / np.maximum(more - asked, 1e-300),
            (pace + further) / 2,
        )
        now = np.bincount(of, _servers_for_lengths(instance, of, between))
        fits = now <= servers
        pace, asked = np.where(fits, between, pace), np.where(fits, now, asked)
    return Waves(of, 1.0 / pace, float(instance.costs @ np.cumsum(1.0 / pace)[of]))


def _servers_for_lengths(instance: Instance, of: Ints, pace: Floats) -> Floats:
    """Return the servers that jobs need to complete with their waves; ``pace`` is 1 / length."""
    return instance.each("servers_for", np.arange(len(of)), instance.sizes * pace[of])
