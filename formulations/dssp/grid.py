"""Integer times, rewards and rows for CP-SAT, and what rounding costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, inf, lcm, nextafter

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.rows import Row
from schedopt.formulations.program import Number, exact, finite
from schedopt.instances.decimals import as_written, common_scale, lowest
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.planned import FORGIVEN

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


FINEST = 1 << 36
"""Most units of an exact grid: a unit is more than the rounding error that completion times are
allowed, and the work of 2^20 processors stays far below 2^63."""
FINEST_LATE = 1 << 30
"""The same if late jobs are paid, or machines are very wide: CP-SAT is slow with larger slopes."""
ROUNDED = 1 << 20
"""The units up to the horizon if times have no common unit that is large enough."""
LARGEST_SUM = 1 << 40
"""Largest sum of a row's coefficients, or of the rewards."""

LARGEST = 1 << 30
"""Largest coefficient of a row: CP-SAT was seen to err beyond 2^31 (or-tools issue 5293)."""

NOISE = 1e-14
"""Relative rounding error of a reward against a decimal of few digits, such as 0.001 times 9."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Time in integer units.

    Attributes
    ----------
    scale : float
        Units in the instance's unit of time.
    exact : bool
        Whether lengths, releases and the times at which amounts rise are integers. Otherwise they
        are rounded up: solutions are feasible, but bounds do not hold.
    lengths : ndarray of int, shape (tasks,)
        The length of each task.
    releases : ndarray of int, shape (jobs,)
        Rounded up.
    deadlines, horizons : ndarray of int, shape (jobs,)
        The times by which each job is paid in full, and at all, rounded down.
    horizon : int
        The last horizon.
    step : int
        A divisor of all starts and ends, and of the times on which late payments depend.
    rounding : float
        The largest part of the deadline that rounding adds to a job's critical path.
    """

    scale: float
    exact: bool
    lengths: Ints
    releases: Ints
    deadlines: Ints
    horizons: Ints
    horizon: int
    step: int
    rounding: float

    @classmethod
    def of(cls, night: Instance) -> Grid:
        """Return the grid of an instance: exact if its times have a common unit."""
        tasks = night.tasks
        there = [*night.machine.pools.values(), *night.machine.resources.values()]
        more = [time for steps in there for time, change in steps.changes() if change > 0]
        rises = [float(time) for time in more if time < night.horizon]
        times = np.concatenate((tasks.lengths, night.releases, rises))
        if night.late:  # late payments depend on the exact deadlines
            late = [night.deadline, *(delay for delay, _ in night.late)]
            times = np.concatenate((times, late, night.deadlines))
        wide = night.machine.total.most > FINEST >> 16
        finest = FINEST_LATE if night.late or wide else FINEST
        scale = float(common_scale(times, finest / max(night.horizon, 1e-300)))
        exact = scale > 0
        step = int(np.gcd.reduce(np.rint(times * scale).astype(np.int64))) if exact else 1
        if not exact:
            scale = 2.0 ** floor(np.log2(ROUNDED / night.horizon))
        able = np.minimum(tasks.lengths * scale, 2.0 * FINEST)  # longer tasks cannot run
        lengths = (np.rint(able) if exact else np.ceil(able)).astype(np.int64)
        longest = np.maximum.reduceat(lengths, tasks.first_task[:-1]) if len(lengths) else lengths
        added = np.add.reduceat(longest / scale - tasks.longest, tasks.first_stage[:-1])
        unit, delay = Fraction(scale) * FORGIVEN, as_written(night.delay)
        end = inf if night.end is None else as_written(night.end)
        deadlines = _times_in_units(night.deadlines, lambda time: floor(time * unit))
        horizons = _times_in_units(
            night.deadlines, lambda time: floor(min(time + delay, end) * unit)
        )
        return cls(
            scale=scale,
            exact=exact,
            lengths=lengths,
            releases=_times_in_units(night.releases, lambda time: ceil(time * Fraction(scale))),
            deadlines=deadlines,
            horizons=horizons,
            horizon=int(horizons.max(initial=floor(min(as_written(night.deadline), end) * unit))),
            step=step,
            rounding=0.0 if exact else float(added.max(initial=0.0)) / night.deadline,
        )


def _times_in_units(times: Floats, rounded: Callable[[Fraction], int]) -> Ints:
    """Return times in units, computing each distinct time once."""
    exact = {time: rounded(as_written(time)) for time in set(times.tolist())}
    return np.array([exact[time] for time in times.tolist()], dtype=np.int64)


