"""The linear relaxation of a 0-1 program in HiGHS, asked again and again with columns fixed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import (
    FREE,
    Integers,
    ProgramArrays,
    ScaledProgram,
    Values,
)
from schedopt.solvers.few_row_ip.lagrangian import run_highs
from schedopt.solvers.mip.highs import load_highs

OPTIONS = {
    "presolve": "off",
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


class Relaxed(NamedTuple):
    """The outcome of a linear relaxation, all of it rounded."""

    feasible: bool
    values: NDArray[np.float64]  # a best point, where it is feasible, (columns,)
    multipliers: list[tuple[int, float]]  # of rows: in rewards, or a ray that proves infeasibility


class Relaxation:
    """A linear relaxation, set up once; `scaled` is the same program in floating point.

    HiGHS does not know what it has not found in some `seconds`.
    """

    def __init__(
        self, arrays: ProgramArrays, scaled: ScaledProgram, seconds: float | None = None
    ) -> None:
        self._scaled, self._columns = scaled, len(arrays.rewards)
        self._engine = load_highs(
            -scaled.cost,
            (scaled.lower, scaled.upper),
            (np.zeros(self._columns), np.ones(self._columns)),
            (arrays.first, arrays.columns, scaled.values),
            options=OPTIONS if seconds is None else OPTIONS | {"time_limit": seconds},
        )

    def solve(self, values: Values) -> Relaxed | None:
        """Solve with some columns fixed; None where HiGHS does not know.

        Multipliers are in the units of the program: HiGHS minimises. One that no double holds is
        left out: any multipliers bound, and these a little less.
        """
        every = np.arange(self._columns, dtype=np.int32)
        low, high = (values == 1).astype(float), (values != 0).astype(float)
        self._engine.changeColsBounds(self._columns, every, low, high)
        relaxed = run_highs(self._engine)
        if relaxed is None:
            return None
        scale = self._scaled.cost_scale if relaxed.feasible else 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            multipliers = -relaxed.prices * self._scaled.row_scales / scale
        some = np.flatnonzero(np.isfinite(multipliers) & (multipliers != 0))
        pairs = list(zip(some.tolist(), multipliers[some].tolist(), strict=True))
        return Relaxed(relaxed.feasible, relaxed.values, pairs)


SPARE = 5
"""Extra bits beyond those that keep rounding errors below a unit of reward."""


@dataclass(frozen=True)
class Reason:
    """A weight of the reward and multipliers of rows: why a branch is closed, or columns fixed."""

    weight: int
    multipliers: tuple[tuple[int, int], ...]


def reduced_rewards(arrays: ProgramArrays, reason: Reason) -> tuple[Integers, int]:
    """Return w·R_j less the multiplied rows, shape (columns,), and the sum of y_i·bound_i."""
    reduced = arrays.rewards * reason.weight
    constant = 0
    for i, y in reason.multipliers:
        at = arrays.row(i)
        reduced[arrays.columns[at]] -= arrays.coefficients[at].astype(object) * y
        constant += y * int(arrays.upper[i] if y > 0 else arrays.lower[i])
    return reduced, constant


def ceiling(values: Values, left: Integers, constant: int) -> int:
    """Return the bound that a reason proves with some columns fixed, times its weight."""
    most: int = constant + sum(left[values == 1].tolist())
    most += sum(np.maximum(left[values == FREE], 0).tolist())
    return most


def apply(arrays: ProgramArrays, values: Values, reason: Reason, target: int | None) -> bool:
    """Fix in place what a reason rules out; tell whether it closes the branch.

    `target` is what the reward must come to at least; with None any selection will do.
    """
    reduced, constant = reduced_rewards(arrays, reason)
    if target is None and reason.weight:
        return False
    slack = ceiling(values, reduced, constant) - reason.weight * (target or 0)
    if slack < 0:
        return True
    place = np.flatnonzero(values == FREE)
    sizes = np.abs(reduced[place])
    ruled = place[(sizes > slack).astype(bool)]
    values[ruled] = (reduced[ruled] > 0).astype(np.int8)
    return False


def whole_multipliers(
    arrays: ProgramArrays, weights: Sequence[tuple[int, float]], *, reward: bool = True
) -> Reason:
    """Return whole multipliers that are as good as those of a linear relaxation.

    Multipliers are in rewards for a unit of the row; those on a side without a bound are left out.
    Unless `reward`, they only rule rows out, and their unit is free.
    """
    kept = [(i, y) for i, y in weights if y and arrays.has_bound(i, y)]
    if not reward and kept:
        largest = max(abs(y) for _, y in kept)
        kept = [(i, y / largest) for i, y in kept]
    reach = sum(arrays.reach[i] + 1 for i, _ in kept)
    bits = SPARE + reach.bit_length()  # what rounding costs is then well below a unit of reward
    whole = tuple((i, scaled) for i, y in kept if (scaled := _times_2_to(y, bits)))
    return Reason(reward * (1 << bits), whole)


def _times_2_to(number: float, bits: int) -> int:
    """Return number·2^bits, rounded."""
    top, bottom = number.as_integer_ratio()
    return ((top << bits + 1) + bottom) // (2 * bottom)
