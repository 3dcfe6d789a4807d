"""A 0-1 program as arrays of whole numbers, and what its rows alone decide.

HiGHS takes the program in floating point, where rounding can hide what is so. HiGHS's tolerances
are absolute: 1e-8 here, on rows, on columns and on the reward alike. So rows and rewards are scaled
by powers of two to sums of about a million. What HiGHS finds is looked at again in whole numbers.
What it rules out is ruled out as long as the units of the rows are well above the tolerance; a row
of larger numbers is *blurred*. So is one whose coefficients are nearly multiples of one number:
HiGHS takes their ratios for whole ones and rounds the row's bound to match, and was seen to cut off
optima, and to find contradictions that are none, with coefficients that differ by 1e-11 to 1e-7 of
themselves. With blurred rows presolve is off, and their bounds are moved outwards by more than can
be mistaken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import frexp, gcd, ldexp
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.program import Program, WholeRow
from schedopt.solvers.mip import Matrix

Integers = NDArray[Any]
"""Whole numbers: of 64 bits, or Python's own, whose sums and products never overflow."""
Values = NDArray[np.int8]
"""What each column is: 0, 1, or `FREE`."""
FREE: Final = -1
_LARGE: Final = 1 << 61
"""Sums of rows from which on they are held in Python's own numbers."""


