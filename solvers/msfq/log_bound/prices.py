"""Prices of servers over time, improved by subgradients: bounds on all schedules of a log.

Prices are integers, and the bound that they prove is summed in integers: it is exact and rounded
down only at the end.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.log_bound import Prices, Ticks, Ticks64
from schedopt.instances.decimals import exact_sum
from schedopt.solvers.clock import now
from schedopt.solvers.compiling import kernel
from schedopt.solvers.kernels import Ascent, last_at_most
from schedopt.solvers.msfq.log_bound.relaxations import rounded_down

Floats = NDArray[np.float64]
ROOM = 2**60
"""The limit on sums of costs, so that none overflows 64 bits."""


MOST_UNIT = 2**24
"""The largest number of price units in the cost of a tick of waiting for weight 1."""
PATIENCE, MOMENTUM = 15, 0.7
"""Rounds without an improvement before the step length is halved, and the part of the last round's
direction that is kept."""
MOST_WORK = 3 * 10**9
"""The number of starts compared after which no round begins. It stands for some ten seconds, but is
the same on every machine."""
IMPROVEMENT = 1e-4
"""The relative change of the bound below which a round is no improvement."""
LEAST_STEP = 1e-6
"""The step length, relative to the first, at which the search ends."""


class LogJobs(NamedTuple):
    """Jobs of a log in whole ticks, arrays of shape (jobs,)."""

    submit: Any
    need: Any
    run: Any
    weight: Any


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
    ) -> None:
        self._ticks, self._grid, self._rounds_left = ticks, grid, rounds
        self._lengths = np.diff(grid).astype(np.float64)
        self._target = target  # sum of weight times response of a known schedule, in ticks
        self.costs, self.starts = np.empty_like(ticks.run), np.empty_like(ticks.run)
        horizon = int(grid[-1]) + int(ticks.run.max()) + 1
        most = max(int(ticks.weight.max()) * horizon, int(4 * target) + 1)
        self._unit = min(MOST_UNIT, 1 << max(0, (ROOM // most).bit_length() - 1))
        self.best = Prices(grid, np.zeros(len(grid) - 1, np.int64), self._unit)
        self.bound: float | None = None
        self.total = 0
        self._at = np.zeros(len(grid) - 1)
        self._used = np.zeros(len(grid))
        self._ascent, self._work = Ascent(MOMENTUM, PATIENCE, 1.0), 0
        if ROOM // most and int(ticks.need.max()) * horizon < ROOM:
            self._evaluate_prices(self._at)
        else:
            self._rounds_left = 0

    def advance(self, seconds: float) -> bool:
        """Improve prices for about so many seconds; return True if the search is complete."""
        until = now() + seconds
        while self._rounds_left:
            self._rounds_left -= 1 if self._work < MOST_WORK else self._rounds_left
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
        if not self._ascent.goes_on(self.total > before * (1 + IMPROVEMENT)):
            self._return_to_best()
            if self._ascent.length < LEAST_STEP:
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
        self._used = usage(self.starts, ticks, self._grid)
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


@kernel()
def find_cheapest_starts(  # noqa: PLR0917
    jobs: LogJobs, unit: int, grid: Any, prices: Any, paid: Any, costs: Any, starts: Any
) -> Any:
    """Find the start of each job at which response time and payment cost least.

    A start S costs unit·weight·(S + run - submit) + need·(price integral from S to S + run). The
    cost is piecewise linear, with breaks where S or S + run is a grid time. So one of these or the
    submit is optimal; the earliest one is taken among equals. ``prices`` are those of a server for
    one tick from each grid time on, and ``paid`` their integrals up to it. Fills ``costs`` and
    ``starts``; returns the number of starts compared.
    """
    submit, need, run, weight = jobs
    cells = grid.size - 1
    begin = seen = 0
    for job in range(submit.size):
        while begin < cells and grid[begin + 1] <= submit[job]:
            begin += 1
        first, length, start = begin, run[job], submit[job]
        last = last_at_most(grid, begin, cells + 1, start + length)
        rate = unit * weight[job]
        waited = rate * length
        rent = paid[last] + prices[last] * (start + length - grid[last])
        rent -= paid[first] + prices[first] * (start - grid[first])
        cost = waited + need[job] * rent
        best, at = cost, start
        while first < cells and waited < best:
            step = grid[first + 1] - start
            if last < cells:
                step = min(step, grid[last + 1] - start - length)
            cost += step * (rate + need[job] * (prices[last] - prices[first]))
            start += step
            seen += 1
            waited += step * rate
            if grid[first + 1] == start:
                first += 1
            if last < cells and grid[last + 1] == start + length:
                last += 1
            if cost < best:
                best, at = cost, start
        costs[job], starts[job] = best, at
    return seen


def usage(starts: Ticks64, ticks: Ticks, grid: Ticks64) -> Floats:
    """Return the server-time used in each cell of the grid, and after it."""
    ends, need, size = starts + ticks.run, ticks.need, len(grid)
    first, last = (np.searchsorted(grid, times, "right") - 1 for times in (starts, ends))
    busier = np.bincount(first, need, size) - np.bincount(last, need, size)
    # Full cells from the first to the last; the parts of the two outer cells are corrected.
    used = np.zeros(size)
    used += np.bincount(last, need * (ends - grid[last]), size)
    used -= np.bincount(first, need * (starts - grid[first]), size)
    used[:-1] += np.cumsum(busier)[:-1] * np.diff(grid)
    return used
