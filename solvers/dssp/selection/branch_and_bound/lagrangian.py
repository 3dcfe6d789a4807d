"""Solve a selection by the prices of its rows: bound it, choose near the prices, fix the rest.

The linear relaxation prices every row. Made exact, these prices bound all selections, and say what
each column loses where it differs from what it is worth. The columns that lose least are chosen
among by a MIP solver, all others being as they are worth (a core, as in D. Pisinger, "A minimal
algorithm for the 0-1 knapsack problem", 1997, over many rows). What the bound and the best decide
together is fixed, and the next engine goes on with the rest.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from schedopt.instances.extras import installed
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import Decided, conclude, remaining_limits
from schedopt.solvers.dssp.selection.branch_and_bound import relaxation
from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import FREE
from schedopt.solvers.dssp.selection.branch_and_bound.solving import (
    Solver,
    by_mip,
    warm_started_solver,
)
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.mip import engine_of
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, plain_version

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected

CORES = (150, 300, 600)
"""Columns of the cores that are chosen among, one after another."""
PART, LONGEST = 0.13, 2.0
"""The part of the time limit, or the seconds, that each core may take."""
BY_SCIP = 1000
"""Columns left open up to which SCIP, where it is installed, proves sooner than HiGHS."""


def solve(model: Selection, task: EngineTask) -> Result[Selected] | Partial:
    """Bound, choose near the prices and fix; SCIP, where it is installed, or HiGHS goes on."""
    began, solver, run = now(), warm_started_solver(model, task, "highs"), Run(task.limits)
    decided = solver.decide_at_once() or _near_prices(solver, run)
    few = (solver.start == FREE).sum() <= BY_SCIP and not solver.scaled.blurred.any()
    if few and installed("pyscipopt"):
        solver.engine = engine_of("scip")
    if task.alone and decided.stopped == "completed":
        rest = remaining_limits(task.limits, began)
        return by_mip(model, replace(task, name="highs", limits=rest, hints=solver))
    result = conclude(model, run, decided, solver=task.name, version=plain_version())
    return Partial(result, decided.bound, solver) if decided.stopped == "completed" else result


def _note(solver: Solver, run: Run) -> None:
    """Note the incumbent and the bound in a run, and tell whoever watches it."""
    units = None if solver.best is None else solver.worth(solver.best), solver.known
    value, bound = (None if of is None else float(of / solver.program.scale) for of in units)
    run.note(value, bound)
    if run.limits.watch:
        run.limits.watch(now() - run.began, value, bound)


def _near_prices(solver: Solver, run: Run) -> Decided:
    """Bound by the prices of the relaxation, and narrow the solver to what may be better."""
    limit = remaining_limits(run.limits, run.began).time_limit
    relaxed = relaxation.Relaxation(solver.arrays, solver.scaled, seconds=limit).solve(solver.start)
    if relaxed is None or not relaxed.feasible:
        return solver.decided("completed", solver.known)
    arrays, start, fixed = solver.arrays, solver.start, solver.worth(solver.start)
    reason = relaxation.whole_multipliers(arrays, relaxed.multipliers)
    gain, constant = relaxation.reduced_rewards(arrays, reason)
    bound = relaxation.ceiling(start, gain, constant) // reason.weight // arrays.step * arrays.step
    upper = Fraction(bound + fixed)
    solver.known = upper if solver.known is None else min(upper, solver.known)
    free = np.flatnonzero(start == FREE)
    nearest = free[np.argsort(np.abs(gain[free]).astype(float), kind="stable")]
    for size in CORES:
        core = np.where(start == FREE, gain > 0, start).astype(np.int8)
        core[nearest[:size]] = FREE
        stopped = solver.solve_core(core, LONGEST if limit is None else PART * limit)
        _note(solver, run)
        if decided := solver.decide_at_once():
            return decided
        if stopped == "interrupted":
            return solver.decided(stopped, solver.known)
        if solver.known is not None and solver.near(solver.known):
            return solver.decided("optimal", solver.known)
        if size >= len(nearest):
            break
    if solver.best is not None:
        values = start.copy()
        relaxation.apply(arrays, values, reason, solver.worth(solver.best) - fixed)
        solver.narrow(values)
    return solver.decided("completed", solver.known)
