"""Solve a selection that is a plain knapsack with the exact core algorithm."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from schedopt.formulations.protocol import Knapsack
from schedopt.solvers.deciding import Decided, conclude, remaining_limits
from schedopt.solvers.dssp.selection.knapsack.items import in_doubles
from schedopt.solvers.dssp.selection.knapsack.search import Core
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, drive, version

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected


def solve(model: Selection, task: EngineTask) -> Result[Selected] | Partial:
    """Solve a selection that is a plain knapsack, with nothing but equations 1 and 2 in it.

    An interruption (Ctrl-C) ends the run and keeps the best so far. What outgrows the memory is
    handed to the next engine.
    """
    run = Run(task.limits)
    decided = _decide(model, task.reading, run)
    result = conclude(model, run, decided, solver="core", version=version())
    handed_on = decided.stopped == "error" and not task.alone
    return Partial(result, decided.bound) if handed_on else result


def _decide(model: Selection, knapsack: Knapsack, run: Run) -> Decided:
    """Solve; where numbers must be rounded, let whatever fits indeed fit, and look again."""
    rewards, demands, room, positions = knapsack
    weights, limit, exact = in_doubles(demands, room, generous=True)
    search = Core(rewards, weights, limit)
    stopped, message = drive(search, run, noise=0.0)
    proven, chosen = search.bound == search.value, search.chosen()
    fits = exact or sum(demands.numbers[chosen].tolist()) <= room
    if search.exact and fits and (proven or exact):
        columns = np.zeros(model.width, dtype=np.int8)
        columns[positions[chosen]] = 1
        return Decided(stopped, columns, Fraction(search.bound), proven, message)
    # Find what fits with demands rounded up, and close the rest without rounding.
    from schedopt.solvers.dssp.selection.branch_and_bound.solving import Solver

    careful = Core(rewards, *in_doubles(demands, room)[:2])
    if stopped == "optimal":
        run.trace.clear()  # what was found on the way may not fit
        drive(careful, Run(remaining_limits(run.limits, run.began)), noise=0.0)
    solver = Solver(model.program(), remaining_limits(run.limits, run.began))
    for core in (search, careful):
        solver.offer(positions[core.chosen()].tolist())
    # Rewards beyond 2^52 units are added up in floating point.
    bound = Fraction(search.bound) * (1 + Fraction(not search.exact, 10**12))
    bound *= solver.program.scale
    if stopped != "optimal":
        return solver.decided(stopped, bound, message)
    return solver.close_gap(
        bound, f"two selections are too close for {solver.engine.title} to tell apart"
    )
