"""Branch and bound for a selection under risk, in the order in which jobs are served.

Whether a job is on time in a scenario depends only on the jobs before it in the order. So a branch
fixes the first jobs of the order, whose rewards are then exact. The rewards of the other jobs are
bounded in two ways: by the best prices of the Lagrangian relaxation, and by a fractional knapsack
in each scenario (Dantzig 1957). The branches of one depth are rows of arrays; those with the best
bounds are processed first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.scenarios import Floats, Integers, Mask, Scenarios
from schedopt.solvers.dssp.selection.scenario_prices import (
    DEFAULTS,
    ScenarioParams,
    ScenarioRelaxation,
)

NEAR = 1e-9
"""Tolerance of the rows of planned run times, whose right-hand sides are 1, 0 or -1."""


class Branches(NamedTuple):
    """The open nodes of the tree at one depth, as arrays.

    Attributes
    ----------
    used : ndarray of int, shape (branches, rows, scenarios)
        Use of each capacity row in each scenario.
    earned : ndarray of float, shape (branches, scenarios)
    planned : ndarray of float, shape (branches, planned rows)
        Use of the rows of planned run times.
    taken : ndarray of bool, shape (branches, jobs)
        The jobs that are selected, in the order of service.
    bound : ndarray of float, shape (branches,)
        Upper bound on the value.
    """

    used: Integers
    earned: Floats
    planned: Floats
    taken: Mask
    bound: Floats

    def at(self, which: NDArray[np.generic] | slice) -> Branches:
        """Return the branches at some positions or under a mask."""
        return Branches._make(part[which] for part in self)


class ServiceOrderSearch:
    """Branch and bound at the prices and the weights of a `ScenarioRelaxation`."""

    def __init__(
        self,
        sample: Scenarios,
        relaxed: ScenarioRelaxation,
        prices: Floats,
        weights: Floats,
        params: ScenarioParams = DEFAULTS,
    ) -> None:
        self.sample, self.relaxed, self.weights, self.params = sample, relaxed, weights, params
        order = sample.order[sample.open[sample.order]].astype(np.int64)
        self.order, self.rewards = order, sample.rewards[order]
        self.fits = sample.fits[:, order]
        crowded = [row for row in relaxed.crowded if row.work.dtype == np.int64]
        self.sound = len(crowded) == len(relaxed.crowded)  # else sums do not fit 64 bits
        self.rooms = np.array([row.room for row in crowded], dtype=np.int64)
        self.asked = np.zeros((len(crowded), sample.count, len(order)), dtype=np.int64)
        for row, asked in zip(crowded, self.asked, strict=True):
            work = np.zeros(len(sample.open), dtype=np.int64)
            work[row.jobs] = row.work
            asked[:] = sample.run_time_factors[:, order] * work[order]
        place = relaxed.place[order]
        self.rows, self.room = relaxed.rows.dense()[:, place], relaxed.room
        after = np.cumsum(np.minimum(0, self.rows)[:, ::-1], axis=1)[:, ::-1]
        self.least = np.concatenate((after, np.zeros((len(after), 1))), axis=1)
        self.possible = relaxed.possible[place]
        self._keep_prices(prices, place)
        with np.errstate(divide="ignore", invalid="ignore"):
            counts = self.possible if self.chance else self.fits
            density = np.where(counts, self.rewards / self.asked[0], 0) if crowded else self.fits
        self.ranked = np.argsort(-np.asarray(density, dtype=np.float64), axis=1, kind="stable")

    @property
    def chance(self) -> bool:
        """Whether each job has a chance constraint."""
        return self.sample.measure.kind == "chance"

    @property
    def applicable(self) -> bool:
        """Whether sums fit 64 bits and a capacity row can bind."""
        return self.sound and self.asked.size > 0

    def _keep_prices(self, prices: Floats, place: NDArray[np.intp]) -> None:
        """Keep the prices of rows and scenarios, and the most that undecided jobs can add."""
        relaxed, count = self.relaxed, self.sample.count
        self.planned, rest = prices[: len(self.room)], prices[len(self.room) :]
        self.priced = self.weights * rest.reshape(len(relaxed.asked), count)
        gain = self.weights[:, None] * self.rewards
        for price, asked in zip(self.priced, relaxed.asked, strict=True):
            gain = gain - price[:, None] * asked[:, place]
        worth = np.where(self.fits, np.maximum(0, gain), 0).sum(axis=0) - self.planned @ self.rows
        remaining = np.cumsum(np.maximum(0, worth * self.possible)[::-1])[::-1]
        self.left = np.append(remaining, 0.0)

    def run(
        self,
        best: Callable[[], float],
        offer: Callable[[Mask], bool],
        late: Callable[[], bool],
        gap: float,
    ) -> float:
        """Search until the tree is empty or ``late`` returns True; return the upper bound.

        ``best`` returns the value of the incumbent. ``offer`` is called with selections, and
        returns False for an infeasible one.
        """
        count = self.sample.count
        none = np.zeros((1, len(self.rooms), count), dtype=np.int64), np.zeros((1, count))
        rest = np.zeros((1, len(self.room))), np.zeros((1, len(self.order)), dtype=np.bool_)
        waiting = [(0, Branches(*none, *rest, np.full(1, np.inf)))]
        most = min(self.params.branches, max(4, self.params.stored_numbers // self.asked.size))

        def enough() -> float:
            return best() + gap * abs(best()) if np.isfinite(best()) else -np.inf

        while waiting and not late():
            depth, some = waiting.pop()
            if len(some.bound) > most:
                waiting.append((depth, some.at(slice(None, -most))))
                some = some.at(slice(-most, None))
            some = self._children(some.at(some.bound > enough()), depth)
            some = self._with_bounds(some, depth + 1)
            some = some.at(np.argsort(some.bound, kind="stable"))
            some = some.at(some.bound > enough())
            if depth + 1 < len(self.order):
                waiting.append((depth + 1, some))
                continue
            for taken, value in zip(some.taken[::-1], some.bound[::-1].tolist(), strict=True):
                if value <= enough():
                    break
                if late():
                    return max([enough(), *_bound_of_open([*waiting, (depth, some)])])
                chosen = np.zeros(len(self.sample.open), dtype=np.bool_)
                chosen[self.order[taken]] = True
                offer(chosen)
        return max([enough(), *_bound_of_open(waiting)])

    def _children(self, some: Branches, depth: int) -> Branches:
        """Return the branches with and without the next job that can satisfy the planned rows."""
        asked, fits = self.asked[:, :, depth], self.fits[:, depth]
        used, planned = some.used + asked, some.planned + self.rows[:, depth]
        crowded = (used > self.rooms[:, None]) & (asked > 0)
        done = fits & ~crowded.any(axis=1)
        with_it, taken = np.full(len(used), self.possible[depth]), some.taken.copy()
        taken[:, depth] = True
        if self.chance:
            with_it &= done.sum(axis=1) >= self.sample.least
            done[:] = True
        both = [
            Branches(used, some.earned + self.rewards[depth] * done, planned, taken, some.bound),
            some,
        ]
        kept = [with_it, np.ones(len(used), dtype=np.bool_)]
        least = self.least[:, depth + 1] - self.room
        for k, one in enumerate(both):
            kept[k] &= (one.planned + least <= NEAR).all(axis=1)
        parts = zip(*(one.at(which) for one, which in zip(both, kept, strict=True)), strict=True)
        return Branches._make(map(np.concatenate, parts))

    def _with_bounds(self, some: Branches, depth: int) -> Branches:
        """Return branches with their bounds; at the last depth, the bounds are the values."""
        room = np.maximum(0, self.rooms[:, None] - some.used)
        bound = self._measure_of_branches(some.earned + self._knapsacks(room[:, 0], depth))
        if not self.chance and depth < len(self.order):
            priced = some.earned @ self.weights + (self.room - some.planned) @ self.planned
            for r, price in enumerate(self.priced):
                priced += (room[:, r] / self.rooms[r]) @ price
            bound = np.minimum(bound, priced + self.left[depth])
        return some._replace(bound=np.minimum(bound, some.bound))

    def _measure_of_branches(self, values: Floats) -> Floats:
        """Return the risk measure of upper bounds, shape (branches, scenarios)."""
        count = values.shape[1]
        if self.chance:  # enough scenarios have room for all selected jobs
            return np.partition(values, count - self.sample.least, axis=1)[
                :, count - self.sample.least
            ]
        weights = self.relaxed.worst(np.arange(count, dtype=np.float64))
        return np.asarray(np.sort(values, axis=1) @ weights)

    def _knapsacks(self, room: Integers, depth: int) -> Floats:
        """Return the fractional knapsack of the jobs from a depth on, for each scenario."""
        most = np.zeros(room.shape)
        for s, ranked in enumerate(self.ranked):
            jobs = ranked[ranked >= depth]
            jobs = jobs[self.possible[jobs] if self.chance else self.fits[s, jobs]]
            asked, worth = self.asked[0, s, jobs], self.rewards[jobs]
            free = asked == 0
            steps = np.concatenate(([0.0], np.cumsum(asked[~free], dtype=np.float64)))
            total = np.concatenate(([0.0], np.cumsum(worth[~free])))
            most[:, s] = worth[free].sum() + np.interp(room[:, s], steps, total)
        return most


def _bound_of_open(waiting: list[tuple[int, Branches]]) -> list[float]:
    """Return the upper bound of each group of open branches."""
    return [float(some.bound.max(initial=-np.inf)) for _, some in waiting]
