"""Selections and seasons as integer programs, solved exactly by `solvers.priced_core`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from schedopt.formulations.program import IntArray, IntegerProgram
from schedopt.instances.decimals import Whole, as_written
from schedopt.solvers import mip
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import Holds
from schedopt.solvers.deciding import Decided, conclude, remaining_limits
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.mip import engine_of
from schedopt.solvers.priced_core.in_order import maximize_in_order
from schedopt.solvers.priced_core.search import Search
from schedopt.solvers.result import Limits, Result, Termination
from schedopt.solvers.running import Run, plain_version

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection

CONFLICT_SECONDS = 20.0
"""Seconds for each question about a conflict, without a time limit."""


def solve(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve a selection or a season by prices, fixing and a growing core."""
    if model.ordered:
        return _solve_in_order(model, task)
    return _solve(model, task, Search.run)


def branch_and_bound(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve a selection or a season by branch and bound in integers alone."""
    return _solve(model, task, Search.run_branch_and_bound)


def by_mip(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve a selection or a season with HiGHS or SCIP; prove in integers what rounding leaves.

    A model that was changed natively is solved as it stands.
    """
    if model.changed:
        return mip.solve(engine_of(task.name), model, task.limits)
    return _solve(model, task, lambda search: search.run_mip(task.name))


def _solve(
    model: Selection | Season, task: EngineTask, solve_: Callable[[Search], Search]
) -> Result[Any]:
    """Return what a search finds as a result; with a smallest conflict if it is infeasible."""
    run = Run(task.limits)
    program = model.integer_program()
    bound = None
    if isinstance(task.bound, Fraction):
        bound = (task.bound * program.scale).__floor__()
    search = Search(
        program,
        remaining_limits(task.limits, run.began),
        x=_start(model, task, program),
        bound=bound,
        note=_noted(run, program.scale),
    )
    solve_(search)
    if search.x is None and not search.proven:
        start = _heuristic(model, task, program)
        if start is not None:
            search.offer(start, "")
    version = engine_of(task.name).version() if task.name in ("highs", "scip") else plain_version()
    return conclude(
        model,
        run,
        decided(search, program.scale, task),
        solver=task.name,
        version=version,
        options={"threads": task.limits.threads},
        holds=conflict_oracle(program, list(model.side_constraints()), task.limits, run.began),
    )


def _start(model: Selection | Season, task: EngineTask, program: IntegerProgram) -> IntArray | None:
    """Return the incumbent of an earlier engine."""
    if task.incumbent is None:
        return None
    return program.point(model.columns(task.incumbent))


def _heuristic(
    model: Selection | Season, task: EngineTask, program: IntegerProgram
) -> IntArray | None:
    """Return a point that a policy finds."""
    solution = task.heuristic()
    return None if solution is None else program.point(model.columns(solution))


def _noted(run: Run, scale: Fraction) -> Callable[[int | None, int | None], None]:
    """Return a function that notes progress, given in units, in a run."""

    def note(value: int | None, bound: int | None) -> None:
        best, most = (
            None if number is None else float(number / scale) for number in (value, bound)
        )
        run.note(best, most)
        if run.limits.watch:
            run.limits.watch(now() - run.began, best, most)

    return note


def decided(search: Search, scale: Fraction, task: EngineTask) -> Decided:
    """Return what a search knows, in rewards."""
    message, stopped = "", _termination(search)
    if stopped == "completed":
        message = "not proven: the solvers cannot tell apart what is left"
    best = None if search.x is None else search.x.astype(np.int8)
    bound = None if search.bound is None else Fraction(search.bound) / scale
    engine = task.name if search.proved_by else None
    return Decided(stopped, best, bound, search.proven, message, None, engine)


def _termination(search: Search) -> Termination:
    """Return why a search stopped."""
    if search.proven:
        return "infeasible" if search.x is None else "optimal"
    if search.interrupted:
        return "interrupted"
    if search.is_near:
        return "optimal"
    return "completed" if search.limits.time_limit is None else "time-limit"


def _solve_in_order(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve a selection for its objectives in order."""
    run = Run(task.limits)
    program = model.integer_program()
    names = model.instance.objectives
    worths = [
        Whole.of_fractions(map(as_written, model.instance.worths(name))) for name in names[1:]
    ]
    added = np.zeros(program.n_columns - model.width, dtype=np.int64)
    goals = [program.rewards, *(np.append(worth.numbers, added) for worth in worths)]
    units = [program.scale, *(Fraction(worth.scale) for worth in worths)]
    limits = remaining_limits(task.limits, run.began)
    note = _noted(run, program.scale)
    found = maximize_in_order(program, goals, limits, note=note)
    bounds = [Fraction(bound) / unit for bound, unit in zip(found.bounds, units, strict=True)]
    message, best = "", found.x.astype(np.int8)
    stopped: Termination = "optimal"
    if not found.proven:
        met = [value == bound for value, bound in zip(found.values, found.bounds, strict=True)]
        k = met.index(False)
        message = f"not proven: of {names[k]}, those before it held, the bound is "
        message += f"{float(bounds[k]):.12g}"
        stopped = "time-limit"
    return conclude(
        model,
        run,
        Decided(stopped, best, bounds[0], proven=found.proven, message=message),
        solver=task.name,
        version=plain_version(),
    )


def conflict_oracle(
    program: IntegerProgram, names: Sequence[str], limits: Limits, began: float
) -> Holds:
    """Return a function that tells whether some of the side constraints can hold together."""
    satisfiable: list[frozenset[str]] = []
    refuted: list[frozenset[str]] = []
    feasibility = replace(program, rewards=np.zeros(program.n_columns, dtype=np.int64))

    def holds(asked: frozenset[str]) -> bool:
        if any(asked <= known for known in satisfiable):
            return True
        if any(asked >= known for known in refuted):
            return False
        left = remaining_limits(limits, began).time_limit
        if left == 0:
            raise TimeoutError
        own = replace(limits, time_limit=left or CONFLICT_SECONDS, watch=None, gap=0.0)
        search = Search(feasibility.under(asked), own).run()
        if search.interrupted:
            raise KeyboardInterrupt
        if not search.proven:
            raise TimeoutError("out of time")
        if search.x is None:
            refuted.append(asked)
            return False
        violated = {program.owners[i] for i in program.violated_rows(search.x).tolist()}
        satisfiable.append(frozenset(names) - violated)
        return True

    return holds
