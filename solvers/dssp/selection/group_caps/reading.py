"""Read a selection as one capacity, and bounds on the demand of disjoint groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import LARGEST, Whole
from schedopt.solvers.dssp.selection import reading
from schedopt.solvers.dssp.selection.knapsack.items import Floats

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection


@dataclass(frozen=True, eq=False)
class Groups:
    """Maximise the reward of items under a room for all, and bounds on each group's weight.

    Numbers are whole, weights above 0. Items stand group by group, in each by non-increasing ratio.
    """

    weights: Floats  # (n,)
    rewards: Floats  # (n,)
    first: reading.Places  # where each group's items begin, (groups + 1,)
    low: Floats  # least weight of each group, (groups,)
    high: Floats  # largest weight of each group, (groups,)
    room: float  # for all weights
    positions: reading.Places  # of the items among the jobs, (n,)
    fixed: reading.Places = field(
        default_factory=lambda: np.zeros(0, np.intp)
    )  # jobs that are in anyway
    fixed_reward: int = 0
    scale: int = 1  # units in a reward of 1

    @classmethod
    def of(
        cls,
        weights: NDArray[np.int64],
        rewards: NDArray[np.int64],
        owner: reading.Places,
        bounds: tuple[NDArray[np.int64], NDArray[np.int64]],
        room: int,
        **more: object,
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
            weights[order].astype(np.float64),
            rewards[order].astype(np.float64),
            np.concatenate(([0], np.cumsum(counts))).astype(np.intp),
            np.maximum(low, 0).astype(np.float64),
            np.minimum(high, total).astype(np.float64),
            float(min(room, total)),
            order,
            **more,  # type: ignore[arg-type]
        )

    @cached_property
    def ratios(self) -> Floats:
        """Reward over weight, shape (n,)."""
        return self.rewards / self.weights

    @cached_property
    def owner(self) -> reading.Places:
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

    def reward(self, units: float) -> Fraction:
        """Return the reward of a selection whose jobs beside the fixed are worth so many units."""
        return Fraction(int(units) + self.fixed_reward, self.scale)


def group_caps(model: Selection) -> Groups | None:
    """Return a selection as bounds on groups; None where it is something else, or too large.

    Jobs of one group are under the same bounds on their demand; single jobs may be required or
    forbidden.
    """
    if model.changed or not model.single_capacity:
        return None
    demands, worth = model.instance.planned.demands, Whole.of(model.instance.rewards)
    if (
        any(whole.numbers.dtype == object or whole.total >= LARGEST for whole in (demands, worth))
        or (read := reading.selection_arrays(model)) is None
    ):
        return None
    weights = np.asarray(demands.numbers, dtype=np.int64)
    rewards = np.asarray(worth.numbers, dtype=np.int64)
    room = min(demands.down(model.instance.room(model.fill)), demands.total)
    groups = _disjoint_groups(read.rules, read.values, demands)
    if groups is None:
        return None
    owner = np.zeros(len(weights), dtype=np.intp)
    low, high = np.zeros(len(groups) + 1, np.int64), np.full(len(groups) + 1, room)
    for g, (jobs, least, most) in enumerate(groups, start=1):
        owner[jobs], low[g], high[g] = g, least, min(most, room)
    free = read.values == reading.UNDECIDED
    fixed = np.flatnonzero((read.values == 1) | (free & (weights == 0) & (rewards > 0)))
    used = np.zeros(len(low), dtype=np.int64)
    np.add.at(used, owner[fixed], weights[fixed])
    if used.sum() > room or (used > high).any():
        return None
    return Groups.of(
        weights,
        rewards,
        np.where(free, owner, -1),
        (low - used, high - used),
        room - int(used.sum()),
        fixed=fixed,
        fixed_reward=int(rewards[fixed].sum()),
        scale=worth.scale,
    )


def _disjoint_groups(
    rows: list[reading.ArrayRow], values: NDArray[np.int8], demands: Whole
) -> list[tuple[reading.Places, int, int]] | None:
    """Return groups with bounds on their demand; None where rows are anything else."""
    by_jobs: dict[bytes, tuple[reading.Places, int, int]] = {}
    for row in rows:
        own, scale = demands.take(row.jobs), row.coefficients.scale
        if scale != demands.scale or not np.array_equal(row.coefficients.numbers, own.numbers):
            return None
        key = row.jobs.tobytes()
        jobs, low, high = by_jobs.get(key, (row.jobs[values[row.jobs] != 0], 0, LARGEST))
        low = low if row.lower is None else max(low, row.lower)
        by_jobs[key] = jobs, low, high if row.upper is None else min(high, row.upper)
    groups = list(by_jobs.values())
    members = np.concatenate([jobs for jobs, *_ in groups] or [np.zeros(0, np.intp)])
    return groups if len(np.unique(members)) == len(members) else None
