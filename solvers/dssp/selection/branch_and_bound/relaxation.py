"""The linear relaxation of a 0-1 program in HiGHS, asked again and again with columns fixed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import ProgramArrays, Values
from schedopt.solvers.dssp.selection.branch_and_bound.scaling import ScaledProgram
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
        found = run_highs(self._engine)
        if found is None:
            return None
        scale = self._scaled.cost_scale if found.feasible else 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            multipliers = -found.prices * self._scaled.row_scales / scale
        some = np.flatnonzero(np.isfinite(multipliers) & (multipliers != 0))
        pairs = list(zip(some.tolist(), multipliers[some].tolist(), strict=True))
        return Relaxed(found.feasible, found.values, pairs)
