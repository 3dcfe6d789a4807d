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

import numpy as np
from scipy.optimize import minimize

from formulations.hesrpt import Allocation
from formulations.hesrpt.rules import Bound
from solvers.orders.kernels import Curves, Floats, earned, gains, rent
from solvers.orders.prices import curves

WORTH_MENDING = 1e-7
"""The part of a bound that a solver's last digits may cost before prices are mended."""


def proven_by_prices(program: Allocation, lam: Floats) -> float | None:
    """Return the lower bound on the program's order that prices of work prove.

    Parameters
    ----------
    program : Allocation
    lam : ndarray
        A price for each job's work, shape (M,), not negative.
    """
    instance = program.instance
    c = curves(instance)
    levels = program.levels

    def earn(prices: Floats, e: int) -> float:
        jobs = program.epochs.present[e]
        return _most_earned(c, prices, jobs, list(program.rules.in_force(jobs)))

    def earned_in_all(prices: Floats) -> Floats:
        return np.array([earn(prices, e) for e in range(len(levels))])

    most = earned_in_all(lam)
    if not instance.arrivals.any() and (most > levels * (1 + WORTH_MENDING)).any():
        lam = _tightened(program, lam, levels, earn)
        most = earned_in_all(lam)
    marks = [e for e, (what, _) in enumerate(program.epochs.ends) if what == "arrival"]
    after = slice(marks[-1] + 1 if marks else 0, None)
    with np.errstate(divide="ignore"):
        scale = float(np.min(levels[after] / most[after], initial=inf, where=most[after] > 0))
    if not np.isfinite(scale) or scale <= 0:
        return None
    scale = min(scale, 1.0) if marks else scale
    bound = [float(value) for value in scale * lam * instance.sizes]
    start, first = 0.0, 0
    for mark in marks:  # an epoch that lasts until a known time costs what is not earned in it
        spare = float(np.min(levels[first : mark + 1] - scale * most[first : mark + 1]))
        end = float(instance.arrivals[program.epochs.ends[mark][1]])
        bound.append(spare * (end - start))
        start, first = end, mark + 1
    return fsum(bound)


def _tightened(
    program: Allocation, lam: Floats, levels: Floats, earn: Callable[[Floats, int], float]
) -> Floats:
    """Return prices that a solver's last digits spoil less.

    From the last epoch back, the price of the job that an epoch completes is moved to where its
    epoch just costs what can be earned in it, if that is little and the epoch has a length.
    """
    lam = lam.copy()
    lengths = np.asarray(program.time.value)
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


def _most_earned(c: Curves, lam: Floats, jobs: list[int], bounds: list[Bound]) -> float:
    """Return a bound on what jobs can earn in a unit of time within bounds on their shares."""
    here = np.array(jobs, dtype=np.int64)
    alone = float(rent(c, lam, here, len(here)))
    if not bounds:
        return float(earned(c, lam, here, len(here), alone))
    members = np.array([[j in bound.jobs for j in jobs] for bound in bounds], dtype=float)
    least = np.array([bound.at_least for bound in bounds]) * c.servers
    most = np.array([bound.at_most for bound in bounds]) * c.servers
    k = np.zeros(len(jobs))
    unit = max(alone, float((lam[here] / c.servers).max()), 1e-300)

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        """Return the Lagrangian and its gradient: multipliers of servers, floors and caps."""
        m, floors, caps = _parts(multipliers * unit, len(bounds))
        own = m + members.T @ (caps - floors)
        gained = gains(c, lam, here, own, k)
        value = m * c.servers + caps @ most - floors @ least + gained
        inside = members @ k
        gradient = np.concatenate([[c.servers - k.sum()], inside - least, most - inside])
        return float(value), gradient * unit

    start = np.zeros(1 + 2 * len(bounds))
    start[0] = alone / unit
    scale = max(abs(dual(start)[0]), 1e-300)
    found = minimize(
        lambda v: tuple(part / scale for part in dual(v)),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start),
        options={"maxiter": 200, "ftol": 1e-14, "gtol": 1e-10},
    )
    return min(dual(start)[0], dual(np.maximum(found.x, 0.0))[0])


def _parts(multipliers: Floats, count: int) -> tuple[float, Floats, Floats]:
    return float(multipliers[0]), multipliers[1 : count + 1], multipliers[count + 1 :]
