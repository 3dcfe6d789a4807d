"""What prices of work prove, under side constraints and arrivals too.

For any prices lambda >= 0 of work and any prices tau of arrival times, the cost of every policy of
an order is at least sum lambda_j x_j plus what the arrivals add, as long as in no epoch the jobs in
the system can earn more than the epoch costs. What they can earn is bounded by Lagrange's
multipliers of the servers and of each side constraint: any multipliers >= 0 give a bound, good ones
a tight one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, inf
from typing import NamedTuple

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.rules import Bound, bounds_of
from schedopt.solvers.hesrpt.kernels import Curves, Floats, Ints
from schedopt.solvers.hesrpt.prices import curves
from schedopt.solvers.hesrpt.rent_kernels import gains, most_earned

WORTH_MENDING = 1e-7
"""The part of a bound that a solver's last digits may cost before prices are mended."""


class Duals(NamedTuple):
    """What a solver says that things cost.

    Attributes
    ----------
    work : ndarray
        A unit of each job's work, shape (M,).
    servers : ndarray
        All servers for a unit of time, in each epoch, shape (E,).
    rules : list of (epoch, bound, float)
        The bounds on shares in each epoch, so far as they cost anything: over 0 for what a bound
        asks at least, below 0 for what it allows at most.
    """

    work: Floats
    servers: Floats
    rules: list[tuple[int, Bound, float]]


def proven_by_prices(
    program: Allocation, duals: Duals, lengths: Floats
) -> tuple[float, Floats] | None:
    """Return the lower bound on the program's order that prices of work prove, and the prices.

    None where they prove nothing: they are scaled, and mended a little, to prove what they can.

    Parameters
    ----------
    program : Allocation
    duals : Duals
        Prices of work; those of servers and rules count only where rules are more than the kernels
        know.
    lengths : ndarray
        How long epochs last, shape (E,).
    """
    instance, lam = program.instance, duals.work
    bounds = bounds_of(program.rules, len(instance.jobs))
    c = curves(instance, bounds)
    levels = program.levels

    def earn(prices: Floats, e: int) -> float:
        here = np.array(program.epochs.present[e], dtype=np.int64)
        own = np.zeros(len(c.team_leasts) + 1)
        value = float(most_earned(c, prices, here, len(here), len(here), own))
        if not bounds.whole:
            value = min(value, _most_earned_at(c, prices, here, e, duals))
        return value

    def earned_in_all(prices: Floats) -> Floats:
        return np.array([earn(prices, e) for e in range(len(levels))])

    most = earned_in_all(lam)
    if not instance.arrivals.any() and (most > levels * (1 + WORTH_MENDING)).any():
        lam = _tightened(program, lam, lengths, earn)
        most = earned_in_all(lam)
    marks = [e for e, (what, _) in enumerate(program.epochs.ends) if what == "arrival"]
    after = slice(marks[-1] + 1 if marks else 0, None)
    with np.errstate(divide="ignore"):
        scale = float(np.min(levels[after] / most[after], initial=inf, where=most[after] > 0))
    if not np.isfinite(scale) or scale <= 0:
        return None
    scale = min(scale, 1.0) if marks else scale
    lam = scale * lam
    bound = (lam * instance.sizes).tolist()
    start, first = 0.0, 0
    for mark in marks:  # an epoch that lasts until a known time costs what is not earned in it
        spare = float(np.min(levels[first : mark + 1] - scale * most[first : mark + 1]))
        end = float(instance.arrivals[program.epochs.ends[mark][1]])
        bound.append(spare * (end - start))
        start, first = end, mark + 1
    return fsum(bound), lam


def _tightened(
    program: Allocation, lam: Floats, lengths: Floats, earn: Callable[[Floats, int], float]
) -> Floats:
    """Return prices that a solver's last digits spoil less.

    From the last epoch back, the price of the job that an epoch completes is moved to where its
    epoch just costs what can be earned in it, if that is little and the epoch has a length.
    """
    lam, levels = lam.copy(), program.levels
    for e in range(len(levels) - 1, -1, -1):
        job = program.epochs.ends[e][1]
        if lengths[e] < 1e-6 * lengths.sum():
            continue
        price = float(lam[job])
        before: tuple[float, float] | None = None
        for _ in range(4):
            excess = earn(lam, e) - levels[e]
            if abs(excess) <= 1e-13 * levels[e]:
                break
            rate = (
                levels[e] / price
                if before is None
                else (excess - before[1]) / (lam[job] - before[0])
            )
            before = (float(lam[job]), excess)
            moved = lam[job] - excess / rate if rate > 0 else lam[job]
            if not abs(moved - price) <= 1e-2 * price or moved == lam[job]:
                break
            lam[job] = moved
    return lam


def _most_earned_at(c: Curves, lam: Floats, here: Ints, e: int, duals: Duals) -> float:
    """Return a bound on what jobs can earn in an epoch by the solver's own multipliers there."""
    index = {int(j): i for i, j in enumerate(here)}
    rents = np.full(len(here), duals.servers[e])
    value = float(duals.servers[e])
    for epoch, bound, multiplier in duals.rules:
        if epoch == e:
            rents[[index[j] for j in bound.jobs]] -= multiplier
            value -= multiplier * (bound.at_least if multiplier > 0 else bound.at_most)
    k = np.zeros(len(here))
    return value + float(gains(c, lam, here, rents / c.servers, k))
