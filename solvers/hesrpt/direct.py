"""Allocations without a search: closed forms, makespans, even splits, and waves of many jobs."""

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

TOGETHER = 1e-12
"""Times of completion that are this near, by their logarithms, are one but for rounding."""
DONE = 1e-12
"""The part of a size that is left of a job by rounding alone."""
WAVES, WAVES_OF_LARGE = (4, 16, 64), (8,)
LARGE = 300_000
"""Jobs from which on there is time for one number of waves alone: near the best for a million."""
CLOSER = 3
"""How often the lengths of waves are improved."""


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
    """Return the optimum of a completion order under s(k) = k^p; arrays begin with the last job.

    With u_k = (s(N) lambda_k)^c, c = 1/(1 - p), jobs earn the most W at shares in proportion to u,
    and prices of an order are feasible if u_1 + .. + u_k <= W_k^c for each k. Prices that meet
    these sums are the optimum where the jobs, served so, complete in the order: by falling x u^-p.
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
    return np.asarray(levels * (-np.expm1(ratio / (1.0 - p))) ** (1.0 - p))


def least_makespan(
    instance: Instance, jobs: Ints | None = None, left: Floats | None = None
) -> tuple[float, float, Floats]:
    """Return the least makespan, a bound beside it, and the shares of all jobs.

    `jobs`, of which `left` is still to be done, are those in question; all where left out.

    A share that is averaged over time does no less work, since speedups are concave: so a time T
    suffices if and only if all jobs together need no more than all servers to complete at T.

    Source: heSRPT paper, Theorem 1, for any concave speedups of the jobs.
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
    """Serve all present jobs as evenly as the rules allow, None where that is not found.

    Rules may leave no shares while some jobs are present, or none with which work is done. While
    jobs of the same kinds are there, each kind keeps its part: so its jobs and groups keep bounds.
    """
    if not installed("scipy"):
        return None
    count = len(instance.jobs)
    kinds, kind_of = _kinds_of(limits_by_job(rules.bounds, count))
    by_job = any(len(bound.jobs) == 1 for bound in rules.bounds)  # which a part may not keep
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
        gone = (after == lasts) | (remaining[here] <= DONE * instance.sizes[here])
        ends[here[gone]] = end
        time = end
    return allocated(instance, ends, epochs)


def _even_shares(rules: Rules, here: Ints) -> Floats | None:
    """Return the shares of present jobs whose least is largest, and of these the largest in sum.

    Jobs that the rules do not tell apart have the same share.
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
    """Return how many kinds of jobs the rules tell apart, and the kind of each."""
    kinds: dict[tuple[object, ...], int] = {}
    of = np.array([kinds.setdefault(limits, len(kinds)) for limits in asked])
    return len(kinds), of


class Waves(NamedTuple):
    """Which wave each job is in, shape (M,), how long each lasts, and what they cost."""

    of: Ints
    lengths: Floats
    cost: float


def in_waves(instance: Instance, rules: Rules) -> Allocated | None:
    """Return the cheapest allocation in waves of jobs that complete together.

    It has few epochs to write: shares epoch by epoch of all jobs would be too many numbers. None
    for few jobs, or under side constraints.
    """
    order = smiths_order(instance)[::-1]
    if rules.bounds or len(order) < WAVES[-1]:
        return None
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    counts = WAVES if len(order) <= LARGE else WAVES_OF_LARGE
    waves = (_shortest_waves(instance, ranks * count // len(order), count) for count in counts)
    best = min(waves, key=lambda wave: wave.cost)
    ends = np.cumsum(best.lengths)
    shares = _servers_for_lengths(instance, best.of, 1.0 / best.lengths) / instance.servers
    who = np.argsort(best.of, kind="stable")
    cuts = np.searchsorted(best.of[who], np.arange(1, len(ends)))
    jobs, held = np.split(who, cuts), np.split(shares[who], cuts)
    epochs = zip([0.0, *ends[:-1].tolist()], ends.tolist(), jobs, held, strict=True)
    return allocated(instance, ends[best.of], epochs)


def _shortest_waves(instance: Instance, of: Ints, count: int) -> Waves:
    """Return waves that have all servers one after the other, about as short as they can be.

    As speedups are concave, the servers that a wave asks for are convex in 1 over its length: a
    line between two lengths finds one that is long enough, and nearer to the shortest.
    """
    servers = float(instance.servers)
    even = (servers / np.bincount(of, minlength=count))[of]
    longest = np.zeros(count)
    np.maximum.at(longest, of, instance.sizes / instance.each("at", np.arange(len(of)), even))
    pace = 1.0 / longest
    asked = np.bincount(of, _servers_for_lengths(instance, of, pace))
    for _ in range(CLOSER):
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
    """Return the servers that jobs need to complete with their waves, by 1 over their lengths."""
    return instance.each("servers_for", np.arange(len(of)), instance.sizes * pace[of])
