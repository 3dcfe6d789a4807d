"""Prices of servers over time, improved by subgradients: bounds on all schedules of a log.

Prices are integers, and the bound that they prove is summed in integers: it is exact and rounded
down only at the end.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.log_bound import Prices, Ticks, Ticks64
from schedopt.instances.decimals import exact_sum
from schedopt.solvers.clock import now
from schedopt.solvers.kernels import Ascent
from schedopt.solvers.msfq.log_bound.relaxations import rounded_down

Floats = NDArray[np.float64]
ROOM = 2**60
"""The limit on sums of costs, so that none overflows 64 bits."""


@dataclass(frozen=True)
class PriceParams:
    """Parameters of the subgradient search for prices.

    Attributes
    ----------
    most_unit : int
        The largest number of price units in the cost of a tick of waiting for weight 1.
    patience : int
        Rounds without an improvement before the step length is halved.
    momentum : float
        The part of the last round's direction that is kept.
    most_work : int
        The number of starts compared after which no round begins. It stands for some ten seconds,
        but is the same on every machine.
    improvement : float
        The relative change of the bound below which a round is no improvement.
    least_step : float
        The step length, relative to the first, at which the search ends.
    """

    most_unit: int = 2**24
    patience: int = 15
    momentum: float = 0.7
    most_work: int = 3 * 10**9
    improvement: float = 1e-4
    least_step: float = 1e-6


DEFAULTS = PriceParams()


class PriceSearch:
    """The search for the prices that prove the highest bound.

    Attributes
    ----------
    bound : float or None
        On the mean response time; None where the numbers are too large.
    total : int
        On the sum of weight times response, in units of ``best.unit`` per tick.
    best : Prices
        The prices that prove it.
    costs, starts : ndarray of int, shape (jobs,)
        Each job's least cost and cheapest start at the last prices.
    """

    def __init__(
        self,
        ticks: Ticks,
        target: float,
        grid: Ticks64,
        *,
        rounds: int,
        params: PriceParams = DEFAULTS,
    ) -> None:
        self._params = params
        self._ticks, self._grid, self._rounds_left = ticks, grid, rounds
        self._lengths = np.diff(grid).astype(np.float64)
        self._target = target  # sum of weight times response of a known schedule, in ticks
        self.costs, self.starts = np.empty_like(ticks.run), np.empty_like(ticks.run)
        horizon = int(grid[-1]) + int(ticks.run.max()) + 1
        most = max(int(ticks.weight.max()) * horizon, int(4 * target) + 1)
        self._unit = min(params.most_unit, 1 << max(0, (ROOM // most).bit_length() - 1))
        self.best = Prices(grid, np.zeros(len(grid) - 1, np.int64), self._unit)
        self.bound: float | None = None
        self.total = 0
        self._at = np.zeros(len(grid) - 1)
        self._used = np.empty(len(grid))
        self._ascent, self._work = Ascent(params.momentum, params.patience, 1.0), 0
        if ROOM // most and int(ticks.need.max()) * horizon < ROOM:
            self._evaluate_prices(self._at)
        else:
            self._rounds_left = 0

    def advance(self, seconds: float) -> bool:
        """Improve prices for about so many seconds; return True if the search is complete."""
        until = now() + seconds
        while self._rounds_left:
            self._rounds_left -= 1 if self._work < self._params.most_work else self._rounds_left
            self._improve_once()
            if now() >= until:
                break
        return not self._rounds_left

    def _improve_once(self) -> None:
        """Take one step of the ascent, or return to the best prices if the last step failed."""
        before = self.total
        value = self._evaluate_prices(self._at)
        if value is None:  # numbers overflow: return to prices that are known to work
            self._return_to_best()
            return
        if not self._ascent.goes_on(self.total > before * (1 + self._params.improvement)):
            self._return_to_best()
            if self._ascent.length < self._params.least_step:
                self._rounds_left = 0
            return
        over = self._used[:-1] / self._lengths - float(self._ticks.servers)
        ahead = self._target - value / self._unit
        following = self._ascent.step(self._at, over, self._lengths, ahead)
        if following is None:
            self._rounds_left = 0
        else:
            self._at = following

    def _return_to_best(self) -> None:
        self._at = self.best.prices / self._unit
        self._ascent.halve()

    def _evaluate_prices(self, prices: Floats) -> int | None:
        """Compute the bound of some prices, and keep the best; return None if numbers overflow."""
        from schedopt.solvers.msfq.log_bound.price_kernels import (
            LogJobs,
            add_usage,
            find_cheapest_starts,
        )

        ticks, unit = self._ticks, self._unit
        if float(prices @ self._lengths) * float(ticks.need.max()) * unit >= ROOM:
            return None
        whole = np.rint(prices * unit).astype(np.int64)
        paid = np.append(0, np.cumsum(whole * np.diff(self._grid)))
        jobs, prices = (
            LogJobs(ticks.submit, ticks.need, ticks.run, ticks.weight),
            np.append(whole, 0),
        )
        self._work += find_cheapest_starts(
            jobs, unit, self._grid, prices, paid, self.costs, self.starts
        )
        add_usage(self.starts, ticks.need, ticks.run, self._grid, self._used)
        value: int = exact_sum(self.costs) - ticks.servers * int(paid[-1])
        if self.bound is None or value > self.total:
            self.best = Prices(self._grid, whole, unit)
            self.total = value
            self.bound = rounded_down(ticks.mean_response_bound(Fraction(value, unit)))
        return value


def grid_of(ticks: Ticks, starts: Floats, most: int) -> Ticks64:
    """Return at most `most` + 1 times at which prices may change, in ticks.

    They are submits, starts and ends of a good schedule; of too many, evenly spaced ones are taken.
    """
    begun = np.ceil(starts).astype(np.int64)
    times = np.unique(np.concatenate([ticks.submit, begun, begun + ticks.run]))
    if len(times) > most + 1:
        times = times[np.unique(np.linspace(0, len(times) - 1, most + 1).astype(np.int64))]
    if len(times) < 2:
        times = np.array([0, 1])
    return times
