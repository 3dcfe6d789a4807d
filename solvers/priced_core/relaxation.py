"""The linear relaxation of an integer program in HiGHS, and the program in floating point.

HiGHS's tolerances are absolute: 1e-8 for rows, columns and rewards. So rows and rewards are scaled
by powers of two to sums of about a million. A row is *blurred* if its numbers are too large for
these tolerances, or if its coefficients are nearly multiples of one number. In the second case
HiGHS treats their ratios as integers: wrong optima and wrong claims of infeasibility were observed
for relative differences of 1e-11 to 1e-7. Programs with blurred rows are solved without presolve,
and the bounds of these rows are relaxed by more than the possible error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.program import IntArray, IntegerProgram
from schedopt.instances.decimals import exact_sum
from schedopt.solvers.clock import now
from schedopt.solvers.mip import Matrix
from schedopt.solvers.priced_core.bounds import PricedBound
from schedopt.solvers.priced_core.open_part import open_part

if TYPE_CHECKING:
    import highspy

Floats = NDArray[np.float64]

SUM_BITS = 20
"""Rows and rewards are scaled to sums of about 2^20."""
LARGEST_SHARP = 2**38
"""Row sums up to which a scaled unit is at least 400 times HiGHS's tolerance."""
OUTWARDS = 1e-2
"""By how much the bounds of a blurred row are relaxed: more than errors of 1e-8 can cause."""
ALWAYS_SHARP = 10**7
"""Different integers up to this differ by at least 1e-7 of themselves."""
REWARD_TOLERANCE = 9e-4
"""Largest error of a bound, in scaled rewards."""


class LinearOptimum(NamedTuple):
    """An optimum of the linear relaxation, or a proof that it has no solution."""

    feasible: bool
    prices: Floats  # dual values of the rows; of an infeasible relaxation a ray
    values: Floats  # of the columns; of an infeasible relaxation empty

    def bound(self, program: IntegerProgram) -> PricedBound:
        """Return the bound of integer multipliers close to the prices."""
        if self.feasible:
            return PricedBound.of(program, self.prices)
        rays = (PricedBound.of(program, s * self.prices, with_rewards=False) for s in (1, -1))
        return min(rays, key=lambda ray: ray.total)  # HiGHS returns rays of either sign


@dataclass(frozen=True, eq=False)
class ScaledProgram:
    """An integer program in floating point, scaled by powers of two."""

    program: IntegerProgram

    @cached_property
    def row_shifts(self) -> IntArray:
        """Bits by which each row is scaled down."""
        return _shifts(self.program.reach.tolist())

    @cached_property
    def reward_shift(self) -> int:
        """Bits by which the rewards are scaled down."""
        return int(_shifts([exact_sum(np.abs(self.program.rewards))])[0])

    @cached_property
    def blurred(self) -> NDArray[np.bool_]:
        """Rows that are too close to others for HiGHS's tolerances, shape (m,)."""
        ends = self.program.first.tolist()
        parts = zip(self.program.reach.tolist(), ends, ends[1:], strict=False)
        values = self.program.coefficient
        marks = [r > LARGEST_SHARP or nearly_multiples(values[a:b]) for r, a, b in parts]
        return np.array(marks, dtype=np.bool_)

    @property
    def reward_tolerance(self) -> Fraction:
        """Largest error of bounds of MIP solvers, in units: thousands of their tolerances."""
        scaled = max(REWARD_TOLERANCE, 4e-7 * self.program.n_columns)
        return Fraction(scaled) * (1 << self.reward_shift)

    def matrix(self, *, inwards: bool = False) -> Matrix:
        """Return the program for a MIP solver, whose objective is the reward scaled down.

        Parameters
        ----------
        inwards : bool
            Whether to tighten the bounds of blurred rows instead, so that solutions are feasible.
        """
        program = self.program
        away = np.where(self.blurred, -OUTWARDS / 10 if inwards else OUTWARDS, 0.0)
        lower, upper, values = self._rows()
        return Matrix(
            columns=list(range(program.n_columns)),
            cost=_shifted(program.rewards, self.reward_shift),
            cost_scale=1.0,
            offset=0.0,
            maximize=True,
            column_lower=program.low.astype(float),
            column_upper=program.high.astype(float),
            integer=np.ones(program.n_columns, dtype=np.int32),
            rows=list(range(program.n_rows)),
            row_lower=lower - away,
            row_upper=upper + away,
            starts=program.first.astype(np.int32),
            indices=program.column.astype(np.int32),
            values=values,
        )

    def load_relaxation(self) -> highspy.Highs:
        """Return the linear relaxation in HiGHS, ready to run."""
        from schedopt.solvers.mip.highs import load_highs

        program, (lower, upper, values) = self.program, self._rows()
        return load_highs(
            -_shifted(program.rewards, self.reward_shift),
            (lower, upper),
            (program.low.astype(float), program.high.astype(float)),
            (program.first[:-1], program.column, values),
            options={"presolve": "off", "primal_feasibility_tolerance": 1e-9, "threads": 1},
        )

    def _rows(self) -> tuple[Floats, Floats, Floats]:
        """Return the scaled bounds of the rows and the entries; missing bounds are infinite."""
        program, shifts = self.program, self.row_shifts
        least, most = program.activity_range()
        lower = np.where(program.lower < least, -inf, _shifted(program.lower, shifts))
        upper = np.where(program.upper > most, inf, _shifted(program.upper, shifts))
        values = _shifted(program.coefficient, np.repeat(shifts, np.diff(program.first)))
        return lower, upper, values


