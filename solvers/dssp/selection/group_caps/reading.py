"""Read a selection as one capacity, and bounds on the demand of disjoint groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.rows import Row
from schedopt.formulations.program import Number, exact, finite
from schedopt.instances.decimals import LARGEST, Whole
from schedopt.solvers.dssp.selection.knapsack.items import Floats

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Groups:
    """Maximise the reward of items under a room for all, and bounds on each group's weight.

    Numbers are whole, weights above 0. Items stand group by group, in each by non-increasing ratio.
    """

    weights: Floats  # (n,)
    rewards: Floats  # (n,)
    first: Places  # where each group's items begin, (groups + 1,)
    low: Floats  # least weight of each group, (groups,)
    high: Floats  # largest weight of each group, (groups,)
    room: float  # for all weights
    positions: Places  # of the items among the jobs, (n,)

    @classmethod
    def of(
        cls,
        weights: NDArray[np.int64],
        rewards: NDArray[np.int64],
        owner: Places,
        bounds: tuple[NDArray[np.int64], NDArray[np.int64]],
        room: int,
    ) -> Groups:
        """Sort items into their groups.

        Parameters
        ----------
        weights, rewards : ndarray of int, shape (J,)
            Not negative, with sums below 2^52; an item of weight 0 is none.
        owner : ndarray of int, shape (J,)
            The group of each; -1 leaves an item out.
        bounds : tuple of ndarray of int, shape (groups,) each
            What the weights of each group must come to, and may.
        room : int
        """
        low, high = bounds
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = rewards / weights
        inside = np.flatnonzero((owner >= 0) & (weights > 0))
        order = inside[np.lexsort((-ratios[inside], owner[inside]))]
        counts = np.bincount(owner[order], minlength=len(low))
        total = float(weights[order].sum())
        return cls(
            weights=weights[order].astype(np.float64),
            rewards=rewards[order].astype(np.float64),
            first=np.concatenate(([0], np.cumsum(counts))).astype(np.intp),
            low=np.maximum(low, 0).astype(np.float64),
            high=np.minimum(high, total).astype(np.float64),
            room=float(min(room, total)),
            positions=order,
        )

    @cached_property
    def ratios(self) -> Floats:
        """Reward over weight, shape (n,)."""
        return self.rewards / self.weights

    @cached_property
    def owner(self) -> Places:
        """The group of each item, shape (n,)."""
        return np.repeat(np.arange(len(self.low)), np.diff(self.first))

    @cached_property
    def step(self) -> float:
        """What all sums of rewards are multiples of."""
        return float(np.gcd.reduce(self.rewards.astype(np.int64), initial=0)) or 1.0

    def slip(self, price: float) -> float:
        """Return what rounding can do to a bound at a price."""
        heaviest = max(self.room, float(self.weights.sum()))
        return 2.0**-47 * (float(self.rewards.sum()) + price * heaviest)


@dataclass(frozen=True, eq=False)
class GroupCaps:
    """A selection as the engine takes it."""

    groups: Groups  # the jobs still to decide on
    fixed: Places  # positions of jobs that are always selected
    scale: int  # units in a reward of 1
    worth: int  # of the fixed jobs, in units

    def reward(self, units: float) -> Fraction:
        """Return the reward of a selection whose jobs beside the fixed are worth so many units."""
        return Fraction(int(units) + self.worth, self.scale)


def group_caps_of(model: Selection) -> GroupCaps | None:
    """Return a selection as shares; None where it is something else, or its numbers are too large.

    Jobs of one group are under the same bounds on their demand; single jobs may be required or
    forbidden.
    """
    if model.changed or not model.single_capacity:
        return None
    night = model.instance
    demands, rewards = night.planned.demands, Whole.of(night.rewards)
    for numbers in (demands.numbers, rewards.numbers):
        if numbers.dtype == object or int(numbers.sum()) >= LARGEST:
            return None
    room = demands.down(night.room(model.fill))
    reader = _RowReader(demands, model.open, min(room, int(demands.numbers.sum())))
    if not all(reader.read(row) for _, row in model.stated) or reader.broken:
        return None
    return reader.shape(rewards)


class _RowReader:
    """Reads rows one after another."""

    def __init__(self, demands: Whole, open_: NDArray[np.bool_], room: int) -> None:
        self._demands, self._room = demands, room
        self._forced: NDArray[np.int8] = np.where(open_, -1, 0).astype(np.int8)
        self._owner = np.where(open_, 0, -1).astype(np.intp)
        self._known: dict[tuple[int, ...], int] = {}
        self._bounds = [(0, room)]
        self.broken = False

    def read(self, row: Row) -> bool:
        """Read a row; tell whether it fits the shape."""
        if row.unless_all:
            return False
        jobs = list(row.jobs)
        if not jobs:
            self.broken |= not (row.lower <= 0 <= row.upper)
            return True
        if len(jobs) == 1:
            return self._read_single_job(jobs[0], row)
        if self._asks_for(jobs, row.coefficients):
            return self._read_group(jobs, row)
        if row.lower == len(jobs) and all(c == 1 for c in row.coefficients):
            self._force(jobs, 1)
            return True
        return False

    def _asks_for(self, jobs: Sequence[int], coefficients: Sequence[Number]) -> bool:
        """Tell whether coefficients are the jobs' demands."""
        asked = self._demands.take(np.asarray(jobs))
        if isinstance(coefficients, Whole) and coefficients.scale == asked.scale:
            return np.array_equal(coefficients.numbers, asked.numbers)
        return list(coefficients) == asked.fractions

    def _read_single_job(self, job: int, row: Row) -> bool:
        """Read a row about a single job."""
        coefficient = exact(row.coefficients[0])
        for value in (0, 1):
            if not row.lower <= coefficient * value <= row.upper:
                self._force([job], 1 - value)
        return True

    def _force(self, jobs: Iterable[int], value: int) -> None:
        for job in jobs:
            self.broken |= self._forced[job] == 1 - value
            self._forced[job] = value

    def _read_group(self, jobs: Sequence[int], row: Row) -> bool:
        """Read bounds on a group's demand, if the group is disjoint from all others."""
        key = tuple(jobs)
        if key not in self._known:
            asked = np.asarray(jobs)[self._owner[jobs] >= 0]
            if (self._owner[asked] > 0).any():
                return False
            self._known[key] = len(self._bounds)
            self._owner[asked] = len(self._bounds)
            self._bounds.append((0, self._room))
        place, scale = self._known[key], self._demands.scale
        low, high = self._bounds[place]
        if finite(row.lower):
            low = max(low, ceil(exact(row.lower) * scale))
        if finite(row.upper):
            high = min(high, floor(exact(row.upper) * scale))
        self._bounds[place] = low, high
        return True

    def shape(self, rewards: Whole) -> GroupCaps | None:
        """Return what has been read; None where the jobs that are required do not fit."""
        demands = np.asarray(self._demands.numbers, dtype=np.int64)
        worth = np.asarray(rewards.numbers, dtype=np.int64)
        free = self._forced == -1
        fixed = np.flatnonzero((self._forced == 1) | (free & (demands == 0) & (worth > 0)))
        owner = np.where(free, self._owner, -1)
        low = np.array([bounds[0] for bounds in self._bounds], dtype=np.int64)
        high = np.array([bounds[1] for bounds in self._bounds], dtype=np.int64)
        held = self._owner[fixed] >= 0
        used = np.bincount(
            self._owner[fixed][held], demands[fixed][held], minlength=len(low)
        ).astype(np.int64)
        room = self._room - int(demands[fixed].sum())
        if room < 0 or (used > high).any():
            return None
        groups = Groups.of(demands, worth, owner, (low - used, high - used), room)
        total = int(worth[fixed].sum())
        return GroupCaps(groups, fixed, rewards.scale, total)
