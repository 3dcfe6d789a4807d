"""A selection as arrays of whole numbers: jobs that single rows decide, and the other rows."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.rows import Row
from schedopt.formulations.program import exact, finite
from schedopt.instances.decimals import Whole

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection

Places = NDArray[np.intp]
UNDECIDED = -1


class ArrayRow(NamedTuple):
    """lower <= coefficients·x over some jobs <= upper, in units of 1/scale; None for no bound."""

    jobs: Places
    coefficients: Whole
    lower: int | None
    upper: int | None

    @classmethod
    def of(cls, row: Row) -> ArrayRow:
        """Bring a row to whole numbers, its bounds rounded inwards."""
        parts = row.coefficients
        if not isinstance(parts, Whole):
            parts = Whole.of_fractions([exact(part) for part in parts])
        return cls(
            np.asarray(row.jobs, dtype=np.intp),
            parts,
            ceil(exact(row.lower) * parts.scale) if finite(row.lower) else None,
            floor(exact(row.upper) * parts.scale) if finite(row.upper) else None,
        )

    def allows(self, activity: int) -> bool:
        """Tell whether the row holds where its jobs come to so much."""
        over = self.upper is not None and activity > self.upper
        return not over and (self.lower is None or activity >= self.lower)


class SelectionArrays(NamedTuple):
    """A selection without its native model.

    ``values``: what each job is: 0, 1 or `UNDECIDED`; ``capacity``, ``rules``: the rows over
    several jobs, of the machine and of side constraints.
    """

    values: NDArray[np.int8]
    capacity: list[ArrayRow]
    rules: list[ArrayRow]


def selection_arrays(model: Selection) -> SelectionArrays | None:
    """Read a selection; None where rows can be waived, or single jobs keep one from holding."""
    values = np.where(model.open, UNDECIDED, 0).astype(np.int8)
    rows: tuple[list[ArrayRow], list[ArrayRow]] = [], []
    for kept, stated in zip(rows, (model.capacity, [row for _, row in model.stated]), strict=True):
        for declared in stated:
            row = ArrayRow.of(declared)
            all_in = row.lower == row.coefficients.total and (row.coefficients.numbers > 0).all()
            decides = len(row.jobs) < 2 or all_in
            if declared.lifting or (decides and not _decide(row, values)):
                return None
            if not decides:
                kept.append(row)
    return SelectionArrays(values, *rows)


def _decide(row: ArrayRow, values: NDArray[np.int8]) -> bool:
    """Fix the jobs of a row about one job, or that asks for all; tell whether it can hold."""
    total = row.coefficients.total
    for value in (0, 1):
        if row.allows(value * total):
            continue
        if len(row.jobs) == 0 or (values[row.jobs] == value).any():
            return False
        values[row.jobs] = 1 - value
    return True