def _shifts(sums: list[int]) -> IntArray:
    """Return by how many bits to scale down sums to about 2^20."""
    return np.array([max(0, total.bit_length() - SUM_BITS) for total in sums], dtype=np.int64)


def _shifted(numbers: IntArray, shifts: IntArray | int) -> Floats:
    if numbers.dtype != object:
        return np.asarray(np.ldexp(numbers.astype(float), -np.asarray(shifts)), dtype=np.float64)
    pairs = zip(numbers.tolist(), np.broadcast_to(shifts, numbers.shape).tolist(), strict=True)
    return np.array([number / (1 << shift) for number, shift in pairs], dtype=float)


def nearly_multiples(coefficients: IntArray) -> bool:
    """Return True if coefficients are nearly, but not exactly, multiples of one number.

    The test: for a tenth of them, the ratio to another coefficient differs from a simple fraction
    by at most 1e-6.
    """
    sizes = np.abs(coefficients)
    if len(sizes) < 2 or int(sizes.max()) <= ALWAYS_SHARP:
        return False
    multiples = sizes.astype(float)[:, None] * np.arange(1.0, 21.0)
    references = np.sort(sizes)[np.unique(np.linspace(0, len(sizes) - 1, 8).astype(int))]
    for reference in references.tolist():
        ratios = multiples / float(reference)
        nearest = np.rint(ratios)
        close = (np.abs(ratios - nearest) <= 1e-6) & (nearest > 0)
        pairs = zip(*(at.tolist() for at in close.nonzero()), strict=True)
        inexact = [int(sizes[j]) * (q + 1) != int(nearest[j, q]) * reference for j, q in pairs]
        if 10 * sum(inexact) >= max(len(sizes) - 1, 1):
            return True
    return False


class Relaxation:
    """The linear relaxation of a program, which is solved again for other bounds of columns."""

    def __init__(self, program: IntegerProgram) -> None:
        self.scaled = ScaledProgram(program)
        self._engine = self.scaled.load_relaxation()

    def solve(
        self, seconds: float = inf, columns: tuple[IntArray, IntArray] | None = None
    ) -> LinearOptimum | None:
        """Solve the relaxation, for other bounds of the columns if given; None without answer."""
        import highspy

        scaled, engine = self.scaled, self._engine
        if columns is not None:
            low, high = (ends.astype(float) for ends in columns)
            engine.changeColsBounds(len(low), np.arange(len(low), dtype=np.int32), low, high)
        limit = engine.getRunTime() + max(min(seconds, 1e9), 1e-3)
        engine.setOptionValue("time_limit", limit)
        engine.run()
        status, solution = engine.getModelStatus(), engine.getSolution()
        if status == highspy.HighsModelStatus.kOptimal:
            duals = -np.asarray(solution.row_dual)
            with np.errstate(over="ignore"):  # infinite prices are not used
                prices = np.ldexp(duals, scaled.reward_shift - scaled.row_shifts)
            return LinearOptimum(True, prices, np.asarray(solution.col_value))
        if status == highspy.HighsModelStatus.kInfeasible:
            _, known, ray = engine.getDualRay()
            if known:
                prices = np.ldexp(np.asarray(ray), -scaled.row_shifts)
                return LinearOptimum(False, prices, np.zeros(0))
        return None


def relax(program: IntegerProgram, seconds: float = inf) -> LinearOptimum | None:
    """Solve the linear relaxation; None if HiGHS does not solve it."""
    if not program.n_rows:
        values = np.where(program.rewards > 0, program.high, program.low).astype(float)
        return LinearOptimum(True, np.zeros(0), values)
    return Relaxation(program).solve(seconds)


def relax_many_columns(program: IntegerProgram, until: float, size: int) -> LinearOptimum | None:
    """Solve the relaxation of many columns over few rows by column generation.

    Each relaxation is over the ``size`` columns whose reduced costs are closest to 0; the other
    columns stay at the bound that their reduced costs prefer. The first prices are those of every
    k-th column with a k-th of the upper bounds of the rows. If the prices do not become optimal for
    all columns, the whole relaxation is solved.
    """
    step = program.n_columns // size + 1
    sampled = np.arange(program.n_columns) % step == 0
    sample = replace(
        program.with_bounds(program.low, np.where(sampled, program.high, program.low)),
        upper=program.upper // step,
    )
    every = np.ones(program.n_rows, dtype=np.bool_)
    optimum = relax(open_part(sample, keep=every).program, until - now())
    for _ in range(8):
        if optimum is None or not optimum.feasible:
            break
        bound = PricedBound.of(program, optimum.prices)
        undecided = np.argsort(np.abs(bound.reduced), kind="stable")[:size]
        low = bound.preferred(program)
        high = low.copy()
        low[undecided], high[undecided] = program.low[undecided], program.high[undecided]
        part = open_part(program.with_bounds(low, high), keep=every)
        optimum = relax(part.program, until - now())
        if optimum is None or not optimum.feasible:
            break
        value = part.reward + float(part.program.rewards.astype(float) @ optimum.values)
        if bound.total / bound.scale - value <= 1e-7 * abs(value) + 1e-3:
            values = part.low.astype(float)
            values[part.columns] += optimum.values
            return LinearOptimum(True, bound.multipliers / bound.scale, values)
    return relax(program, until - now())
