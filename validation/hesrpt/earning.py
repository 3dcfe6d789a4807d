"""The most that jobs can earn at given prices of work, from above, in intervals.

At a rent m of a server, job j earns at most lambda_j s_j(k) - m k beyond its rent, over all k that
it may have: so what all earn is at most

    m N + sum over jobs max_k (lambda_j s_j(k) - m k).

That holds for any rent: it is found by halving in plain floats, and only the sum is computed in
intervals. Bounds of teams are left out, without which jobs can only earn more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, Shares
from schedopt.instances.hesrpt import Instance
from schedopt.validation.hesrpt.intervals import Floats, Interval
from schedopt.validation.hesrpt.speedup_bounds import Above, Curve, curves_of

Bools = NDArray[np.bool_]
HALVINGS = 60


def gain_bounds(
    above: Above,
    price: Floats,
    rent: Floats,
    k0: Floats,
    ends: tuple[float, Floats | float],
) -> Floats:
    """Return bounds on the most of price s(k) - rent k between two ends, by lines above s.

    ``above`` are value and slopes at ``k0``, which lies between the ends; arrays are of shape (n,).
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


@dataclass(frozen=True)
class Servers:
    """Servers, and the least and most of them that each job may have, rounded outwards, (M,)."""

    servers: float
    curves: list[Curve]
    least: Floats
    most: Floats

    def earnings_bound(self, prices: Floats, present: Bools) -> Floats:
        """Return upper bounds on earnings, one for each of R rows.

        ``prices`` of work are not negative, ``present`` says who is there, both of shape (R, M).
        """
        rents = self._clearing_rents(prices, present)
        total = np.nextafter(rents * self.servers, inf)
        gains = np.zeros_like(prices)
        for j in np.flatnonzero(present.any(axis=0)):
            here = present[:, j] & (prices[:, j] > 0)
            gains[here, j] = self.gain_bounds(int(j), prices[here, j], rents[here])
            unpaid = present[:, j] & (prices[:, j] <= 0)
            gains[unpaid, j] = np.nextafter(-rents[unpaid] * self.least[j], inf)
        return (Interval.exactly(total) + Interval.exactly(gains).total()).high

    def gain_bounds(self, j: int, price: Floats, rent: Floats) -> Floats:
        """Return bounds on max_k (price s_j(k) - rent k) within the job's bounds."""
        k = np.clip(self.curves[j].demand(rent / price), self.least[j], self.most[j])
        above = self.curves[j].upper_lines(k)
        return gain_bounds(above, price, rent, k, (float(self.least[j]), float(self.most[j])))

    def _excess_demand(self, prices: Floats, present: Bools, rents: Floats) -> Floats:
        """Return about how many servers jobs take at a rent beyond those there are, shape (R,)."""
        taken = np.zeros_like(prices)
        for j in np.flatnonzero(present.any(axis=0)):
            here = present[:, j]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                wish = self.curves[j].demand(rents[here] / np.maximum(prices[here, j], 1e-300))
            wish = np.where(prices[here, j] > 0, wish, 0.0)
            taken[here, j] = np.clip(np.nan_to_num(wish), self.least[j], self.most[j])
        return np.asarray(taken.sum(axis=1) - self.servers)

    def _clearing_rents(self, prices: Floats, present: Bools) -> Floats:
        """Return about the rent at which all servers are taken, (R,); 0 where they never are."""
        scale = np.maximum(prices.max(axis=1, initial=0.0), 1e-250)
        alone = [
            float(np.max(curve.upper_lines(np.array([self.servers]))[0])) for curve in self.curves
        ]
        scale = scale * max(max(alone) / self.servers, 1e-250)
        low, high = np.log(scale) - 60.0, np.log(scale) + 60.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            over = self._excess_demand(prices, present, np.exp(middle)) > 0
            low, high = np.where(over, middle, low), np.where(over, high, middle)
        none = self._excess_demand(prices, present, np.exp(np.log(scale) - 60.0)) <= 0
        return np.where(none, 0.0, np.exp(high))


def machine_of(instance: Instance, constraints: Sequence[Constraint]) -> Servers:
    """Return servers, speedups and bounds of single jobs."""
    count, servers = len(instance.jobs), float(instance.servers)
    least, most = np.zeros(count), np.full(count, servers)
    for rule in constraints:
        if isinstance(rule, Shares):
            mine = [j for j, job in enumerate(instance.jobs) if job.name in rule.jobs]
            if rule.at_least:
                low = Interval.decimals(rule.at_least) * Interval.exactly(servers)
                least[mine] = np.maximum(least[mine], float(low.low))
            if rule.at_most is not None and rule.at_most < 1:
                high = Interval.decimals(rule.at_most) * Interval.exactly(servers)
                most[mine] = np.minimum(most[mine], float(high.high))
    return Servers(servers, curves_of(instance), least, np.maximum(most, least))
