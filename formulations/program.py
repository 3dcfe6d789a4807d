"""The integer program of a selection or a season, to which exact answers refer.

Rows are in lowest terms: coefficients have no common divisor, and bounds are rounded inwards to
integers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, gcd, inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import Whole, as_written, exact_sum

Number = float | Fraction


def finite(number: Number) -> bool:
    """Return True if a bound is finite."""
    return isinstance(number, Fraction) or isfinite(number)


def exact(number: Number) -> Fraction:
    """Return a number exactly: a float as the decimal that is written."""
    return number if isinstance(number, Fraction) else as_written(number)


Bounds = tuple[Number, Number]
"""The lower and the upper bound of a row; infinite where there is none."""

IntArray = NDArray[Any]
"""Integers: of 64 bits, or Python's own (dtype object) where sums need more."""

SUM_BITS = 61
"""Bits of the largest sum for which 64-bit integers are used."""


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """Maximize ``rewards @ x`` subject to ``lower <= A @ x <= upper`` and ``low <= x <= high``.

    All numbers are integers. They have 64 bits where every sum that they enter stays below 2^61,
    and are Python's own integers otherwise. A missing bound of a row is stored as a number that the
    row cannot reach.

    Attributes
    ----------
    rewards : ndarray of int, shape (n,)
        In units of 1/``scale``.
    low, high : ndarray of int64, shape (n,)
        Bounds of the columns.
    first : ndarray of int64, shape (m + 1,)
        The entries of row i are ``first[i]`` to ``first[i + 1] - 1``.
    column, coefficient : ndarray of int, shape (entries,)
        The matrix A by rows.
    lower, upper : ndarray of int, shape (m,)
        Bounds of the rows.
    columns : sequence of str
        Names of the columns.
    labels, owners : sequence of str
        Names of the rows, and the side constraint of each; empty for a row of the formulation.
    scale : Fraction
        Units in a reward of 1.
    lifting : mapping
        Columns that relax a row, each with sets of columns: such a column may be 1 if one column of
        each set is 1.
    """

    rewards: IntArray
    low: IntArray
    high: IntArray
    first: IntArray
    column: IntArray
    coefficient: IntArray
    lower: IntArray
    upper: IntArray
    columns: Sequence[str] = ()
    labels: Sequence[str] = ()
    owners: Sequence[str] = ()
    scale: Fraction = Fraction(1)
    lifting: Mapping[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)

    @classmethod
    def of_dense(
        cls, rewards: IntArray, rows: IntArray, upper: IntArray, high: IntArray
    ) -> IntegerProgram:
        """Return the program with ``rows @ x <= upper`` and ``0 <= x <= high``."""
        places = [np.flatnonzero(row) for row in rows]
        columns = np.concatenate([*places, np.zeros(0, np.int64)])
        values = np.concatenate([*(r[at] for r, at in zip(rows, places, strict=True)), columns[:0]])
        first = np.cumsum([0, *map(len, places)])
        lower = -row_sums(np.abs(values), first) * max(int(high.max(initial=1)), 1) - 1
        return cls(rewards, np.zeros_like(high), high, first, columns, values, lower, upper)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.rewards)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.lower)

    @property
    def exceeds_64_bits(self) -> bool:
        """Whether sums need Python's own integers."""
        return object in (self.coefficient.dtype, self.rewards.dtype)

    @cached_property
    def row(self) -> IntArray:
        """The row of each entry."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.first))

    @cached_property
    def reach(self) -> IntArray:
        """The sum of the absolute coefficients of each row."""
        return row_sums(np.abs(self.coefficient), self.first)

    @cached_property
    def has_lower(self) -> NDArray[np.bool_]:
        """Whether each row has a lower bound."""
        return (self.lower >= -self.reach).astype(bool)

    @cached_property
    def has_upper(self) -> NDArray[np.bool_]:
        """Whether each row has an upper bound."""
        return (self.upper <= self.reach).astype(bool)

    @cached_property
    def by_column(self) -> tuple[IntArray, IntArray]:
        """The entries in the order of their columns, and where each column begins."""
        order = np.argsort(self.column, kind="stable")
        counts = np.bincount(self.column, minlength=self.n_columns)
        return order, np.concatenate(([0], np.cumsum(counts)))

    def entries_of(self, column: int) -> IntArray:
        """Return the entries of a column."""
        order, first = self.by_column
        return order[first[column] : first[column + 1]]

    def activities(self, x: IntArray) -> IntArray:
        """Return ``A @ x``."""
        return row_sums(self.coefficient * x[self.column], self.first)

    def activity_range(self) -> tuple[IntArray, IntArray]:
        """Return the least and the largest activity of each row under the columns' bounds."""
        at_low = self.coefficient * self.low[self.column]
        at_high = self.coefficient * self.high[self.column]
        least = row_sums(np.minimum(at_low, at_high), self.first)
        return least, row_sums(np.maximum(at_low, at_high), self.first)

    def combined(self, multipliers: IntArray) -> IntArray:
        """Return ``multipliers @ A``."""
        order, first = self.by_column
        return row_sums((self.coefficient * multipliers[self.row])[order], first)

    def satisfied_by(self, x: IntArray) -> bool:
        """Return True if integers x satisfy all bounds of rows and columns."""
        if (x < self.low).any() or (x > self.high).any():
            return False
        used = self.activities(x)
        return not ((used < self.lower).any() or (used > self.upper).any())

    def reward_of(self, x: IntArray) -> int:
        """Return the total reward of x, in units."""
        return exact_sum(self.rewards * x)

    def next_reward(self, bound: Fraction) -> int:
        """Return the least total reward above a bound that a solution may have, in units."""
        step = gcd(*self.rewards[self.high > 0].tolist()) or 1
        return (floor(bound * self.scale) // step + 1) * step

    def with_bounds(self, low: IntArray, high: IntArray) -> IntegerProgram:
        """Return the program with other bounds of the columns."""
        program = replace(self, low=low, high=high)
        for name in ("row", "reach", "by_column"):  # the matrix is the same
            program.__dict__[name] = getattr(self, name)
        return program

    def with_row(self, coefficients: IntArray, lower: int, upper: int) -> IntegerProgram:
        """Return the program with one more row."""
        at = np.flatnonzero(coefficients)
        return replace(
            self,
            first=np.append(self.first, self.first[-1] + len(at)),
            column=np.append(self.column, at),
            coefficient=np.append(self.coefficient, coefficients[at]),
            lower=np.append(self.lower, lower),
            upper=np.append(self.upper, upper),
        )

    def with_count(self) -> IntegerProgram:
        """Return the program with a row ``count``, which its first row, the capacity, implies.

        No more columns fit than of those with the smallest coefficients.
        """
        entries = slice(0, int(self.first[1]))
        sizes = np.sort(self.coefficient[entries])
        if not len(sizes) or sizes[0] < 0 or not self.has_upper[0]:
            return self
        most = int(np.searchsorted(np.cumsum(sizes), self.upper[0], side="right"))
        ones = np.zeros(self.n_columns, dtype=np.int64)
        ones[self.column[entries]] = 1
        labels, owners = [*self.labels, "count"], [*self.owners, ""]
        return replace(self.with_row(ones, -len(sizes) - 1, most), labels=labels, owners=owners)

    def under(self, names: Collection[str]) -> IntegerProgram:
        """Return the program under the formulation's own rows and some side constraints."""
        kept = np.array([not owner or owner in names for owner in self.owners], dtype=bool)
        entries = kept[self.row]
        rows = np.flatnonzero(kept).tolist()
        return replace(
            self,
            first=np.concatenate(([0], np.cumsum(np.diff(self.first)[kept]))),
            column=self.column[entries],
            coefficient=self.coefficient[entries],
            lower=self.lower[kept],
            upper=self.upper[kept],
            labels=[self.labels[i] for i in rows],
            owners=[self.owners[i] for i in rows],
        )

    def violated_rows(self, x: IntArray) -> IntArray:
        """Return the rows that x violates."""
        used = self.activities(x)
        return np.flatnonzero((used < self.lower) | (used > self.upper))

    def point(self, chosen: Iterable[int]) -> IntArray:
        """Return the 0-1 vector of chosen columns and of the columns that they allow to be 1."""
        x = np.zeros(self.n_columns, dtype=np.int64)
        x[list(chosen)] = 1
        for column, sets in self.lifting.items():
            if self.high[column]:
                x[column] = all(x[list(columns)].any() for columns in sets)
        return x


def row_sums(values: IntArray, first: IntArray) -> IntArray:
    """Return the sums of consecutive segments; 64-bit overflow in between cancels out."""
    total = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values, out=total[1:])
    return total[first[1:]] - total[first[:-1]]


