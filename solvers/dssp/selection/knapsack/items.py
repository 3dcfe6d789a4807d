"""The 0-1 knapsack that a selector sees: only the jobs that are worth a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedopt.instances.decimals import LARGEST, Whole, as_written

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Items:
    """Jobs that fit alone, are worth something and ask for something.

    Demands are held as whole numbers of the unit in which they are decimals, exactly, while the
    room stays below 2^53 units. Else the unit is larger, some 2^-52 of the room, and what is not
    whole in it is rounded, by default so that whatever fits here fits indeed: of the sets that fit
    only those are missed that fill the room to within a unit for each member.
    """

    rewards: Floats  # more than 0, (n,)
    weights: Floats  # the demands, whole numbers from 1 to `room`, (n,)
    room: float  # what the weights may sum to, a whole number below 2^53
    # reward over demand, from the numbers as given, so that equal ones stay equal, (n,)
    ratios: Floats
    positions: NDArray[np.intp]  # of these jobs among all, ascending, (n,)
    free: Mask  # jobs with a reward and no demand: every selection has them, (J,)
    exact: bool  # whether nothing was rounded

    @classmethod
    def of(
        cls, rewards: Floats, demands: Floats, room: float, known: Sequence[NumberSummary] = ()
    ) -> Items:
        """Sift jobs whose demands, and the room, are decimals in one unit.

        ``known``: of rewards and demands, where it is.
        """
        worth, asked = known or (summarize(rewards), summarize(demands))
        if asked.total is not None:  # mostly there is no unit to look for,
            limit = float(min(floor(room), 2 * asked.total))
            if worth.least > 0 < asked.least and asked.most <= limit:  # and all are worth a look
                everyone, none = np.arange(rewards.size), np.zeros(rewards.size, dtype=np.bool_)
                with np.errstate(over="ignore", under="ignore"):
                    ratios = rewards / demands
                return cls(rewards, demands, limit, ratios, everyone, none, exact=True)
        whole = Whole.of(demands)
        return cls.of_whole(rewards, whole, whole.down(as_written(room)))

    @classmethod
    def of_whole(
        cls,
        rewards: Floats,
        demands: Whole,
        room: int,
        eligible: Mask | None = None,
        *,
        generous: bool = False,
    ) -> Items:
        """Keep the eligible jobs, all by default, whose demand is positive and fits.

        Demands and room are in one unit. Where numbers must be rounded, ``generous`` rounds so that
        whatever fits indeed fits here too.
        """
        numbers = demands.numbers
        worth = rewards > 0 if eligible is None else (rewards > 0) & eligible
        none, fitting = (numbers == 0).astype(np.bool_), (numbers <= room).astype(np.bool_)
        positions = np.flatnonzero(worth & ~none & fitting)
        gain = rewards[positions]
        asked = demands.take(positions)
        weights, limit, exact = in_doubles(asked, room, generous=generous)
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
        """The items by non-increasing ratio, in the file's order on ties."""
        return np.argsort(-self.ratios, kind="stable")

    @cached_property
    def fractional_bound(self) -> float:
        """The most that fractions of items could be worth: no selection is worth more.

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


def in_doubles(demands: Whole, room: int, *, generous: bool = False) -> tuple[Floats, float, bool]:
    """Return demands and room as whole doubles below 2^53, and whether nothing was rounded.

    Where ``generous``, all that fits must fit after rounding; else all that fits after rounding
    must fit.
    """
    numbers = demands.numbers
    # More room than twice what everything needs would only coarsen the unit.
    room = min(room, 2 * demands.total)
    unit = 1 << max(0, room.bit_length() - 53)
    if unit == 1:
        whole = demands.floats if demands.scale == 1 else numbers.astype(np.float64)
        return whole, float(room), True
    if not generous:
        return (-(-numbers // unit)).astype(np.float64), float(room // unit), False
    weights = numbers // unit
    light = (weights == 0) & (numbers > 0)  # these weigh 1, and have room for it
    least = np.where(light, 1, weights).astype(np.float64)
    return least, float(-(-room // unit) + int(light.sum())), False


class NumberSummary(NamedTuple):
    """What is known of some numbers; of none, the least is infinite."""

    least: float
    most: float
    total: int | None  # of whole numbers, exactly; None of others, and where it is too large


def summarize(numbers: Floats) -> NumberSummary:
    """Look at some numbers."""
    if not numbers.size:
        return NumberSummary(inf, 0.0, 0)
    least, most, total = float(numbers.min()), float(numbers.max()), float(numbers.sum())
    whole = least >= 0 and total < LARGEST and np.array_equal(numbers, np.floor(numbers))
    return NumberSummary(least, most, int(total) if whole else None)


def valid(name: str, numbers: ArrayLike) -> tuple[Floats, NumberSummary]:
    """Return a row of numbers and a look at it, `ValueError` of a negative or infinite one."""
    array = np.ascontiguousarray(numbers, dtype=np.float64)
    summary = summarize(array) if array.ndim == 1 else None
    if summary is None or not (summary.least >= 0 and summary.most < inf):
        raise ValueError(f"{name} must be a row of finite numbers that are not negative")
    return array, summary


def divisor(numbers: Floats) -> float:
    """Return the largest common divisor of whole numbers; mostly a few of them have none.

    Of numbers beyond 2^53 it is taken to be 1.
    """
    if numbers.max(initial=0.0) > 2.0**53:
        return 1.0
    few = np.gcd.reduce(numbers[:64].astype(np.int64), initial=0)
    if few > 1:  # a quotient of whole numbers below 2^53 is never rounded to a whole one
        parts = numbers / float(few)
        if not np.array_equal(parts, np.floor(parts)):
            few = np.gcd.reduce(numbers.astype(np.int64), initial=few)
    return float(few)


def undominated(
    items: tuple[Floats, Floats, Mask], losses: Floats, slack: float, room: float
) -> Mask:
    """Return which items a solution may do otherwise with that is worth more than is known.

    Where an item weighs no less than another and is worth no more, some best solution that has it
    has the other too. So whoever is put in brings all that dominate it, and whoever is taken out
    takes along all that it dominates; each of these costs its reduced reward. `items`: weights,
    rewards, and which are in the break solution; `losses`: the reduced rewards; `slack`: what may
    be lost in all.
    """
    weights, rewards, inside = items
    first = np.arange(weights.size)
    before = (weights[:, None] <= weights) & (rewards[:, None] >= rewards)
    before &= ~before.T | (first[:, None] < first)  # of equal ones the first goes before
    put = losses + before.T @ np.where(inside, 0.0, losses)
    taken = losses + before @ np.where(inside, losses, 0.0)
    fits = weights + before.T @ weights <= room
    return np.where(inside, taken <= slack, (put <= slack) & fits)
