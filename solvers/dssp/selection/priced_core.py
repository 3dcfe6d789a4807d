"""Selections and seasons as integer programs, solved exactly by `solvers.priced_core`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from schedopt.formulations.program import IntArray, IntegerProgram
from schedopt.instances.decimals import Whole, as_written
from schedopt.solvers import mip
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import FeasibilityTest, with_conflict
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.mip import engine_of
from schedopt.solvers.priced_core.in_order import maximize_in_order
from schedopt.solvers.priced_core.search import Note, PricedCoreSearch
from schedopt.solvers.result import Limits, Result, SolutionStatus, Termination, gap
from schedopt.solvers.running import Run, make_result, plain_version, remaining_limits

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection

NEAR = 1e-9
"""Relative tolerance of the row that fixes the value of an objective in the native model."""


def solve(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve a selection or a season by row prices, reduced-cost fixing and a growing core."""
    if model.ordered:
        return _solve_in_order(model, task)
    return _solve(model, task, PricedCoreSearch.run)


def branch_and_bound(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve a selection or a season by branch and bound in integers alone."""
    return _solve(model, task, PricedCoreSearch.run_branch_and_bound)


def solve_by_mip(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve a selection or a season with HiGHS or SCIP, and prove the result in integers.

    A model that was changed natively is solved as it stands.
    """
    if model.changed:
        return mip.solve(engine_of(task.name), model, task.limits)
    return _solve(model, task, lambda search: search.run_mip(task.name))


def _solve(
    model: Selection | Season,
    task: EngineTask,
    solve_: Callable[[PricedCoreSearch], PricedCoreSearch],
) -> Result[Any]:
    """Return the result of a search."""
    run = Run(task.limits)
    program = model.integer_program()
    if program.n_rows == 1:  # the count makes bounds tight if rewards grow with demands
        program = program.with_count()
    limits = remaining_limits(task.limits, run.began)
    x = None  # the incumbent of an engine that gave up
    if task.incumbent is not None:
        x = program.point(model.chosen_columns(task.incumbent))
    search = solve_(PricedCoreSearch(program, limits, x=x, note=_progress_recorder(run)))
    if search.x is None and not search.proven and (start := task.heuristic()) is not None:
        search.offer(program.point(model.chosen_columns(start)), "")
    stopped = _termination(search)
    message = "not proven: remaining solutions differ by less than the tolerances"
    return conclude(
        model,
        task,
        run,
        program,
        stopped=stopped,
        x=search.x,
        bound=None if search.bound is None else Fraction(search.bound) / program.scale,
        proven=search.proven,
        message=message if stopped == "completed" else "",
    )


def conclude(
    model: Selection | Season,
    task: EngineTask,
    run: Run,
    program: IntegerProgram,
    *,
    stopped: Termination,
    x: IntArray | None,
    bound: Fraction | None,
    proven: bool,
    message: str = "",
) -> Result[Any]:
    """Return the result of a search without rounding; it is optimal only if that is proven.

    If it is infeasible, it has a smallest conflict.
    """
    version = engine_of(task.name).version() if task.name in ("highs", "scip") else plain_version()
    result = make_result(
        model,
        run,
        solver=task.name,
        version=version,
        stopped=stopped,
        solution=None if x is None else model.selected(x[: model.width] == 1),
        options={"threads": task.limits.threads},
        message=message,
    )
    if stopped == "infeasible":
        names = list(model.side_constraints())
        holds = conflict_oracle(program, names, task.limits, run.began)
        result = with_conflict(result, names, holds)
    objective = result.objective
    limit = objective if proven else None if bound is None else _round_up(bound)
    if objective is not None and limit is not None:
        run.note(objective, limit)
    status: SolutionStatus = "none" if objective is None else "optimal" if proven else "feasible"
    result = msgspec.structs.replace(
        result, bound=limit, gap=gap(objective, limit), solution_status=status
    )
    return result.with_details(trace=tuple(run.trace))


def _round_up(number: Fraction) -> float:
    """Return a double that is at least the number, by rounding up."""
    near = float(number)
    return near if near >= number else nextafter(near, inf)


def _progress_recorder(run: Run) -> Note:
    """Return a function that records progress in the run and reports it to the user."""

    def note(value: float | None, bound: float | None) -> None:
        run.note(value, bound)
        if run.limits.watch:
            run.limits.watch(now() - run.began, value, bound)

    return note


def _termination(search: PricedCoreSearch) -> Termination:
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
    note = _progress_recorder(run)
    found = maximize_in_order(program, goals, limits, note=note)
    proven, message = found.proven, ""
    end = partial(conclude, model, task, run, program)
    if not found.has_solution and proven:
        return end(stopped="infeasible", x=None, bound=None, proven=True)
    bounds = [Fraction(bound) / unit for bound, unit in zip(found.bounds, units, strict=True)]
    if not proven:
        met = [value == bound for value, bound in zip(found.values, found.bounds, strict=True)]
        k = met.index(False)
        bound = f"{float(bounds[k]):.12g}"
        message = f"not proven: {names[k]} is at most {bound}, with the earlier objectives fixed"
    stopped: Termination = "optimal" if proven else "time-limit"
    x = found.x if found.has_solution else None
    return end(stopped=stopped, x=x, bound=bounds[0], proven=proven, message=message)


def solve_declared_model(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve the native model in HiGHS, its objectives one after another.

    The values of earlier objectives are fixed, up to rounding, while the next one is maximized. An
    objective that was changed natively is the only one.
    """
    hint = None
    if model.sample is not None:  # start from the optimum for planned run times
        limits = replace(task.limits, time_limit=2.0, gap=1e-3, watch=None)
        search = PricedCoreSearch(model.integer_program(), limits).run()
        hint = None if search.x is None else model.selected(search.x[: model.width] == 1)
    result = mip.solve(engine_of("highs"), model, task.limits, hint=hint)
    if not model.ordered or model.goal_changed or not model.width or result.solution is None:
        return result
    import pyomo.environ as pyo
    from pyomo.common.modeling import unique_component_name

    began, native, proven = now(), model.model, result.proven
    x, objectives = list(native.x.values()), model.instance.objectives

    def total(name: str) -> Any:
        worths = model.instance.worths(name).tolist()
        return sum(worth * variable for worth, variable in zip(worths, x, strict=True))

    earlier, goal = pyo.ConstraintList(), pyo.Objective(expr=0, sense=pyo.maximize)
    native.add_component(unique_component_name(native, "earlier_objectives"), earlier)
    native.add_component(unique_component_name(native, "next_objective"), goal)
    native.reward.deactivate()
    try:
        for k, (before, name) in enumerate(pairwise(objectives)):
            if not proven:
                break
            reached = result.solution.objectives[k]
            if model.instance.worths(before).any():
                earlier.add(total(before) >= reached - NEAR * abs(reached))
            goal.expr = total(name) + 0 * x[0]
            found = mip.solve(engine_of("highs"), model, remaining_limits(task.limits, began))
            proven = found.termination == "optimal" and found.solution is not None
            if proven:
                result = msgspec.structs.replace(result, solution=found.solution)
    finally:
        native.del_component(earlier)
        native.del_component(goal)
        native.reward.activate()
    if proven:
        return result
    message = "not all objectives are proven: the time limit was reached"
    return msgspec.structs.replace(result, solution_status="feasible", message=message)


def conflict_oracle(
    program: IntegerProgram,
    names: Sequence[str],
    limits: Limits,
    began: float,
    seconds: float = 20.0,
) -> FeasibilityTest:
    """Return a function that tests whether some of the named side constraints can hold together.

    Without a time limit, each test takes at most ``seconds``.
    """
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
        own = replace(limits, time_limit=left or seconds, watch=None, gap=0.0)
        search = PricedCoreSearch(feasibility.under(asked), own).run()
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
