"""Lagrangian bounds and reduced costs from integer multipliers of the rows, without rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.program import IntArray, IntegerProgram
from schedopt.instances.decimals import exact_sum

LARGEST = 1 << 61
"""Larger losses count as this one, so that sums fit 64 bits."""


@dataclass(frozen=True, eq=False)
class PricedBound:
    """The Lagrangian bound of integer multipliers y at a scale S.

    For every x that satisfies the rows, ``S * rewards @ x`` is at most `total`. It is less by
    ``abs(reduced[j])`` for each unit by which x_j differs from its preferred value, and by
    ``abs(multipliers[i])`` for each unit that row i leaves unused.

    Attributes
    ----------
    total : int
        The bound, times the scale.
    scale : int
        S; a reward of one unit counts S. It is 0 without rewards.
    multipliers : ndarray of int, shape (m,)
        y; positive for upper bounds of rows, negative for lower bounds.
    reduced : ndarray of int, shape (n,)
        S·rewards - y·A, the reduced costs.
    """

    total: int
    scale: int
    multipliers: IntArray
    reduced: IntArray

    @classmethod
    def of(
        cls, program: IntegerProgram, prices: NDArray[np.float64], *, with_rewards: bool = True
    ) -> PricedBound:
        """Return the bound at multipliers close to some prices.

        Without rewards, a slack below 0 proves that the rows have no common solution.
        """
        least, most = program.activity_range()
        useless = (prices > 0) & (program.upper >= most) | (prices < 0) & (program.lower <= least)
        prices = np.where(useless.astype(bool) | ~np.isfinite(prices), 0.0, prices)
        if not with_rewards:
            prices = prices / max(float(np.abs(prices).max(initial=0)), 1e-300)
        bits, in_python = _scale_bits(program, prices, with_rewards)
        multipliers = np.array([_rounded(y, bits) for y in prices.tolist()], dtype=object)
        kind = object if in_python else np.int64
        multipliers = multipliers.astype(kind)
        scale = 1 << bits if with_rewards else 0
        reduced = program.rewards.astype(kind) * scale - program.combined(multipliers)
        return cls(0, scale, multipliers, reduced).on(program)

    def on(self, program: IntegerProgram) -> PricedBound:
        """Return the bound of the same multipliers for other bounds of columns or rows."""
        ends = np.where((self.multipliers > 0).astype(bool), program.upper, program.lower)
        pairs = zip(self.multipliers.tolist(), ends.tolist(), strict=True)
        rows = sum(y * end for y, end in pairs if y)
        total = rows + exact_sum(self.reduced * self.preferred(program))
        return PricedBound(total, self.scale, self.multipliers, self.reduced)

    def slack(self, target: int) -> int:
        """Return the largest loss of a solution whose reward is the target or more."""
        return self.total - self.scale * target

    def preferred(self, program: IntegerProgram) -> IntArray:
        """Return the value of each column that the multipliers prefer."""
        return np.where((self.reduced > 0).astype(bool), program.high, program.low)

    def fix(self, program: IntegerProgram, slack: int) -> IntegerProgram:
        """Return the program with the bounds of columns tightened by reduced-cost fixing."""
        loss = np.abs(self.reduced)
        if loss.dtype != object:
            slack = min(slack, LARGEST)
        span = program.high - program.low
        steps = np.where((loss > 0).astype(bool), slack // np.maximum(loss, 1), span)
        steps = np.clip(steps, 0, span).astype(np.int64)
        prefers_high = (self.reduced > 0).astype(bool)
        low = np.where(prefers_high, program.high - steps, program.low)
        return program.with_bounds(low, np.where(prefers_high, program.high, program.low + steps))


def _scale_bits(
    program: IntegerProgram,
    prices: NDArray[np.float64],
    with_rewards: bool,
    few_columns: int = 3_000,
) -> tuple[int, bool]:
    """Return the bits of the scale, and whether products need Python's own integers.

    At the scale, rounding the prices changes the bound by less than a sixteenth of a unit. With
    more than ``few_columns`` columns, the scale is smaller where products would exceed 64 bits.
    """
    most = max(int(program.high.max(initial=1)), 1)
    priced = np.flatnonzero(prices)
    wanted = 5 + (most * sum(program.reach[priced].tolist()) + 1).bit_length()
    if program.exceeds_64_bits:  # such numbers may also exceed the range of doubles
        return wanted, True
    largest = float(np.abs(program.rewards).max(initial=0)) if with_rewards else 0.0
    sizes = np.abs(program.coefficient).astype(float) * np.abs(prices)[program.row]
    sums = np.bincount(program.column, sizes, program.n_columns)
    largest = max(largest, float(sums.max(initial=0)), 1.0)
    possible = 60 - int(min(largest * most, 1e300)).bit_length()
    exact = possible < wanted and (possible < 0 or program.n_columns <= few_columns)
    return (wanted, True) if exact else (min(wanted, possible), False)


def _rounded(price: float, bits: int) -> int:
    """Return price·2^bits, rounded to an integer."""
    top, bottom = price.as_integer_ratio()
    return ((top << bits + 1) + bottom) // (2 * bottom)
