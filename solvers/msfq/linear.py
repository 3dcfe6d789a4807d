"""A linear program in HiGHS, for the `model` engines of queues and logs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import highspy
import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now
from schedopt.solvers.mip.passing import load_highs
from schedopt.solvers.result import Limits, Termination
from schedopt.solvers.running import Run

Floats = NDArray[np.float64]
TOLERANCE = 1e-9
"""How far reduced costs may be below 0: costs are about 1, and flows about 10,000."""
STOPPED: dict[object, Termination] = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kTimeLimit: "time-limit",
    highspy.HighsModelStatus.kInterrupt: "interrupted",
}


@dataclass
class Program:
    """Minimise costs over columns that are at least 0, under rows with bounds."""

    costs: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _rows: list[int] = field(default_factory=list)
    _values: list[float] = field(default_factory=list)

    def row(self, lower: float, upper: float) -> int:
        """Add a row, and return its number."""
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.lower) - 1

    def column(self, cost: float, entries: Iterable[tuple[int, float]]) -> int:
        """Add a column with its entries by row, and return its number."""
        together: dict[int, float] = {}
        for row, value in entries:
            together[row] = together.get(row, 0.0) + value
        self._starts.append(len(self._rows))
        self._rows += together
        self._values += together.values()
        self.costs.append(cost)
        return len(self.costs) - 1

    def solve(self, limits: Limits, began: float) -> Solved:
        """Run HiGHS to its end, to the limit since a time on the clock, or to an interruption."""
        left = highspy.kHighsInf
        if limits.time_limit is not None:
            left = max(0.0, began + limits.time_limit - now())
        options: dict[str, float | str] = {
            "solver": "ipm",  # the simplex method takes twice as long
            "dual_feasibility_tolerance": TOLERANCE,  # with a tighter primal one it may not end
            "time_limit": left,
        }
        count = len(self.costs)
        engine = load_highs(
            np.array(self.costs),
            (np.array(self.lower), np.array(self.upper)),
            (np.zeros(count), np.full(count, highspy.kHighsInf)),
            (np.array(self._starts), np.array(self._rows), np.array(self._values)),
            by_rows=False,
            options=options,
        )
        run = Run(limits)
        engine.HandleUserInterrupt = True
        run.in_thread(engine.run, engine.cancelSolve)
        if engine.getModelStatus() not in STOPPED:  # interior points came to nothing
            engine.setOptionValue("solver", "simplex")
            run.in_thread(engine.run, engine.cancelSolve)
        engine.HandleUserInterrupt = False
        stopped = STOPPED.get(engine.getModelStatus(), "error")
        if run.interrupted and stopped != "optimal":
            stopped = "interrupted"
        solution = engine.getSolution()
        return Solved(stopped, np.asarray(solution.col_value), np.asarray(solution.row_dual))


@dataclass
class Solved:
    """What HiGHS made of a program: why it stopped, its columns, and the prices of its rows."""

    stopped: Termination
    columns: Floats
    prices: Floats
