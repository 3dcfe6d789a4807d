"""Whole numbers for CP-SAT: lengths, rewards and rows, never claiming more than they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite

import numpy as np
from numpy.typing import NDArray

from formulations.dssp.rows import Row
from instances.dssp import Instance

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FINEST = 1 << 30
"""The horizon is at most this many units: CP-SAT's own numbers stay far below 2^31."""

COARSE = 1 << 20
"""Units of the horizon where lengths are no decimal fractions."""

LARGEST_SUM = 1 << 40
"""What the coefficients of a row, or the rewards, may sum to."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Time in whole units.

    Attributes
    ----------
    scale : float
        Units per unit of time.
    exact : bool
        Whether all lengths are whole in units; else they are rounded up, so that what is found
        holds, but what is proven does not.
    lengths : ndarray of int, shape (tasks,)
    deadline, horizon : int
        Rounded down: where lengths are whole, nothing ends in between.
    rounding : float
        The largest share of the deadline that rounding adds to a job's critical path.
    """

    scale: float
    exact: bool
    lengths: Ints
    deadline: int
    horizon: int
    rounding: float

    @classmethod
    def of(cls, night: Instance) -> Grid:
        """Choose the grid of an instance."""
        tasks = night.tasks
        times = np.concatenate((tasks.lengths, [delay for delay, _ in night.late]))
        if night.late:  # what is paid late depends on the deadline's exact place
            times = np.append(times, night.deadline)
        scale = _decimal(times, FINEST / max(night.horizon, 1e-300))
        exact = scale > 0
        if not exact:
            scale = 2.0 ** floor(np.log2(COARSE / night.horizon))
        able = np.minimum(tasks.lengths * scale, 2.0 * FINEST)  # what is longer cannot be run
        lengths = (np.rint(able) if exact else np.ceil(able)).astype(np.int64)
        longest = np.maximum.reduceat(lengths, tasks.first_task[:-1]) if len(lengths) else lengths
        added = np.add.reduceat(longest / scale - tasks.longest, tasks.first_stage[:-1])
        return cls(
            scale=scale,
            exact=exact,
            lengths=lengths,
            deadline=floor(night.deadline * scale * (1 + 1e-12)),
            horizon=floor(night.horizon * scale * (1 + 1e-12)),
            rounding=0.0 if exact else float(added.max(initial=0.0)) / night.deadline,
        )


@dataclass(frozen=True)
class WholeRow:
    """A row in whole numbers: lower <= sum of coefficient·x_j <= upper; None where there is none.

    Attributes
    ----------
    exact : bool
        Whether it holds for the same selections as the row; else for fewer.
    """

    jobs: Sequence[int]
    coefficients: Sequence[int]
    lower: int | None
    upper: int | None
    exact: bool


def whole_rows(row: Row) -> list[WholeRow]:
    """Return a row in whole numbers: one where its coefficients are, else one for each bound."""
    given = np.asarray(row.coefficients, dtype=np.float64)
    total = float(np.abs(given).sum())
    scale = _decimal(np.abs(given), LARGEST_SUM / max(total, 1e-300))
    if scale > 0:
        # A checker forgives a billionth; the bounds are products of rounded numbers.
        low, high = row.lower * scale, row.upper * scale
        lower = ceil(low - 1e-10 * abs(low)) if isfinite(low) else None
        upper = floor(high + 1e-10 * abs(high)) if isfinite(high) else None
        coefficients = np.rint(given * scale).astype(int).tolist()
        return [WholeRow(row.jobs, coefficients, lower, upper, exact=True)]
    largest = max(total, abs(row.lower) if isfinite(row.lower) else 0.0)
    scale = 2.0 ** floor(np.log2(LARGEST_SUM / largest))
    found = []
    if isfinite(row.upper):
        above = np.ceil(given * scale).astype(int).tolist()
        found.append(WholeRow(row.jobs, above, None, floor(row.upper * scale), exact=False))
    if isfinite(row.lower):
        below = np.floor(given * scale).astype(int).tolist()
        found.append(WholeRow(row.jobs, below, ceil(row.lower * scale), None, exact=False))
    return found


def whole_rewards(night: Instance, grid: Grid) -> tuple[list[int], float, int]:
    """Return rewards in whole units, units per unit of reward, and how many units may be lost.

    Where rewards are not whole they are rounded down, and so is what is paid late; the slopes of
    ``late`` are products of rewards and times, which must stay far below 2^63.
    """
    rewards, jobs = night.rewards, len(night.jobs)
    total = float(rewards.sum())
    if total == 0.0:
        return [0] * jobs, 1.0, 0
    if len(night.late) > 1:
        scale = 2.0 ** floor(np.log2(2.0**52 / grid.horizon / total))
        return np.floor(rewards * scale).astype(int).tolist(), scale, 3 * jobs
    scale = _decimal(rewards, LARGEST_SUM / total)
    if scale > 0:
        return np.rint(rewards * scale).astype(int).tolist(), scale, 0
    scale = 2.0 ** floor(np.log2(LARGEST_SUM / total))
    return np.floor(rewards * scale).astype(int).tolist(), scale, jobs


def _decimal(numbers: Floats, most: float) -> float:
    """Return the power of ten, at most 10^6, that makes numbers whole; 0 where none does.

    `most` is the largest scale that leaves room for sums.
    """
    for places in range(7):
        scale = 10.0**places
        if scale > most:
            return 0.0
        scaled = numbers * scale
        if np.all(np.abs(scaled - np.rint(scaled)) <= 2 * np.finfo(float).eps * scaled):
            return scale
    return 0.0
