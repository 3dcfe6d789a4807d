"""The linear relaxation of a 0-1 program in HiGHS, asked again and again with columns fixed."""

from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import ProgramArrays, Values
from schedopt.solvers.dssp.selection.branch_and_bound.scaling import ScaledProgram
from schedopt.solvers.mip.passing import load_highs

Floats = NDArray[np.float64]


OPTIONS = {
    "presolve": "off",
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


@dataclass(frozen=True)
class Relaxed:
    """The outcome of a linear relaxation, all of it rounded."""

    feasible: bool
    values: Floats  # a best point, where it is feasible, (columns,)
    multipliers: list[tuple[int, float]]  # of rows: in rewards, or a ray that proves infeasibility


class Relaxation:
    """A linear relaxation, set up once; `scaled` is the same program in floating point.

    HiGHS does not know what it has not found in some `seconds`.
    """

    def __init__(
        self,
        arrays: ProgramArrays,
        scaled: ScaledProgram | None = None,
        seconds: float | None = None,
    ) -> None:
        self._scaled = scaled = scaled or ScaledProgram.of(arrays)
        self._columns = len(arrays.rewards)
        self._all = np.arange(self._columns, dtype=np.int32)
        self._engine = load_highs(
            -scaled.cost,
            (scaled.lower, scaled.upper),
            (np.zeros(self._columns), np.ones(self._columns)),
            (arrays.first, arrays.columns, scaled.values),
            options=OPTIONS if seconds is None else OPTIONS | {"time_limit": seconds},
        )

    def solve(self, values: Values) -> Relaxed | None:
        """Solve with some columns fixed; None where HiGHS does not know."""
        engine = self._engine
        low, high = (values == 1).astype(float), (values != 0).astype(float)
        engine.changeColsBounds(self._columns, self._all, low, high)
        engine.run()
        status = engine.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            answered, has, ray = engine.getDualRay()
            if answered != highspy.HighsStatus.kOk or not has:
                return None
            return Relaxed(False, low, self._multipliers(np.asarray(ray), 1.0))
        if status != highspy.HighsModelStatus.kOptimal:
            return None
        solution = engine.getSolution()
        duals = np.asarray(solution.row_dual)
        return Relaxed(
            True, np.asarray(solution.col_value), self._multipliers(duals, self._scaled.cost_scale)
        )

    def _multipliers(self, duals: Floats, cost_scale: float) -> list[tuple[int, float]]:
        """Return the rows' multipliers in the units of the program: HiGHS minimises.

        One that no double holds is left out: any multipliers bound, and these a little less.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            multipliers = -duals * self._scaled.row_scales / cost_scale
        some = np.flatnonzero(np.isfinite(multipliers) & (multipliers != 0))
        return [(int(i), float(multipliers[i])) for i in some]
