"""Upper bounds on the value of work of jobs with one speedup at given prices, in intervals.

At a server rent m, job j gains at most max_k (lambda_j s(k) - m k). So the value of all work is at
most

    m N + sum over jobs max_k (lambda_j s(k) - m k)

for every rent. The rent is found by bisection in floats, and only the sum is computed in intervals.
"""

from math import inf

import numpy as np

from schedopt.validation.hesrpt.intervals import Floats, Interval
from schedopt.validation.hesrpt.speedup_bounds import Above, Curve


def gain_bounds(
    above: Above, price: Floats, rent: Floats, k0: Floats, ends: tuple[float, float]
) -> Floats:
    """Return bounds on the maximum of price s(k) - rent k between two ends, by lines above s.

    ``above`` are value and slopes at ``k0``, which lies between the ends; arrays have shape (n,).
    """
    value, right, left = above
    lam, r, start = (Interval.exactly(x) for x in (price, rent, k0))
    here = lam * Interval.exactly(value) - r * start
    best = here.high
    for slope, end in ((right, ends[1]), (left, ends[0])):
        steepness = lam * Interval.exactly(slope) - r
        part = steepness * (Interval.exactly(end) - start)
        best = np.maximum(best, (here + part).high)
    if not np.isfinite(best).all():
        raise ValueError("numbers too large to be sure of")
    return np.asarray(best)


def earnings_bounds(curve: Curve, servers: float, prices: Floats) -> Floats:
    """Return for each n an upper bound on the value of work of the jobs with the first n prices.

    Prices are nonnegative. Both arrays have shape (M,).
    """
    rents = _clearing_rents(curve, servers, prices)
    gains = np.zeros((len(prices), len(prices)))  # by number of jobs, and job
    for j in np.flatnonzero(prices > 0).tolist():
        price, rent = np.full(len(prices) - j, prices[j]), rents[j:]
        k = np.clip(curve.demand(rent / price), 0.0, servers)
        gains[j:, j] = gain_bounds(curve.upper_lines(k), price, rent, k, (0.0, servers))
    total = Interval.exactly(np.nextafter(rents * servers, inf))
    return (total + Interval.exactly(gains).total()).high


def _clearing_rents(curve: Curve, servers: float, prices: Floats, halvings: int = 60) -> Floats:
    """Return about the rents at which the first n jobs use all servers; 0 if they never do.

    The bisection of the logarithms ends after ``halvings`` steps.
    """
    alone = float(np.max(curve.upper_lines(np.array([servers]))[0]))
    scale = np.maximum(np.maximum.accumulate(prices), 1e-250) * max(alone / servers, 1e-250)
    low, high = np.log(scale) - 60.0, np.log(scale) + 60.0
    none = _excess_demand(curve, servers, prices, np.exp(low)) <= 0
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        over = _excess_demand(curve, servers, prices, np.exp(middle)) > 0
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return np.where(none, 0.0, np.exp(high))


def _excess_demand(curve: Curve, servers: float, prices: Floats, rents: Floats) -> Floats:
    """Return about the demand of the first n jobs at the n-th rent, minus the number of servers."""
    taken = np.zeros(len(prices))
    for j in np.flatnonzero(prices > 0).tolist():
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            wish = curve.demand(rents[j:] / max(prices[j], 1e-300))
        taken[j:] += np.clip(np.nan_to_num(wish), 0.0, servers)
    return taken - servers
