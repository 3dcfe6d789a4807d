"""Lagrangian bounds on sample average programs.

In each scenario, a selection that is served in an order earns at most the reward of the best subset
of its jobs that fits the capacity. The capacity rows of the scenarios and the rows of planned run
times are relaxed with prices, so that the bound is a sum over jobs. Under a chance constraint each
capacity row holds in enough scenarios. The bound takes the worst choice of the scenarios that are
left out, and replaces the gain of each job by a chord above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.scenarios import Scenarios, ServiceRow
from schedopt.formulations.dssp.selection import Selection

if TYPE_CHECKING:
    from schedopt.formulations.program import IntegerProgram

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScenarioParams:
    """Parameters of the engine for selections under risk.

    Attributes
    ----------
    priced_rows : int
        Capacity rows that have a price in each scenario. More of them give a tighter bound.
    planned_rows : int
        Rows of planned run times whose fractional knapsack gives a first bound.
    price_steps : int
        Steps of the subgradient method.
    price_share : float
        The fraction of the time limit for these steps.
    knapsacks : int
        Knapsacks that are solved for an incumbent; twice as many under a chance constraint.
    knapsack_gap, knapsack_share : float
        Relative gap and fraction of the time left for a knapsack with several capacity rows.
    greedy_check : int
        Jobs of the greedy selection between two checks of the clock.
    declared_size : int
        Jobs times scenarios up to which the declared model is solved afterwards.
    branching_size : int
        Jobs times scenarios times rows up to which branch and bound follows under a time limit.
    branches : int
        Branches that are processed together.
    stored_numbers : int
        About how many numbers the open branches may have.
    """

    priced_rows: int = 8
    planned_rows: int = 8
    price_steps: int = 400
    price_share: float = 0.5
    knapsacks: int = 8
    knapsack_gap: float = 1e-4
    knapsack_share: float = 0.05
    greedy_check: int = 20_000
    declared_size: int = 10_000
    branching_size: int = 100_000
    branches: int = 2_000
    stored_numbers: int = 20_000_000


DEFAULTS = ScenarioParams()


class ScenarioBound(NamedTuple):
    """A Lagrangian bound and its subgradients.

    Attributes
    ----------
    value : float
        The bound.
    earned : ndarray of float, shape (scenarios,)
        Value of the relaxed solution in each scenario, the subgradient of the weights.
    planned, priced : ndarray of float
        Slack of the rows of planned run times, and of the capacity rows in each scenario.
    """

    value: float
    earned: Floats
    planned: Floats
    priced: Floats


class PlannedRows:
    """Rows of planned run times over the open jobs, a sparse matrix.

    ``rows`` has the jobs of each row, as positions among the open jobs, and the coefficients.
    """

    def __init__(self, rows: list[tuple[list[int], list[float]]], width: int) -> None:
        self.width, sizes = width, [len(jobs) for jobs, _ in rows]
        self.first = np.cumsum([0, *sizes])
        self.row = np.repeat(np.arange(len(rows)), sizes)
        self.job = np.array([j for jobs, _ in rows for j in jobs], dtype=np.intp)
        self.part = np.array([c for _, parts in rows for c in parts], dtype=np.float64)

    def __len__(self) -> int:
        return len(self.first) - 1

    def __matmul__(self, chosen: NDArray[Any]) -> Floats:
        """Return the use of each row by the chosen jobs."""
        used = self.part * chosen[self.job]
        return np.asarray(np.bincount(self.row, used, minlength=len(self)), dtype=np.float64)

    def costs(self, prices: Floats) -> Floats:
        """Return the cost of each job at prices of the rows."""
        cost = self.part * prices[self.row]
        return np.asarray(np.bincount(self.job, cost, minlength=self.width), dtype=np.float64)

    def dense(self, first: int = 0, last: int | None = None) -> Floats:
        """Return some rows, or all, as a matrix."""
        last = len(self) if last is None else last
        here = slice(*self.first[[first, last]])
        rows = np.zeros((last - first, self.width))
        rows[self.row[here] - first, self.job[here]] = self.part[here]
        return rows

    def by_job(self) -> list[tuple[NDArray[np.intp], Floats]]:
        """Return the rows that each job is in, and its coefficients there."""
        order = np.argsort(self.job, kind="stable")
        cuts = np.searchsorted(self.job[order], np.arange(1, self.width))
        split = np.split(self.row[order], cuts), np.split(self.part[order], cuts)
        return list(zip(*split, strict=True))


class ScenarioRelaxation:
    """The relaxation of a sample average program by prices, over the open jobs."""

    def __init__(
        self,
        model: Selection,
        sample: Scenarios,
        program: IntegerProgram,
        params: ScenarioParams = DEFAULTS,
    ) -> None:
        self.sample, self.at = sample, np.flatnonzero(model.open)
        self.rewards, self.fits = sample.rewards[self.at], sample.fits[:, self.at]
        self.rows, self.room = _planned_rows(program, self.at)
        demands = [(_largest_demand(row, sample), row) for row in sample.rows]
        crowded = [(demand, row) for demand, row in demands if demand > row.room]
        crowded.sort(key=lambda one: -one[0] / one[1].room if one[1].room > 0 else 1.0)
        self.crowded = [row for _, row in crowded]
        tight = [row for row in self.crowded[: params.priced_rows] if row.room > 0]
        self.asked = [_requested_parts(row, sample, self.at) for row in tight]
        self.tail = float((1 - sample.measure.level) * sample.count)
        self.possible = self.fits.sum(axis=0) >= sample.least  # jobs that meet the chance alone

    @cached_property
    def place(self) -> NDArray[np.intp]:
        """The position of each job among the open jobs; -1 for other jobs."""
        place = np.full(len(self.sample.rewards), -1, dtype=np.intp)
        place[self.at] = np.arange(len(self.at))
        return place

    @property
    def size(self) -> int:
        """The number of prices."""
        return len(self.room) + len(self.asked) * self.sample.count

    def bound(self, prices: Floats, weights: Floats) -> ScenarioBound:
        """Return the bound at given prices: of the planned rows, then of each row and scenario.

        The latter are for a scenario of weight 1.
        """
        planned, rest = prices[: len(self.room)], prices[len(self.room) :]
        priced = weights * rest.reshape(len(self.asked), self.sample.count)
        cost = self.rows.costs(planned)
        fixed = float(planned @ self.room)
        if self.sample.measure.kind == "chance":
            return self._chance(priced, cost, fixed)
        gain = weights[:, None] * self.rewards
        for price, asked in zip(priced, self.asked, strict=True):
            gain -= price[:, None] * asked
        taken = (gain > 0) & self.fits
        worth = np.where(taken, gain, 0.0).sum(axis=0) - cost
        on = (worth > 0) & self.possible
        taken &= on
        left_over = [1 - (asked * taken).sum(axis=1) for asked in self.asked]
        value = fixed + float(priced.sum()) + float(worth[on].sum())
        unit = np.where(weights > 0, weights, 1.0)
        earned = (np.where(taken, gain, 0.0).sum(axis=1) + priced.sum(axis=0)) / unit
        return ScenarioBound(value, earned, self.room - self.rows @ on, _concatenated(left_over))

    def _chance(self, priced: Floats, cost: Floats, fixed: float) -> ScenarioBound:
        """Return the bound under a chance constraint; the worst scenarios are left out."""
        spared = self.sample.count - self.sample.least
        charges = [price[:, None] * asked for price, asked in zip(priced, self.asked, strict=True)]
        base, low, high = self.rewards - cost, np.zeros(len(self.at)), np.zeros(len(self.at))
        for charge in charges:
            base = base - charge.sum(axis=0)
            ordered = np.sort(charge, axis=0)
            low += ordered[:spared].sum(axis=0)
            high += ordered[len(ordered) - spared :].sum(axis=0)
        bottom, top = np.maximum(0, base + low), np.maximum(0, base + high)
        slope = np.divide(top - bottom, high - low, out=np.zeros_like(low), where=high > low)
        slope, bottom = slope * self.possible, bottom * self.possible
        value = fixed + float((bottom - slope * low).sum())
        kept, shift = [], np.zeros(len(self.at))
        for price, charge in zip(priced, charges, strict=True):
            gain = charge @ slope - price  # of leaving a scenario out
            out = np.argsort(gain)[len(gain) - spared :]
            value += float(price.sum() + gain[out].sum())
            stays = np.ones(len(gain), dtype=np.bool_)
            stays[out] = False
            kept.append(stays)
            shift += charge[out].sum(axis=0)
        on = (base + shift > 0) & self.possible
        rest = [
            np.where(stays, 1 - asked @ on, 0.0)
            for stays, asked in zip(kept, self.asked, strict=True)
        ]
        earned = np.zeros(self.sample.count)
        return ScenarioBound(value, earned, self.room - self.rows @ on, _concatenated(rest))

    def worst(self, earned: Floats) -> Floats:
        """Return the weights of the scenarios that give the least value for these rewards."""
        count = len(earned)
        if self.sample.measure.kind != "cvar":
            return np.full(count, 1 / count)
        weights, order = np.zeros(count), np.argsort(earned, kind="stable")
        weights[order] = np.clip(self.tail - np.arange(count), 0, 1) / self.tail
        return weights

    def project_weights(self, weights: Floats) -> Floats:
        """Return the nearest weights that sum to 1 and are at most 1/tail, as CVaR requires."""
        low, high = float(weights.min()) - 1, float(weights.max())
        for _ in range(60):
            middle = (low + high) / 2
            if np.clip(weights - middle, 0, 1 / self.tail).sum() > 1:
                low = middle
            else:
                high = middle
        moved = np.clip(weights - high, 0, 1 / self.tail)
        room = 1 / self.tail - moved  # for the rounding error of the sum
        short = max(0.0, 1 - float(moved.sum()))
        return np.asarray(moved + short * room / max(1e-300, float(room.sum())), dtype=np.float64)


def _planned_rows(program: IntegerProgram, at: NDArray[np.intp]) -> tuple[PlannedRows, Floats]:
    """Return the rows of planned run times that can bind, with right-hand sides 1, 0 or -1."""
    place = {int(j): i for i, j in enumerate(at)}
    rows: list[tuple[list[int], list[float]]] = []
    room = []
    columns, values = program.column.tolist(), program.coefficient.tolist()
    lower, upper = program.lower.tolist(), program.upper.tolist()
    for i, (a, b) in enumerate(pairwise(program.first.tolist())):
        if any(j not in place for j in columns[a:b]):
            continue  # a column can relax the row
        for sign, most in ((1, upper[i]), (-1, -lower[i])):
            if sum(max(0, sign * c) for c in values[a:b]) <= most:
                continue
            unit = abs(most) or max(map(abs, values[a:b]))
            rows.append(([place[j] for j in columns[a:b]], [sign * c / unit for c in values[a:b]]))
            room.append(most / unit)
    return PlannedRows(rows, len(at)), np.array(room, dtype=np.float64)


def _largest_demand(row: ServiceRow, sample: Scenarios) -> float:
    """Return the largest total demand of a row's jobs in any scenario."""
    return float((sample.run_time_factors[:, row.jobs] @ row.work).max(initial=0))


def _requested_parts(row: ServiceRow, sample: Scenarios, at: NDArray[np.intp]) -> Floats:
    """Return the fraction of a row's room that each open job needs in each scenario."""
    work = np.zeros(len(sample.open))
    work[row.jobs] = row.work.astype(np.float64)
    return np.asarray(sample.run_time_factors[:, at] * (work[at] / row.room), dtype=np.float64)


def _concatenated(parts: list[Floats]) -> Floats:
    """Return all parts as one array."""
    return np.concatenate(parts) if parts else np.zeros(0)
