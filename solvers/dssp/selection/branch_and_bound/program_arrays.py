"""A 0-1 program as arrays of whole numbers, and what its rows alone decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.program import Program, WholeRow

Integers = NDArray[Any]
"""Python integers in an array: sums and products never overflow."""
Values = NDArray[np.int8]
"""What each column is: 0, 1, or `FREE`."""
FREE: Final = -1
_NONE: Final = 1 << 61
"""Beyond any activity of rows that are held in 64 bits."""


class _Rows(NamedTuple):
    """The rows by entry, which is the same at every node.

    Where there is no bound, `most` and `least` are beyond any activity of rows held in 64 bits.
    """

    most: Integers  # (rows,)
    least: Integers  # (rows,)
    above: NDArray[np.bool_]  # whether there is an upper bound, (rows,)
    below: NDArray[np.bool_]  # whether there is a lower bound, (rows,)
    owner: NDArray[np.intp]  # the row of each entry, (entries,)
    size: Integers  # absolute coefficients, (entries,)


@dataclass(frozen=True, eq=False)
class ProgramArrays:
    """Rows over columns, stored one after another; no row is without an entry.

    `hopeless` is a row without columns that cannot be satisfied, with 1 for its upper bound, -1 for
    its lower. The entries of row i are ``first[i]`` up to ``first[i + 1]``. Coefficients have 64
    bits where every row's activity fits.
    """

    rewards: Integers
    hopeless: tuple[str, int] | None
    keys: tuple[str, ...]
    lower: tuple[int | None, ...]
    upper: tuple[int | None, ...]
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
        hopeless = None
        for row in asked:
            if not row.columns and ((row.lower or 0) > 0 or (row.upper or 0) < 0):
                hopeless = row.key, 1 if (row.upper or 0) < 0 else -1
        counts = [len(row.columns) for row in rows]
        flat = [c for row in rows for c in row.coefficients]
        large = any(
            sum(map(abs, row.coefficients)) + max(abs(row.lower or 0), abs(row.upper or 0)) >= _NONE
            for row in rows
        )
        return cls(
            rewards=integer_array(rewards),
            hopeless=hopeless,
            keys=tuple(row.key for row in rows),
            lower=tuple(row.lower for row in rows),
            upper=tuple(row.upper for row in rows),
            first=np.concatenate(([0], np.cumsum(counts, dtype=np.intp))).astype(np.intp),
            columns=np.array([j for row in rows for j in row.columns], dtype=np.intp),
            coefficients=integer_array(flat) if large else np.array(flat, dtype=np.int64),
        )

    @cached_property
    def _rows(self) -> _Rows:
        return _Rows(
            self.bounds(self.upper, 1),
            self.bounds(self.lower, -1),
            np.array([u is not None for u in self.upper]),
            np.array([b is not None for b in self.lower]),
            np.repeat(np.arange(len(self.keys)), np.diff(self.first)),
            np.abs(self.coefficients),
        )

    def bounds(self, bounds: Sequence[int | None], side: int) -> Integers:
        """Return bounds; where there is none, one beyond any activity of a row in 64 bits."""
        known = np.array([side * _NONE if b is None else b for b in bounds], dtype=object)
        return known if self.coefficients.dtype == object else known.astype(np.int64)

    @property
    def step(self) -> int:
        """The greatest common divisor of the rewards; 1 where all are 0."""
        return gcd(*self.rewards.tolist()) or 1

    def without(self, values: Values) -> ProgramArrays:
        """Return the same program with the fixed columns worked into the bounds and left out.

        Columns keep their places; what is left over them is in lowest terms again. The rewards of
        fixed columns are 0.
        """
        rows = []
        for i, key in enumerate(self.keys):
            at = self.row(i)
            held = values[self.columns[at]]
            entries = list(zip(self.columns[at], self.coefficients[at].tolist(), held, strict=True))
            kept = {int(j): c for j, c, value in entries if value == FREE}
            used = sum(c for _, c, value in entries if value == 1)
            common = gcd(*kept.values()) or 1
            low, high = self.lower[i], self.upper[i]
            rows.append(
                WholeRow(
                    key,
                    "",
                    tuple(kept),
                    tuple(c // common for c in kept.values()),
                    None if low is None else -((used - low) // common),
                    None if high is None else (high - used) // common,
                )
            )
        return ProgramArrays.of_rows(
            [r * int(v == FREE) for r, v in zip(self.rewards.tolist(), values, strict=True)], rows
        )

    def row(self, i: int) -> slice:
        """Return where the entries of a row are."""
        return slice(int(self.first[i]), int(self.first[i + 1]))

    def reach(self, i: int) -> int:
        """Return the sum of the absolute values of a row's coefficients."""
        return int(np.abs(self.coefficients[self.row(i)]).sum())

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
        rows = self._rows
        while True:
            low, high = self.activities(values)
            over = (low > rows.most).astype(bool) & rows.above
            under = (high < rows.least).astype(bool) & rows.below
            if over.any() or under.any():
                return used, False
            free = values[self.columns] == FREE
            above, below = (rows.most - low)[rows.owner], (high - rows.least)[rows.owner]
            by_upper = free & (rows.size > above).astype(bool) & rows.above[rows.owner]
            by_lower = free & (rows.size > below).astype(bool) & rows.below[rows.owner]
            if not by_upper.any() and not by_lower.any():
                return used, True
            self._fix(values, by_upper, by_lower, used)

    def _fix(
        self,
        values: Values,
        by_upper: NDArray[np.bool_],
        by_lower: NDArray[np.bool_],
        used: list[tuple[int, int]],
    ) -> None:
        """Fix entries one row after another; a later row may then decide otherwise, next time."""
        for marks, sign in ((by_upper, 1), (by_lower, -1)):
            for entry in np.flatnonzero(marks):
                column = self.columns[entry]
                if values[column] == FREE:
                    values[column] = int((self.coefficients[entry] > 0) != (sign == 1))
                    decided = int(self._rows.owner[entry]), sign
                    if decided not in used[-1:]:
                        used.append(decided)

    def cut_off(self, values: Values) -> tuple[int, int] | None:
        """Return a row that cannot be satisfied, with 1 for its upper bound, -1 for its lower."""
        if not self.keys:
            return None
        low, high = self.activities(values)
        for i, (lower, upper) in enumerate(zip(self.lower, self.upper, strict=True)):
            if upper is not None and low[i] > upper:
                return i, 1
            if lower is not None and high[i] < lower:
                return i, -1
        return None


def integer_array(numbers: Sequence[int]) -> Integers:
    """Return an array of Python's own whole numbers."""
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


def initial_values(program: Program) -> Values:
    """Return the columns' values at the start: 0 where a column is not open."""
    return np.where(np.array(program.open, dtype=bool), FREE, 0).astype(np.int8)
