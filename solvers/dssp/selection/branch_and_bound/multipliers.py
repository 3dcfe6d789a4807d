"""Bounds from multipliers, without rounding: what a linear relaxation says, made exact.

For whole multipliers y of rows (y > 0 of an upper bound, y < 0 of a lower) and a whole weight w, no
x that keeps the rows has w·reward(x) above

    L = sum over columns of the most of (w·R_j - sum_i y_i a_ij)·x_j + sum over rows of y_i·bound_i.

So a branch that must be worth `target` or more is closed where L < w·target, and a column is fixed
where L would be below that with the column at its other value. With w = 0 it is the rows alone that
rule a branch, or a value, out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import (
    FREE,
    Integers,
    ProgramArrays,
    Values,
)

SPARE = 5
"""Extra bits beyond those that keep rounding errors below a unit of reward."""


@dataclass(frozen=True)
class Reason:
    """A weight of the reward and multipliers of rows: why a branch is closed, or columns fixed."""

    weight: int
    multipliers: tuple[tuple[int, int], ...]


def reduced(arrays: ProgramArrays, reason: Reason) -> tuple[Integers, int]:
    """Return w·R_j less the multiplied rows, shape (columns,), and the sum of y_i·bound_i."""
    left = arrays.rewards * reason.weight
    constant = 0
    for i, y in reason.multipliers:
        at = arrays.row(i)
        left[arrays.columns[at]] -= arrays.coefficients[at].astype(object) * y
        constant += y * int(arrays.upper[i] if y > 0 else arrays.lower[i])
    return left, constant


def ceiling(values: Values, left: Integers, constant: int) -> int:
    """Return the bound that a reason proves with some columns fixed, times its weight."""
    most: int = constant + sum(left[values == 1].tolist())
    most += sum(np.maximum(left[values == FREE], 0).tolist())
    return most


def apply(arrays: ProgramArrays, values: Values, reason: Reason, target: int | None) -> bool:
    """Fix in place what a reason rules out; tell whether it closes the branch.

    `target` is what the reward must come to at least; with None any selection will do.
    """
    left, constant = reduced(arrays, reason)
    if target is None and reason.weight:
        return False
    slack = ceiling(values, left, constant) - reason.weight * (target or 0)
    if slack < 0:
        return True
    place = np.flatnonzero(values == FREE)
    sizes = np.abs(left[place])
    ruled = place[(sizes > slack).astype(bool)]
    values[ruled] = (left[ruled] > 0).astype(np.int8)
    return False


def rounded(
    arrays: ProgramArrays, weights: Sequence[tuple[int, float]], *, reward: bool = True
) -> Reason:
    """Return whole multipliers that are as good as those of a linear relaxation.

    Multipliers are in rewards for a unit of the row; those on a side without a bound are left out.
    Unless `reward`, they only rule rows out, and their unit is free.
    """
    kept = [(i, y) for i, y in weights if y and arrays.bounded(i, y)]
    if not reward and kept:
        largest = max(abs(y) for _, y in kept)
        kept = [(i, y / largest) for i, y in kept]
    reach = sum(arrays.reach[i] + 1 for i, _ in kept)
    bits = SPARE + reach.bit_length()  # what rounding costs is then well below a unit of reward
    whole = tuple((i, scaled) for i, y in kept if (scaled := _scaled(y, bits)))
    return Reason(reward * (1 << bits), whole)


def _scaled(number: float, bits: int) -> int:
    """Return number·2^bits, rounded."""
    top, bottom = number.as_integer_ratio()
    return ((top << bits + 1) + bottom) // (2 * bottom)
