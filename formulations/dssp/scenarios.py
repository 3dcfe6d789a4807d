"""The sample average program of a selection: its reward over scenarios of run times.

The selected jobs are served in a fixed order: by density, the reward times the share of scenarios
in which the critical path fits, over planned demand, but after their predecessors. In a scenario
each job's run times are multiplied by a factor. A selected job is on time if its critical path fits
between its release (or the end of its predecessors, each alone on the machine) and its deadline,
and if in each row of the capacity the selected jobs up to it fit. A late job earns nothing, but
uses its capacity. All numbers are integers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from functools import partial
from math import ceil, fsum, inf, sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.rows import Row, window_rows
from schedopt.formulations.program import exact
from schedopt.instances.decimals import as_written, lowest
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.scenarios import (
    DECIDING,
    JUDGING,
    MILLION,
    Measure,
    factors,
    judges,
    longest,
    on_time_alone,
)

NORMAL = 1.96
"""The 97.5% quantile of the standard normal distribution."""

Integers = NDArray[Any]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class ServiceRow(NamedTuple):
    """An integer row of the capacity, with its jobs in the order of service.

    Attributes
    ----------
    jobs : ndarray of int, shape (n,)
        The jobs, by position.
    work : ndarray of int, shape (n,)
        The demand of each job at a factor of one millionth.
    room : int
        The capacity, in the same unit.
    """

    jobs: NDArray[np.intp]
    work: Integers
    room: int


class Scenarios:
    """Scenarios of run times, and the rewards of selections in them.

    Parameters
    ----------
    night : Instance
        The jobs, with spreads of run times.
    open_ : ndarray of bool, shape (jobs,)
        The jobs that can be selected.
    fill : float
        The selection parameter r; the capacity of a scenario is that of min(r, 1).
    measure : Measure
        The risk measure.
    run_time_factors : ndarray of int, shape (scenarios, jobs)
        The factors of run times, in millionths.

    Attributes
    ----------
    fits : ndarray of bool, shape (scenarios, jobs)
        Whether the critical path of a job fits.
    order : ndarray of int, shape (jobs,)
        The order of service.
    rows : list of ServiceRow
        The rows of the capacity.
    seconds_to_judge : float
        The approximate time that `estimate_risk` takes.
    """

    def __init__(
        self,
        night: Instance,
        open_: Mask,
        fill: float,
        measure: Measure,
        run_time_factors: Integers,
    ) -> None:
        began = time.perf_counter()
        self.measure, self.run_time_factors, self.rewards = measure, run_time_factors, night.rewards
        self.open, self.count = open_, len(run_time_factors)
        self._fitting = (
            partial(on_time_alone, night)
            if night.features
            else partial(np.greater_equal, _largest_path_factors(night))
        )
        self.fits = self._fitting(run_time_factors)
        self.order = order = _service_order(night, _by_density(night, self.fits))
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order))
        most = longest(night)
        rows = window_rows(night, open_, min(fill, 1.0), most / MILLION)
        self.rows = [_service_row(row, rank, most) for row in rows]
        built = time.perf_counter() - began
        self.seconds_to_judge = built * judges(night) / max(1, self.count)

    @classmethod
    def of(
        cls, night: Instance, open_: Mask, fill: float, *, risk: str, scenarios: int, seed: int
    ) -> Self:
        """Draw the scenarios of the optimization."""
        run_time_factors = factors(night, seed, DECIDING, scenarios)
        return cls(night, open_, fill, Measure.read(risk), run_time_factors)

    @property
    def least(self) -> int:
        """The number of scenarios in which each selected job must be on time."""
        return ceil(self.measure.level * self.count) if self.measure.kind == "chance" else 0

    def on_time(self, chosen: Mask) -> Mask:
        """Return which jobs are selected and on time, shape (scenarios, jobs)."""
        on_time: Mask = self.fits & chosen
        for row in self.rows:
            run = chosen[row.jobs]
            jobs, work = row.jobs[run], row.work[run]
            if len(jobs):
                on_time[:, jobs] &= (
                    np.cumsum(self.run_time_factors[:, jobs] * work, axis=1) <= row.room
                )
        return on_time

    def value(self, chosen: Mask) -> float | None:
        """Return the value of a selection under the measure; None if it violates a chance."""
        return self.worth(self.on_time(chosen), chosen)

    def worth(self, on_time: Mask, chosen: Mask) -> float | None:
        """Return the value of jobs on time, given with shape (scenarios, jobs)."""
        if self.measure.kind == "chance":
            kept = bool((on_time[:, chosen].sum(axis=0) >= self.least).all())
            return fsum(self.rewards[chosen].tolist()) if kept else None
        if self.measure.kind == "mean":
            return fsum((self.rewards * on_time.sum(axis=0)).tolist()) / self.count
        return worst_mean(on_time @ self.rewards, self.measure.level)

    def estimate_risk(self, chosen: Mask, night: Instance, seed: int) -> dict[str, float]:
        """Return the value of a selection in these scenarios and in fresh ones, with its interval.

        For a chance the value is the least share of scenarios in which a selected job is on time.
        """
        other, count = copy(self), judges(night)
        other.run_time_factors, other.count = factors(night, seed, JUDGING, count), count
        other.fits = self._fitting(other.run_time_factors)
        inside, _ = self._estimate(chosen)
        outside, half = other._estimate(chosen)
        return {
            "in_sample": inside,
            "out_of_sample": outside,
            "confidence": half,
            "scenarios": self.count,
        }

    def _estimate(self, chosen: Mask) -> tuple[float, float]:
        """Return the value of a selection, and the half-width of its 95% confidence interval."""
        on_time = self.on_time(chosen)
        if self.measure.kind == "chance":
            share = float(on_time[:, chosen].mean(axis=0).min(initial=1.0))
            return share, wilson(share, self.count)
        values = on_time @ self.rewards
        value = self.worth(on_time, chosen) or 0.0
        if self.measure.kind == "cvar":
            tail = (1 - self.measure.level) * self.count
            level = float(np.sort(values)[int(tail)])
            values = level - np.maximum(0, level - values) * (self.count / float(tail))
        deviation = float(values.std(ddof=1)) if self.count > 1 else 0.0
        return value, NORMAL * deviation / sqrt(self.count)


def wilson(share: float, count: int) -> float:
    """Return the half-width of Wilson's 95% confidence interval of a proportion."""
    wide = sqrt(share * (1 - share) / count + NORMAL**2 / (4 * count**2))
    return NORMAL * wide / (1 + NORMAL**2 / count)


