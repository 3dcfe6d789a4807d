"""The 0-1 knapsack that a selector sees: only the jobs that are worth a decision."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from math import floor, frexp, ldexp

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Items:
    """Jobs that fit alone, are worth something and ask for something.

    Demands are held as whole numbers: of a power of ten where they are decimal fractions of at most
    six places, else of a power of two, at most 2^-52 of the room, and rounded up where they are
    not whole already. So sums are exact in whatever order they are formed, whatever
    fits here fits indeed, and of the sets that fit only those are missed that fill the room to
    within 2^-52 of it for each member. Whole demands below 2^53 are not rounded at all.

    Attributes
    ----------
    rewards : ndarray of float, shape (n,)
        What each is worth, more than 0.
    weights : ndarray of float, shape (n,)
        The demands, whole numbers from 1 to `room`.
    room : float
        What the weights may sum to, a whole number below 2^53.
    ratios : ndarray of float, shape (n,)
        Reward over demand, from the numbers as given: equal ratios of whole numbers are equal.
    positions : ndarray of int, shape (n,)
        Which jobs these are, ascending.
    free : ndarray of bool, shape (J,)
        The jobs that are worth something and ask for nothing; every selection has them.
    """

    rewards: Floats
    weights: Floats
    room: float
    ratios: Floats
    positions: NDArray[np.intp]
    free: Mask

    @classmethod
    def of(
        cls, rewards: Floats, demands: Floats, room: float, eligible: Mask | None = None
    ) -> Items:
        """Sift jobs.

        Parameters
        ----------
        rewards, demands : ndarray of float, shape (J,)
            Finite and not negative.
        room : float
            What the demands may sum to, in their unit.
        eligible : ndarray of bool, shape (J,), optional
            The jobs that may be selected at all; every job where it is not given.
        """
        worth = rewards > 0 if eligible is None else (rewards > 0) & eligible
        free = worth & (demands == 0)
        positions = np.flatnonzero(worth & (demands > 0) & (demands <= room))
        gain, need = rewards[positions], demands[positions]
        with np.errstate(over="ignore", under="ignore"):
            decimals = decimal_scale(need)  # tenths, say, are then as exact as whole demands
            if decimals > 1:
                need = np.rint(need * decimals)
                room *= decimals * (1 + 4 * sys.float_info.epsilon)
            # More room than twice everything would only coarsen the unit.
            room = min(room, 2.0 * float(need.sum()), sys.float_info.max)
            unit = max(ldexp(1.0, frexp(room)[1] - 53), 5e-324)
            ratios = gain / demands[positions]
        return cls(
            rewards=gain,
            weights=np.ceil(need / unit),
            room=float(floor(room / unit)),
            ratios=ratios,
            positions=positions,
            free=free,
        )

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The items by non-increasing ratio, in the file's order on ties."""
        return np.argsort(-self.ratios, kind="stable")

    @cached_property
    def relaxed(self) -> float:
        """The most that fractions of items could be worth: no selection is worth more.

        Source: Dantzig, Discrete-variable extremum problems, Operations Research 5, 1957.
        """
        weights, rewards = self.weights[self.order], self.rewards[self.order]
        filled = np.cumsum(weights)
        split = int(np.searchsorted(filled, self.room, side="right"))
        bound = float(rewards[:split].sum())
        if split < rewards.size:
            left = self.room - (filled[split - 1] if split else 0.0)
            bound += float(left / weights[split] * rewards[split])
        return bound

    def jobs(self, chosen: Mask) -> Mask:
        """Return the mask over jobs, shape (J,), of a mask over items, shape (n,)."""
        mask = self.free.copy()
        mask[self.positions[chosen]] = True
        return mask


def decimal_scale(numbers: Floats) -> float:
    """Return the power of ten that makes decimal fractions whole: 1000 for milliseconds.

    At most 10^6; 1 where no such power does, up to the rounding of the numbers as given, or where
    sums would leave the whole numbers that float64 holds.
    """
    if numbers.max(initial=0.0) >= 2.0**52:
        return 1.0
    for places in range(7):
        scaled = numbers * 10.0**places
        rounding = 2 * sys.float_info.epsilon * scaled
        if np.all(np.abs(scaled - np.rint(scaled)) <= rounding):
            return 10.0**places if float(scaled.sum()) < 2.0**52 else 1.0
    return 1.0
