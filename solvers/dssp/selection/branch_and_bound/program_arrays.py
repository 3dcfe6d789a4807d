"""A 0-1 program as arrays of whole numbers, and what its rows alone decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.program import Program, WholeRow

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
    ``first[i]`` up to ``first[i + 1]``. A bound that no selection can break, or that there is not,
    is one beyond the row's `reach`.
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
                -most if row.lower is None else max(row.lower, -most),
                most if row.upper is None else min(row.upper, most),
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
