"""What the engine takes: one capacity, and bounds on the demand of disjoint groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.knapsack.items import Floats

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
