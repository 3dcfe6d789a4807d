"""Prices of servers over time, improved by subgradients: bounds on all schedules of a log.

Prices are integers, and the bound that they prove is summed in integers: it is exact and rounded
down only at the end.
"""

from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.log_bound import Prices, Ticks, Ticks64
from schedopt.instances.arithmetic import exact_sum
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
        self._at = opening_prices(ticks, grid)
        self._used = np.empty(len(grid))
        self._ascent, self._work = Ascent(params.momentum, params.patience, 1.0), 0
        if ROOM // most and int(ticks.need.max()) * horizon < ROOM:
            self._evaluate_prices(np.zeros_like(self._at))
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
        """Return to the best prices and reduce the step length."""
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

    They are submits, starts and ends of a good schedule, and completion times on one fast machine;
    of too many, evenly spaced ones are taken.
    """
    begun = np.ceil(starts).astype(np.int64)
    done = np.ceil(_fast_machine_pieces(ticks)[1]).astype(np.int64)
    times = np.unique(np.concatenate([ticks.submit, begun, begun + ticks.run, done]))
    if len(times) > most + 1:
        times = times[np.unique(np.linspace(0, len(times) - 1, most + 1).astype(np.int64))]
    if len(times) < 2:
        times = np.array([0, 1])
    return times


def opening_prices(ticks: Ticks, grid: Ticks64) -> Floats:
    """Return the first prices, shape (cells,); their bound is close to that of mean busy dates.

    One machine as fast as all servers runs the job of the largest ratio of weight to work, with
    preemption. The price of a server at t is the integral, from t to the end of the busy period, of
    the least ratio among the jobs that run between t and then.
    """
    begun, ended, ratio = _fast_machine_pieces(ticks)
    count = len(begun)
    first, last = np.zeros(count), np.zeros(count)
    lower: list[int] = []  # later pieces of the busy period, with decreasing ratios
    busy = 0.0
    for i in range(count - 1, -1, -1):
        if i + 1 == count or begun[i + 1] > ended[i]:
            lower, busy = [], ended[i]
        while lower and ratio[lower[-1]] >= ratio[i]:
            lower.pop()
        until, then = (begun[lower[-1]], first[lower[-1]]) if lower else (busy, 0.0)
        first[i], last[i] = (
            (until - begun[i]) * ratio[i] + then,
            (until - ended[i]) * ratio[i] + then,
        )
        lower.append(i)
    areas = (ended - begun) * (first + last) / 2
    paid = np.concatenate([[0.0], np.cumsum(areas)])
    at = np.maximum(np.searchsorted(begun, grid, "right") - 1, 0)
    within = np.clip(grid - begun[at], 0.0, (ended - begun)[at])
    sums = paid[at] + within * (first[at] - ratio[at] * within / 2)
    return np.maximum(0.0, np.diff(sums) / np.diff(grid))


def _fast_machine_pieces(ticks: Ticks) -> tuple[Floats, Floats, Floats]:
    """Return the fast machine's schedule: starts, ends, and ratios of weight to work."""
    submit = ticks.submit.tolist()
    work = np.maximum(ticks.need * ticks.run.astype(np.float64), 1.0)
    ratio = (ticks.weight / work).tolist()
    remaining = (work / ticks.servers).tolist()
    pieces: list[tuple[float, float, float]] = []
    ready: list[tuple[float, int]] = []
    now, came, count = 0.0, 0, len(submit)
    while came < count or ready:
        if not ready:
            now = max(now, float(submit[came]))
        while came < count and submit[came] <= now:
            heappush(ready, (-ratio[came], came))
            came += 1
        job = ready[0][1]
        until = now + remaining[job]
        if came < count and submit[came] < until:
            remaining[job] -= submit[came] - now
            until = float(submit[came])
        else:
            heappop(ready)
        pieces.append((now, until, ratio[job]))
        now = until
    array = np.array(pieces)
    return array[:, 0].copy(), array[:, 1].copy(), array[:, 2].copy()