@dataclass(frozen=True)
class GridRow:
    """An integer row: lower <= sum of coefficient·x_j <= upper; None for no bound.

    ``exact`` is True if the same selections satisfy it as the given row, otherwise fewer do.
    """

    jobs: Sequence[int]
    coefficients: Sequence[int]
    lower: int | None
    upper: int | None
    exact: bool


def whole_rows(row: Row) -> list[GridRow]:
    """Return a row in integers: one row if it can be exact, otherwise one for each bound."""
    body: dict[int, Number] = {}
    for j, c in zip(row.columns, row.coefficients, strict=True):
        body[j] = body[j] + exact(c) if j in body else exact(c)
    jobs = sorted(j for j, c in body.items() if c != 0)
    coefficients, scale = lowest([exact(body[j]) for j in jobs])
    lower = ceil(exact(row.lower) * scale) if finite(row.lower) else None
    upper = floor(exact(row.upper) * scale) if finite(row.upper) else None
    total = sum(map(abs, coefficients))
    largest = max(map(abs, coefficients), default=0)
    if (
        total <= LARGEST_SUM and largest <= LARGEST
    ):  # a bound beyond what the row can reach is as good as one just beyond
        low = None if lower is None else max(-total - 1, min(total + 1, lower))
        high = None if upper is None else max(-total - 1, min(total + 1, upper))
        return [GridRow(jobs, coefficients, low, high, exact=True)]
    unit = 1 + max(max(total, abs(lower or 0)) // LARGEST_SUM, largest // LARGEST)
    whole = []
    if upper is not None:
        above = [-(-c // unit) for c in coefficients]
        whole.append(GridRow(jobs, above, None, max(upper // unit, -LARGEST_SUM), exact=False))
    if lower is not None:
        below = [c // unit for c in coefficients]
        whole.append(GridRow(jobs, below, -(-lower // unit), None, exact=False))
    return whole


def whole_rewards(night: Instance, grid: Grid) -> tuple[list[int], float, int]:
    """Return integer rewards, the units in a reward of 1, and the units that rounding may lose.

    Rewards that are no integers are rounded down, and so are late payments. The slopes of ``late``
    are products of rewards and times, which must stay far below 2^63.
    """
    rewards, jobs = night.rewards, len(night.jobs)
    total, late = float(rewards.sum()), len(night.late) > 1
    if total == 0.0:
        return [0] * jobs, 1.0, 0
    parts = _parts_of_reward(night, grid) if late else 1
    if parts and (exact := _decimal_rewards(rewards, min(LARGEST_SUM / total, 1e6 * parts), parts)):
        whole, scale = exact
        if not late or max(whole) <= LARGEST:
            return whole, scale, 0
    room = 2.0**52 / grid.horizon if late else LARGEST_SUM
    scale = 2.0 ** floor(np.log2(room / total))
    return np.floor(rewards * scale).astype(int).tolist(), scale, (1 + 2 * late) * jobs


def _decimal_rewards(rewards: Floats, most: float, parts: int) -> tuple[list[int], float] | None:
    """Return rewards as multiples of `parts`, and the units in 1; None if digits are too many.

    The units in 1 are rounded down, so that no reward exceeds its units.
    """
    scale = 1
    while scale * parts <= most:
        whole = np.rint(rewards * scale)
        if np.array_equal(whole / scale, rewards):
            return (whole * parts).astype(int).tolist(), float(scale * parts)
        if (np.abs(rewards * scale - whole) <= NOISE * whole).all():
            paid = [(int(w), as_written(r)) for w, r in zip(whole, rewards, strict=True)]
            unit = min(w / r for w, r in paid if r) * parts
            near = float(unit)
            return [w * parts for w, _ in paid], near if near <= unit else nextafter(near, 0.0)
        scale *= 10
    return None


def _parts_of_reward(night: Instance, grid: Grid) -> int:
    """Return the parts of a reward that make all late payments integers; 0 on a rounded grid.

    Some best schedule starts all tasks as soon as they can: all ends, and so delays, are then
    multiples of the common divisor of all times.
    """
    if not grid.exact:
        return 0
    delays = [round(delay * grid.scale) for delay, _ in night.late]
    paid = [as_written(part) for _, part in night.late]
    paid += [
        (high - low) / ((b - a) // grid.step)
        for (a, b), (high, low) in zip(pairwise(delays), pairwise(paid), strict=True)
    ]
    return lcm(*(part.denominator for part in paid))