@dataclass(frozen=True, eq=False)
class ProgramArrays:
    """Rows over columns, stored one after another; no row is without an entry.

    `hopeless` is a row without columns that cannot be satisfied. The entries of row i are
    ``first[i]`` up to ``first[i + 1]``. A missing bound, and one beyond the row's `reach`, is held
    as one beyond the reach, on its own side.
    """

    rewards: Integers
    hopeless: str | None
    keys: tuple[str, ...]
    lower: Integers
    upper: Integers
    first: NDArray[np.intp]
    columns: NDArray[np.intp]
    coefficients: Integers

    @classmethod
    def of(cls, program: Program, names: frozenset[str] | None = None) -> ProgramArrays:
        """Hold a program, with all rows or with its own and those of some side constraints."""
        own = (row for row in program.rows if names is None or not row.name or row.name in names)
        return cls.of_rows(program.rewards, list(own))

    @classmethod
    def of_rows(cls, rewards: Sequence[int], asked: Sequence[WholeRow]) -> ProgramArrays:
        """Hold rewards and rows."""
        rows = [row for row in asked if row.columns]
        empty = (row for row in asked if not row.columns)
        broken = (row.key for row in empty if (row.lower or 0) > 0 or (row.upper or 0) < 0)
        reach = [sum(map(abs, row.coefficients)) + 1 for row in rows]
        bounds = [
            (
                -most if row.lower is None else max(-most, min(row.lower, most)),
                most if row.upper is None else max(-most, min(row.upper, most)),
            )
            for row, most in zip(rows, reach, strict=True)
        ]
        flat = integer_array([c for row in rows for c in row.coefficients])
        ends = [integer_array(end) for end in zip(*bounds, strict=True)] or [flat, flat]
        dtype = object if max(reach, default=0) >= _LARGE else np.int64
        return cls(
            integer_array(rewards),
            next(broken, None),
            tuple(row.key for row in rows),
            ends[0].astype(dtype),
            ends[1].astype(dtype),
            np.cumsum([0, *(len(row.columns) for row in rows)], dtype=np.intp),
            np.array([j for row in rows for j in row.columns], dtype=np.intp),
            flat.astype(dtype),
        )

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """The row of each entry, (entries,)."""
        return np.repeat(np.arange(len(self.keys)), np.diff(self.first))

    @cached_property
    def reach(self) -> list[int]:
        """The sum of the absolute coefficients of each row."""
        sizes = np.abs(self.coefficients)
        sums: list[int] = np.add.reduceat(sizes, self.first[:-1]).tolist() if self.keys else []
        return sums

    @property
    def step(self) -> int:
        """The greatest common divisor of the rewards; 1 where all are 0."""
        return gcd(*self.rewards.tolist()) or 1

    def has_bound(self, i: int, sign: float) -> bool:
        """Tell whether a row has an upper bound, where the sign is positive, or else a lower."""
        return bool(self.upper[i] <= self.reach[i] if sign > 0 else self.lower[i] >= -self.reach[i])

    def row(self, i: int) -> slice:
        """Return where the entries of a row are."""
        return slice(int(self.first[i]), int(self.first[i + 1]))

    def without(self, values: Values) -> ProgramArrays:
        """Return the same program with the fixed columns worked into the bounds and left out.

        Columns keep their places; what is left over them is in lowest terms again. The rewards of
        fixed columns are 0.
        """
        rows = []
        for i, key in enumerate(self.keys):
            at = self.row(i)
            held, parts = values[self.columns[at]], self.coefficients[at]
            used, kept = sum(parts[held == 1].tolist()), parts[held == FREE].tolist()
            common = gcd(*kept) or 1
            low = -((used - int(self.lower[i])) // common) if self.has_bound(i, -1) else None
            high = (int(self.upper[i]) - used) // common if self.has_bound(i, 1) else None
            columns = tuple(self.columns[at][held == FREE].tolist())
            rows.append(WholeRow(key, "", columns, tuple(c // common for c in kept), low, high))
        return ProgramArrays.of_rows(np.where(values == FREE, self.rewards, 0).tolist(), rows)

    def activities(self, values: Values) -> tuple[Integers, Integers]:
        """Return the least and the most that each row can come to, shape (rows,) each."""
        held = values[self.columns]
        fixed = self.coefficients * (held == 1)
        free = self.coefficients * (held == FREE)
        low = np.add.reduceat(fixed + np.minimum(free, 0), self.first[:-1])
        high = np.add.reduceat(fixed + np.maximum(free, 0), self.first[:-1])
        return low, high

    def propagate(self, values: Values) -> tuple[list[tuple[int, int]], bool]:
        """Fix in place what single rows imply, until nothing changes.

        Returns the rows that fixed something, in order, with 1 where the upper bound did and -1
        where the lower did; and whether every row can still be satisfied. One that cannot is then
        in `cut_off`.
        """
        used: list[tuple[int, int]] = []
        if not self.keys:
            return used, True
        sizes = np.abs(self.coefficients)
        while True:
            low, high = self.activities(values)
            if (low > self.upper).any() or (high < self.lower).any():
                return used, False
            free = values[self.columns] == FREE
            by_upper = free & (sizes > (self.upper - low)[self.owner]).astype(bool)
            by_lower = free & (sizes > (high - self.lower)[self.owner]).astype(bool)
            if not by_upper.any() and not by_lower.any():
                return used, True
            # One row after another; a later row may then decide otherwise, next time.
            for marks, sign in ((by_upper, 1), (by_lower, -1)):
                for entry in np.flatnonzero(marks):
                    column = self.columns[entry]
                    if values[column] == FREE:
                        values[column] = int((self.coefficients[entry] > 0) != (sign == 1))
                        decided = int(self.owner[entry]), sign
                        if decided not in used[-1:]:
                            used.append(decided)

    def cut_off(self, values: Values) -> tuple[int, int] | None:
        """Return a row that cannot be satisfied, with 1 for its upper bound, -1 for its lower."""
        if not self.keys:
            return None
        low, high = self.activities(values)
        for sign, broken in ((1, low > self.upper), (-1, high < self.lower)):
            if broken.any():
                return int(broken.argmax()), sign
        return None


def integer_array(numbers: Sequence[int]) -> Integers:
    """Return an array of Python's own whole numbers."""
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


def initial_values(program: Program) -> Values:
    """Return the columns' values at the start: 0 where a column is not open."""
    return np.where(np.array(program.open, dtype=bool), FREE, 0).astype(np.int8)


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