def worst_mean(earned: Floats, level: Fraction) -> float:
    """Return the mean of the worst part 1 - level of rewards."""
    tail = (1 - level) * len(earned)
    ordered, whole = np.sort(earned).tolist(), int(tail)
    rest = float(tail - whole) * ordered[whole] if tail > whole else 0.0
    return fsum([*ordered[:whole], rest]) / float(tail)


def _by_density(night: Instance, fits: Mask) -> list[int]:
    """Return jobs by reward over planned demand, highest first; ties are in the file's order."""
    fitting, demands = fits.sum(axis=0).tolist(), night.planned.demands.fractions

    def density(j: int) -> Fraction | float:
        reward = as_written(night.jobs[j].reward)
        return reward * fitting[j] / demands[j] if demands[j] else inf

    return sorted(range(len(demands)), key=density, reverse=True)


def _largest_path_factors(night: Instance) -> Integers:
    """Return the largest factor at which each critical path fits, in millionths, shape (jobs,)."""
    factors = []
    paths = night.planned.paths.fractions
    for path, release, due in zip(paths, night.releases, night.deadlines, strict=True):
        length = as_written(float(due)) - as_written(float(release))
        most = min(2**60, int(MILLION * length / path)) if path else 2**60
        factors.append(most if length >= 0 else -1)
    return np.array(factors, dtype=np.int64)


def _service_order(night: Instance, order: Sequence[int]) -> NDArray[np.intp]:
    """Return the jobs in an order, but each after its predecessors."""
    waiting, served = {night.jobs[j].name: j for j in order}, list[int]()
    while waiting:
        free = (n for n, j in waiting.items() if not waiting.keys() & {*night.jobs[j].after})
        served.append(waiting.pop(next(free)))
    return np.array(served, dtype=np.intp)


def _service_row(row: Row, rank: NDArray[np.intp], most: int) -> ServiceRow:
    """Return a row in integers, in 64 bits if no sum exceeds them. Jobs without demand are omitted.

    ``rank`` is the place of each job in the order of service, ``most`` the largest factor.
    """
    pairs = zip(row.columns, map(exact, row.coefficients), strict=True)
    asked = {j: part for j, part in pairs if part}
    jobs = np.array([*asked], dtype=np.intp)
    work, scale = lowest([*asked.values()])
    room = int(exact(row.upper) * scale * MILLION)
    large = max(sum(work) * most, room) >= 2**62
    order = np.argsort(rank[jobs], kind="stable")
    held = np.array(work, dtype=object if large else np.int64)
    return ServiceRow(jobs[order], held[order], room)
