"""A program in floating point, as HiGHS takes it, and what rounding can hide.

HiGHS's tolerances are absolute: 1e-8 here, on rows, on columns and on the reward alike. So rows and
rewards are scaled by powers of two to sums of about a million. What HiGHS finds is looked at again
in whole numbers. What it rules out is ruled out as long as the units of the rows are well above the
tolerance; a row of larger numbers is *blurred*. So is one whose coefficients are nearly multiples
of one number: HiGHS takes their ratios for whole ones and rounds the row's bound to match, and was
seen to cut off optima, and to find contradictions that are none, with coefficients that differ by
1e-11 to 1e-7 of themselves. With blurred rows presolve is off, and their bounds are moved outwards
by more than can be mistaken.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import frexp, ldexp

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import (
    Integers,
    ProgramArrays,
    Values,
)
from schedopt.solvers.mip.matrix import Matrix

Floats = NDArray[np.float64]

TOP = 20
"""Sums are brought to about 2^20."""
SHARP = 4e-6
"""The least unit of a row that tolerances cannot blur: 400 times the tolerance."""
OUTWARDS = 1e-2
"""How far the bounds of a blurred row are moved outwards: more than columns 1e-8 off can cause."""
PLAIN = 10**7
"""Integer coefficients up to this are always told apart: none differ by less than 1e-7
relatively."""
NEAR = 1e-6
"""Relative difference of ratios that HiGHS may take for 0; its own tolerance is about 1e-8."""
RATIOS, REFERENCES = 20, 8
"""Denominators that are tried, and coefficients of a row that the others are compared with."""
_DENOMINATORS = np.arange(1.0, RATIOS + 1.0)
HUGE = 1e15
"""Stands for numbers that no scale brings into the range of doubles."""
SHARP_REWARD = 1e-3
"""Least unit of rewards that HiGHS tells apart, with gaps of some thousands of dual tolerances."""


@dataclass(frozen=True, eq=False)
class ScaledProgram:
    """A program's numbers in floating point.

    Bounds are infinite where there are none; `blurred` marks the rows that HiGHS may confuse with
    others close by; all rewards are multiples of `step`.
    """

    cost: Floats
    cost_scale: float
    row_scales: Floats
    lower: Floats
    upper: Floats
    values: Floats
    blurred: NDArray[np.bool_]
    step: int

    @classmethod
    def of(cls, arrays: ProgramArrays) -> ScaledProgram:
        """Scale a program."""
        scales = [scale_for(most) for most in arrays.reach]
        bounds = arrays.lower.tolist(), arrays.upper.tolist()
        low, high = ([*map(times_2_to, side, scales)] for side in bounds)
        top = np.array(arrays.reach, dtype=object)
        cost_scale = scale_for(sum(map(abs, arrays.rewards.tolist())))
        flat = np.repeat(scales, np.diff(arrays.first)).tolist()
        numbers = zip(arrays.coefficients.tolist(), flat, strict=True)
        return cls(
            cost=np.array(
                [times_2_to(r, cost_scale) for r in arrays.rewards.tolist()], dtype=float
            ),
            cost_scale=cost_scale,
            row_scales=np.array(scales, dtype=float),
            lower=np.where(arrays.lower < -top, -np.inf, np.array(low, dtype=float)),
            upper=np.where(arrays.upper > top, np.inf, np.array(high, dtype=float)),
            values=np.array([times_2_to(c, scale) for c, scale in numbers], dtype=float),
            blurred=np.array(
                [
                    scale < SHARP or nearly_multiples(arrays.coefficients[arrays.row(i)])
                    for i, scale in enumerate(scales)
                ],
                dtype=bool,
            ),
            step=arrays.step,
        )

    @property
    def sharp_rewards(self) -> bool:
        """Whether HiGHS can tell the least difference of two rewards from none."""
        least = Fraction(self.cost_scale) * self.step
        exact = not np.any(np.abs(self.cost) >= HUGE)
        return exact and least >= max(SHARP_REWARD, 4e-7 * len(self.cost))

    def matrix(
        self, arrays: ProgramArrays, values: Values, *, unit: float = 1.0, offset: float = 0.0
    ) -> Matrix:
        """Return the program for HiGHS, its blurred rows' bounds moved outwards.

        `values` fix columns; `unit` is how many units a reward of 1 has, `offset` the reward beside
        that of the columns, for what HiGHS reports on its way.
        """
        away = np.where(self.blurred, OUTWARDS, 0.0)
        return Matrix(
            columns=list(range(len(self.cost))),
            cost=np.where(values == 0, 0.0, self.cost),
            cost_scale=self.cost_scale * unit,
            offset=offset,
            maximize=True,
            column_lower=(values == 1).astype(float),
            column_upper=(values != 0).astype(float),
            integer=np.ones(len(self.cost), dtype=np.int32),
            rows=list(arrays.keys),
            row_lower=self.lower - away,
            row_upper=self.upper + away,
            starts=arrays.first.astype(np.int32),
            indices=arrays.columns.astype(np.int32),
            values=self.values,
        )


def scale_for(total: int) -> float:
    """Return the power of two that brings a sum to about 2^20; 1 where it is less already."""
    return ldexp(1.0, max(-1000, min(0, TOP - total.bit_length())))


def nearly_multiples(coefficients: Integers) -> bool:
    """Tell whether a row's coefficients are nearly, but not exactly, multiples of one number.

    That is so where a tenth of them have ratios to one of the others that are simple fractions but
    for a millionth or less. Numbers that have nothing to do with each other are not taken for that.
    """
    sizes = np.abs(coefficients)
    if len(sizes) < 2 or int(sizes.max()) <= PLAIN:
        return False
    order, floats = np.sort(sizes), sizes.astype(float)
    for one in order[np.unique(np.linspace(0, len(order) - 1, REFERENCES).astype(int))].tolist():
        multiples = floats[:, None] * _DENOMINATORS / float(one)
        nearest = np.rint(multiples)
        close = (np.abs(multiples - nearest) <= NEAR) & (nearest > 0)
        inexact = [
            int(sizes[j]) * (q + 1) != int(nearest[j, q]) * one
            for j, q in zip(*(at.tolist() for at in close.nonzero()), strict=True)
        ]
        if 10 * sum(inexact) >= max(len(sizes) - 1, 1):
            return True
    return False


def times_2_to(number: int, scale: float) -> float:
    """Return a whole number of any size times a power of two that is at most 1, rounded."""
    try:
        return number / (1 << 1 - frexp(scale)[1])
    except OverflowError:  # beyond what a double holds at any scale: such costs are not sharp
        return HUGE if number > 0 else -HUGE
