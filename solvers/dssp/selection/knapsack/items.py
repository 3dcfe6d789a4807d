"""Items of a 0-1 knapsack: the jobs that fit alone and have a reward and a demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import Whole, as_written

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Items:
    """The jobs that fit alone and have a positive reward and a positive demand.

    Demands are integers in a common unit. They are exact if the room is less than 2^53 units.
    Otherwise the unit is about 2^-52 of the room, and demands are rounded up: every set that fits
    here fits exactly, and a set that fits exactly may be missed only if it leaves less than a unit
    for each of its items.
    """

    rewards: Floats  # more than 0, (n,)
    weights: Floats  # demands, integers from 1 to `room`, (n,)
    room: float  # capacity, an integer below 2^53
    # reward over demand, of the original numbers, so that equal ratios stay equal, (n,)
    ratios: Floats
    positions: NDArray[np.intp]  # of these jobs among all jobs, ascending, (n,)
    free: Mask  # jobs with a reward and no demand, which every selection has, (J,)
    exact: bool  # whether no number was rounded

    @classmethod
    def of(cls, rewards: Floats, demands: Floats, room: float) -> Items:
        """Return the items of jobs with these rewards and demands, which are decimals."""
        whole = Whole.of(demands)
        return cls.of_whole(rewards, whole, whole.down(as_written(room)))

    @classmethod
    def of_whole(
        cls,
        rewards: Floats,
        demands: Whole,
        room: int,
        eligible: Mask | None = None,
    ) -> Items:
        """Return the items among the eligible jobs, by default all.

        Demands and room are in one unit.
        """
        numbers = demands.numbers
        worth = rewards > 0 if eligible is None else (rewards > 0) & eligible
        none, fitting = (numbers == 0).astype(np.bool_), (numbers <= room).astype(np.bool_)
        positions = np.flatnonzero(worth & ~none & fitting)
        gain = rewards[positions]
        asked = demands.take(positions)
        weights, limit, exact = _in_doubles(asked, room)
        with np.errstate(over="ignore", under="ignore"):
            ratios = gain / asked.floats
        return cls(
            rewards=gain,
            weights=weights,
            room=limit,
            ratios=ratios,
            positions=positions,
            free=worth & none,
            exact=exact,
        )

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The items by non-increasing ratio, ties in the order of the file."""
        return np.argsort(-self.ratios, kind="stable")

    @cached_property
    def fractional_bound(self) -> float:
        """The LP bound of the knapsack.

        Source: Dantzig, Discrete-variable extremum problems, Operations Research 5, 1957.
        """
        weights, rewards = self.weights[self.order], self.rewards[self.order]
        filled = np.cumsum(weights)
        split = int(np.searchsorted(filled, self.room, side="right"))
        bound = float(rewards[:split].sum())
        if split < rewards.size:
            remaining = self.room - (filled[split - 1] if split else 0.0)
            bound += float(remaining / weights[split] * rewards[split])
        return bound

    def jobs(self, chosen: Mask) -> Mask:
        """Return the mask over jobs, shape (J,), of a mask over items, shape (n,)."""
        if chosen.size == self.free.size:
            return chosen
        mask = self.free.copy()
        mask[self.positions[chosen]] = True
        return mask


def _in_doubles(demands: Whole, room: int) -> tuple[Floats, float, bool]:
    """Return demands and room as integer doubles below 2^53, and whether they are exact.

    Every set that fits after rounding fits exactly.
    """
    numbers = demands.numbers
    # A room of more than twice the total demand would make the unit larger without need.
    room = min(room, 2 * demands.total)
    unit = 1 << max(0, room.bit_length() - 53)
    if unit == 1:
        whole = demands.floats if demands.scale == 1 else numbers.astype(np.float64)
        return whole, float(room), True
    return (-(-numbers // unit)).astype(np.float64), float(room // unit), False