class ProgramWriter:
    """Writes the rows of an integer program over the open columns.

    Parameters
    ----------
    columns : list of str
        Names; a row that can be relaxed adds a column.
    can_be_1 : ndarray of bool
        The columns that may be 1.
    """

    def __init__(self, columns: Sequence[str], can_be_1: NDArray[np.bool_]) -> None:
        self.columns, self.can_be_1 = list(columns), can_be_1.tolist()
        self._open, self._width = can_be_1, len(self.columns)
        self._lifting: dict[int, tuple[tuple[int, ...], ...]] = {}
        self._places: list[IntArray] = []
        self._values: list[IntArray] = []
        self._ends: list[tuple[int, int]] = []
        self._labels: list[str] = []
        self._owners: list[str] = []
        self._known: dict[str, int] = {}

    def add(
        self,
        names: tuple[str, str],
        places: IntArray | Sequence[int],
        coefficients: Whole | Sequence[Number],
        bounds: Bounds,
        lifting: Sequence[Sequence[int]] = (),
    ) -> None:
        """Add a row, with its name and the name of its side constraint.

        It holds for all x where one column of each set of ``lifting`` is 1.
        """
        if not isinstance(coefficients, Whole):
            coefficients = Whole.of_fractions(map(exact, coefficients))
        numbers, scale = coefficients.numbers, coefficients.scale
        at = np.asarray(places, dtype=np.int64)
        kept = self._open[at] & (numbers != 0)
        if not kept.all():
            at, numbers = at[kept], numbers[kept]
        if (np.diff(at) <= 0).any():
            at, numbers = _merged(at, numbers)
        if lifting:
            least = exact_sum(np.minimum(numbers, 0))
            relaxed = max(0, ceil(exact(bounds[0]) * scale) - least)
            column = self._lifting_column(names, lifting)
            if column is not None and relaxed:
                wide = relaxed.bit_length() > SUM_BITS
                numbers = np.append(numbers.astype(object) if wide else numbers, relaxed)
                at = np.append(at, column)
        self._write(names, at, numbers, bounds, scale)

    def _lifting_column(
        self, names: tuple[str, str], lifting: Sequence[Sequence[int]]
    ) -> int | None:
        """Add a column that is at most the sum of each set; None where it must be 0."""
        label, owner = names
        column = len(self.columns)
        sets = tuple(tuple(j for j in columns if self.can_be_1[j]) for columns in lifting)
        while label in self._known or label in self.columns[self._width :]:
            label = f"{label}'"
        self.columns.append(label)
        self.can_be_1.append(all(sets))
        self._lifting[column] = sets
        if not all(sets):
            return None
        for columns in sets:
            values = np.array([1] + [-1] * len(columns), dtype=np.int64)
            at = np.array([column, *columns], dtype=np.int64)
            at, values = _merged(at, values)
            name = f"{label}: {self.columns[columns[0]]}"
            self._write((name, owner), at, values, (-inf, 0), 1)
        return column

    def _write(
        self, names: tuple[str, str], at: IntArray, values: IntArray, bounds: Bounds, scale: int
    ) -> None:
        """Store a row in lowest terms, its bounds rounded inwards to integers."""
        common = _common_divisor(values)
        reach = exact_sum(np.abs(values)) // common + 1
        lower, upper = bounds
        low = ceil(exact(lower) * scale / common) if finite(lower) else -reach
        top = floor(exact(upper) * scale / common) if finite(upper) else reach
        values = values // common if common > 1 else values
        ends = max(-reach, min(low, reach)), max(-reach, min(top, reach))
        label, owner = names
        while label in self._known:  # a kind of one's own may use a name twice
            k = self._known[label]
            same = np.array_equal(self._places[k], at) and np.array_equal(self._values[k], values)
            if same and (self._ends[k], self._owners[k]) == (ends, owner):
                return
            label = f"{label}'"
        self._known[label] = len(self._labels)
        self._places.append(at)
        self._values.append(values)
        self._ends.append(ends)
        self._labels.append(label)
        self._owners.append(owner)

    def program(self, rewards: Whole) -> IntegerProgram:
        """Return the program with the rewards of its first columns; others have none."""
        numbers = rewards.numbers
        common = _common_divisor(numbers)
        added = len(self.columns) - len(numbers)
        values = np.concatenate([*self._values, np.zeros(0, np.int64)])
        reach = max((exact_sum(np.abs(row)) for row in self._values), default=0)
        high = np.array(self.can_be_1, dtype=np.int64)
        kind = np.int64 if reach.bit_length() <= SUM_BITS else object
        earned = numbers // common
        fits = exact_sum(np.abs(earned)).bit_length() <= SUM_BITS
        return IntegerProgram(
            np.append(earned, np.zeros(added, np.int64)).astype(np.int64 if fits else object),
            np.zeros_like(high),
            high,
            np.cumsum([0, *map(len, self._places)]),
            np.concatenate([*self._places, np.zeros(0, np.int64)]).astype(np.int64),
            values.astype(kind),
            np.array([low for low, _ in self._ends], dtype=kind),
            np.array([top for _, top in self._ends], dtype=kind),
            self.columns,
            self._labels,
            self._owners,
            Fraction(rewards.scale, common),
            self._lifting,
        )


def _merged(at: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the columns in order, each once, with the sum of its coefficients if that is not 0."""
    sums: dict[int, int] = {}
    for j, value in zip(at.tolist(), values.tolist(), strict=True):
        sums[j] = sums.get(j, 0) + value
    sums = {j: sums[j] for j in sorted(sums) if sums[j]}
    kind = values.dtype if values.dtype == object else np.int64
    return np.array(list(sums), dtype=np.int64), np.array(list(sums.values()), dtype=kind)


def _common_divisor(numbers: IntArray) -> int:
    """Return the greatest common divisor of integers, 1 if all are 0."""
    if numbers.dtype == object:
        return gcd(*numbers.tolist()) or 1
    return int(np.gcd.reduce(numbers)) or 1 if len(numbers) else 1
