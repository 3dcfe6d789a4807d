"""Solve a selection under rules that cross: bound it, anneal, fix what that decides, hand on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from schedopt.solvers.clock import now
from schedopt.solvers.deciding import Decided, concluded, left
from schedopt.solvers.driving import drive, version
from schedopt.solvers.dssp.selection.binary.arrays import FREE
from schedopt.solvers.dssp.selection.binary.engine import Solver, by_mip, prepared
from schedopt.solvers.dssp.selection.binary.multipliers import apply
from schedopt.solvers.dssp.selection.binary.relaxation import Relaxation
from schedopt.solvers.dssp.selection.crossing.search import Annealed, fits
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.mip.named import SOLVERS, engine_of
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import Run

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected

PARTS = (0.4, 0.8)
"""The part of the time limit that annealing may take, and that it may for a first selection."""
BY_SCIP = 1000
"""Columns left open up to which SCIP, where it is installed, proves sooner than HiGHS."""
TOGETHER, JOINED, LONGEST = (3, 8), 0.08, 0.8
"""How many of the selections that rounds end with HiGHS joins with the best, first and then; in
which part of the time that is left, or in how many seconds."""


def solve(model: Selection, task: EngineTask) -> Result[Selected] | Partial:
    """Bound, anneal and fix; SCIP, where it is installed, or HiGHS goes on with what is left."""
    began, solver, run = now(), prepared(model, task, "highs"), Run(task.limits)
    decided = solver.quick()
    if decided is None and fits(solver.arrays):
        decided = _annealed(solver, run, left(task.limits, began).time_limit)
    decided = decided or solver.decided("completed", solver.known)
    few = (solver.start == FREE).sum() <= BY_SCIP and not solver.scaled.blurred.any()
    if few and SOLVERS["scip"].available:
        solver.engine = engine_of("scip")
    if task.alone and (decided.best is None or decided.stopped == "completed"):
        rest = left(task.limits, began)
        return by_mip(model, replace(task, name="highs", limits=rest, hints=solver))
    result = concluded(model, run, decided, solver=task.name, version=version())
    return Partial(result, decided.bound, solver) if decided.stopped == "completed" else result


def _annealed(solver: Solver, run: Run, limit: float | None) -> Decided | None:
    """Anneal near the linear relaxation; narrow the solver down to what may be better."""
    relaxed = Relaxation(solver.arrays, solver.scaled, seconds=limit).solve(solver.start)
    if relaxed is None or not relaxed.feasible:
        return None
    fixed = solver.worth(solver.start)

    def in_rewards(worth: int) -> float:
        return float((worth + fixed) / solver.program.scale)

    spent, stopped = now() - run.began, "time-limit"
    until = None if limit is None else now() + PARTS[0] * max(0.0, limit - spent)
    search = Annealed(
        solver.arrays, solver.start, relaxed, in_rewards, seed=run.limits.seed, until=until
    )
    for part in PARTS:
        if search.best is None and stopped != "interrupted":
            seconds = None if limit is None else spent + part * max(0.0, limit - spent)
            within = Run(replace(run.limits, time_limit=seconds), run.trace, began=run.began)
            stopped, _ = drive(search, within, noise=0.0)
    if search.best is not None:
        solver.offer(np.flatnonzero(search.best == 1).tolist(), "crossing")
    if solver.best is not None and stopped != "interrupted":
        stopped = _joined(solver, search, left(run.limits, run.began).time_limit) or stopped
    bound = Fraction(search.most + fixed)
    solver.known = bound if solver.known is None else min(bound, solver.known)
    if decided := solver.quick():
        return decided
    if solver.near(solver.known):
        return solver.decided("optimal", solver.known)
    if stopped == "interrupted":
        return solver.decided("interrupted", solver.known)
    if solver.best is not None:
        values = solver.start.copy()
        apply(solver.arrays, values, search.reason, solver.worth(solver.best) - fixed)
        solver.narrow(values)
    return solver.decided("completed", solver.known)


def _joined(solver: Solver, search: Annealed, limit: float | None) -> Termination | None:
    """Have HiGHS join the best and what rounds end with; tell whether it was interrupted."""
    ends = [end for _, end in sorted(search.ends, key=lambda end: -end[0])]
    for most in TOGETHER:
        some = np.array([solver.best, *ends[:most]])
        values = np.where(np.ptp(some, axis=0) > 0, FREE, some[0]).astype(np.int8)
        if solver.choose(values, LONGEST if limit is None else JOINED * limit) == "interrupted":
            return "interrupted"
    return None
