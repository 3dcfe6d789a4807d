"""Solve a selection that is a plain knapsack with the exact core algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.protocol import Knapsack
from schedopt.solvers.deciding import Decided, conclude, remaining_limits
from schedopt.solvers.driving import drive, version
from schedopt.solvers.dssp.selection.knapsack.items import in_doubles
from schedopt.solvers.dssp.selection.knapsack.search import Core
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import Run

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected


def solve(model: Selection, task: EngineTask) -> Result[Selected]:
    """Solve a selection that is a plain knapsack, with nothing but equations 1 and 2 in it.

    An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    _compile()
    run = Run(task.limits)
    decided = _Knapsack(model, task.reading, run).decided()
    return conclude(model, run, decided, solver="core", version=version())


@dataclass(frozen=True, eq=False)
class _Knapsack:
    """One solve: on numbers that are held exactly, or else by rounding on either side."""

    model: Selection
    knapsack: Knapsack
    run: Run

    def decided(self) -> Decided:
        """Solve; where numbers must be rounded, let whatever fits indeed fit, and look again."""
        rewards, demands, room, _ = self.knapsack
        weights, limit, exact = in_doubles(demands, room, generous=True)
        search = Core(rewards, weights, limit)
        stopped, message = drive(search, self.run, noise=0.0)
        done = search.bound == search.value
        chosen = search.chosen()
        fits = exact or sum(demands.numbers[chosen].tolist()) <= room
        if search.exact and fits and (done or exact):
            bound = Fraction(search.bound)
            return Decided(stopped, self._columns(chosen), bound, done, message)
        return self._rounded(search, stopped, message)

    def _rounded(self, search: Core, stopped: Termination, message: str) -> Decided:
        """Find what fits with demands rounded up, and close the rest without rounding."""
        from schedopt.solvers.dssp.selection.branch_and_bound.solving import Solver

        rewards, demands, room, positions = self.knapsack
        weights, limit, _ = in_doubles(demands, room)
        careful = Core(rewards, weights, limit)
        if stopped == "optimal":
            self.run.trace.clear()  # what was found on the way may not fit
            drive(careful, Run(remaining_limits(self.run.limits, self.run.began)), noise=0.0)
        solver = Solver(self.model.program(), remaining_limits(self.run.limits, self.run.began))
        for core in (search, careful):
            solver.offer(positions[core.chosen()].tolist())
        units = solver.program.scale
        # Rewards beyond 2^52 units are added up in floating point.
        bound = Fraction(search.bound) * (1 + Fraction(not search.exact, 10**12)) * units
        if stopped != "optimal":
            return solver.decided(stopped, bound, message)
        return solver.close_gap(
            bound, f"two selections are too close for {solver.engine.title} to tell apart"
        )

    def _columns(self, chosen: NDArray[np.bool_]) -> NDArray[np.int8]:
        if chosen.size == self.model.width:
            return chosen.view(np.int8)
        columns = np.zeros(self.model.width, dtype=np.int8)
        columns[self.knapsack.positions[chosen]] = 1
        return columns


@cache
def _compile() -> None:
    """Run the algorithm once on next to nothing, so that compiling is not counted as solving."""
    Core([2.0, 1.0], [1.0, 1.0], 1.0).advance(0.0)
