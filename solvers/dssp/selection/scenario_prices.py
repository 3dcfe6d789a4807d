"""Bounds on sample average programs by prices of what there is in each scenario.

Nothing that is served in an order earns more in a scenario than the best of its selected jobs that
fit there. Prices of what there is in each scenario, and of the rows that hold for planned times,
turn this into a bound, job by job. Under a chance each row of the capacity holds as a whole in
enough scenarios; which of them are left out is chosen against us, and what a job gains by that is
taken on a chord above it.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.sample import Sample, ServiceRow
from schedopt.formulations.dssp.selection import Selection

if TYPE_CHECKING:
    from schedopt.formulations.program import IntegerProgram

Floats = NDArray[np.float64]

PRICED = 8
"""Rows of the capacity that are priced in scenarios; without the others the bound is weaker."""


class ScenarioBound(NamedTuple):
    """A bound from prices, and what they rest on.

    Attributes
    ----------
    value : float
    earned : ndarray of float, shape (scenarios,)
        What the relaxed answer comes to in each scenario, at these prices.
    planned, priced : ndarray of float
        What it leaves of each row: of planned times, and in scenarios.
    """

    value: float
    earned: Floats
    planned: Floats
    priced: Floats


class PlannedRows:
    """Rows of planned run times over the open jobs, as sparse entries, row by row.

    ``rows``: the jobs of each, by their places among the open ones, and the coefficients.
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

    def __init__(self, model: Selection, sample: Sample, program: IntegerProgram) -> None:
        self.sample, self.at = sample, np.flatnonzero(model.open)
        self.rewards, self.fits = sample.rewards[self.at], sample.fits[:, self.at]
        self.rows, self.room = _planned_rows(program, self.at)
        demands = [(_largest_demand(row, sample), row) for row in sample.rows]
        crowded = [(demand, row) for demand, row in demands if demand > row.room]
        crowded.sort(key=lambda one: -one[0] / one[1].room if one[1].room > 0 else 1.0)
        self.crowded = [row for _, row in crowded]
        tight = [row for row in self.crowded[:PRICED] if row.room > 0]
        self.asked = [_requested_parts(row, sample, self.at) for row in tight]
        self.tail = float((1 - sample.measure.level) * sample.count)
        self.possible = self.fits.sum(axis=0) >= sample.least  # else it has no chance

    @cached_property
    def place(self) -> NDArray[np.intp]:
        """Where each job stands among the open ones; -1 for a closed job."""
        place = np.full(len(self.sample.rewards), -1, dtype=np.intp)
        place[self.at] = np.arange(len(self.at))
        return place

    @property
    def size(self) -> int:
        """How many prices there are."""
        return len(self.room) + len(self.asked) * self.sample.count

    def bound(self, prices: Floats, weights: Floats) -> ScenarioBound:
        """Return the bound of some prices: of planned rows, then of each scenario of each row.

        These are for a scenario of weight 1.
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
        """Return the bound where each row may be broken in some scenarios, the worst of them."""
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
        """Return the weights of scenarios under which some rewards come to the least."""
        count = len(earned)
        if self.sample.measure.kind != "cvar":
            return np.full(count, 1 / count)
        weights, order = np.zeros(count), np.argsort(earned, kind="stable")
        weights[order] = np.clip(self.tail - np.arange(count), 0, 1) / self.tail
        return weights

    def project_weights(self, weights: Floats) -> Floats:
        """Return the nearest weights that sum to 1 and are at most that of the worst scenarios."""
        low, high = float(weights.min()) - 1, float(weights.max())
        for _ in range(60):
            middle = (low + high) / 2
            if np.clip(weights - middle, 0, 1 / self.tail).sum() > 1:
                low = middle
            else:
                high = middle
        moved = np.clip(weights - high, 0, 1 / self.tail)
        room = 1 / self.tail - moved  # what rounding leaves short of 1 goes where no cap is passed
        short = max(0.0, 1 - float(moved.sum()))
        return np.asarray(moved + short * room / max(1e-300, float(room.sum())), dtype=np.float64)


def _planned_rows(program: IntegerProgram, at: NDArray[np.intp]) -> tuple[PlannedRows, Floats]:
    """Return the rows that can bind of planned run times, each as at most 1, 0 or -1."""
    place = {int(j): i for i, j in enumerate(at)}
    rows: list[tuple[list[int], list[float]]] = []
    room = []
    columns, values = program.column.tolist(), program.coefficient.tolist()
    lower, upper = program.lower.tolist(), program.upper.tolist()
    for i, (a, b) in enumerate(pairwise(program.first.tolist())):
        if any(j not in place for j in columns[a:b]):
            continue  # it can be lifted
        for sign, most in ((1, upper[i]), (-1, -lower[i])):
            if sum(max(0, sign * c) for c in values[a:b]) <= most:
                continue
            unit = abs(most) or max(map(abs, values[a:b]))
            rows.append(([place[j] for j in columns[a:b]], [sign * c / unit for c in values[a:b]]))
            room.append(most / unit)
    return PlannedRows(rows, len(at)), np.array(room, dtype=np.float64)


def _largest_demand(row: ServiceRow, sample: Sample) -> float:
    """Return the most that a row's jobs ask for together in any scenario."""
    return float((sample.drawn[:, row.jobs] @ row.work).max(initial=0))


def _requested_parts(row: ServiceRow, sample: Sample, at: NDArray[np.intp]) -> Floats:
    """Return which part of a row's room each open job asks for in each scenario."""
    work = np.zeros(len(sample.open))
    work[row.jobs] = row.work.astype(np.float64)
    return np.asarray(sample.drawn[:, at] * (work[at] / row.room), dtype=np.float64)


def _concatenated(parts: list[Floats]) -> Floats:
    """Return all parts as one array."""
    return np.concatenate(parts) if parts else np.zeros(0)
