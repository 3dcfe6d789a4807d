"""Linear programs in HiGHS, for the `model` engines of queues and logs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now
from schedopt.solvers.mip.highs import load_highs
from schedopt.solvers.result import Limits, Termination
from schedopt.solvers.running import Run

Floats = NDArray[np.float64]
STOPPED: dict[object, Termination] = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kTimeLimit: "time-limit",
    highspy.HighsModelStatus.kInterrupt: "interrupted",
}


class Solved(NamedTuple):
    """A solved linear program: why HiGHS stopped, the columns' values, the rows' dual values."""

    stopped: Termination
    columns: Floats
    prices: Floats


class LinearProgram:
    """A linear program that minimizes costs over nonnegative columns, subject to bounded rows."""

    def __init__(self) -> None:
        self.costs: list[float] = []
        self._bounds: list[tuple[float, float]] = []
        self._entries: list[dict[int, float]] = []

    def row(self, lower: float, upper: float) -> int:
        """Add a row, and return its index."""
        self._bounds.append((lower, upper))
        return len(self._bounds) - 1

    def column(self, cost: float, entries: Iterable[tuple[int, float]]) -> int:
        """Add a column with its coefficients by row, and return its index."""
        together: dict[int, float] = {}
        for row, value in entries:
            together[row] = together.get(row, 0.0) + value
        self._entries.append(together)
        self.costs.append(cost)
        return len(self.costs) - 1

    def solve(self, limits: Limits, began: float, *, dual_tolerance: float = 1e-9) -> Solved:
        """Solve the program within the time limit, counted from ``began`` on the clock."""
        remaining = highspy.kHighsInf
        if limits.time_limit is not None:
            remaining = max(0.0, began + limits.time_limit - now())
        lower, upper = np.array(self._bounds).T
        starts = np.cumsum([0, *map(len, self._entries)])[:-1]
        rows = np.array([row for column in self._entries for row in column])
        values = np.array([value for column in self._entries for value in column.values()])
        count = len(self.costs)
        engine = load_highs(
            np.array(self.costs),
            (lower.copy(), upper.copy()),
            (np.zeros(count), np.full(count, highspy.kHighsInf)),
            (starts, rows, values),
            by_rows=False,
            options={
                "solver": "ipm",  # the simplex method takes twice as long
                "dual_feasibility_tolerance": dual_tolerance,
                "time_limit": remaining,
            },
        )
        run = Run(limits)
        engine.HandleUserInterrupt = True
        run.in_thread(engine.run, engine.cancelSolve)
        if engine.getModelStatus() not in STOPPED:  # the interior point method failed
            engine.setOptionValue("solver", "simplex")
            run.in_thread(engine.run, engine.cancelSolve)
        engine.HandleUserInterrupt = False
        stopped = STOPPED.get(engine.getModelStatus(), "error")
        if run.interrupted and stopped != "optimal":
            stopped = "interrupted"
        solution = engine.getSolution()
        return Solved(stopped, np.asarray(solution.col_value), np.asarray(solution.row_dual))
