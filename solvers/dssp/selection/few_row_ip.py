"""Selections of few rows: read as columns, solved objective by objective, returned as a result."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from schedopt.instances.decimals import Whole, as_written
from schedopt.solvers import mip
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import Decided, conclude, remaining_limits
from schedopt.solvers.driving import plain_version
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.few_row_ip.lagrangian import Integers
from schedopt.solvers.few_row_ip.lexicographic import best_in_order
from schedopt.solvers.mip.named import engine_of
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import Run

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection

ROWS = 8
"""Rows that can bind, up to which these are few."""
LARGE = 2**52
"""Upper limit of the sum of a row, or of an objective."""
PATIENCE = 20.0
"""Seconds that are taken where no time limit is given; what follows in the table goes on."""
NEAR = 1e-9
"""Relative rounding error allowed to an objective that is held in the native model."""


class FewRows(NamedTuple):
    """A selection as few rows over the open columns."""

    at: Integers  # positions of the open columns
    goals: Integers  # (objectives, columns)
    units: list[Fraction]  # units in 1 of each objective
    rows: Integers  # (rows, columns)
    room: Integers  # (rows,)


def few_rows(model: Selection) -> FewRows | None:
    """Read a selection; None where it is more than a few rows that bound sums from above."""
    if model.calendar is not None or any(row.lifting for _, row in model.stated):
        return None
    program = model.program()
    binding = []
    for row in program.rows:
        if (row.lower or 0) > 0 or min(row.coefficients, default=0) < 0 or (row.upper or 0) < 0:
            return None
        if row.upper is not None and sum(row.coefficients) > row.upper:
            binding.append(row)
    if len(binding) > ROWS or any(sum(row.coefficients) >= LARGE for row in binding):
        return None
    at = np.flatnonzero(model.open)
    rows = np.zeros((len(binding), len(program.columns)), dtype=np.int64)
    for i, row in enumerate(binding):
        rows[i, list(row.columns)] = row.coefficients
    goals, units = [list(program.rewards)], [program.scale]
    for name in model.instance.objectives[1:]:
        values = model.instance.worths(name).tolist()
        whole = Whole.of_fractions([as_written(value) for value in values])
        goals.append(whole.numbers.tolist())
        units.append(Fraction(whole.scale))
    if any(sum(goal) >= LARGE for goal in goals):
        return None
    room = np.array([row.upper for row in binding], dtype=np.int64)
    return FewRows(at, np.array(goals, dtype=np.int64)[:, at], units, rows[:, at], room)


def solve(model: Selection, task: EngineTask) -> Result[Any] | Partial:
    """Solve a selection of few rows for its objectives in order."""
    began, read, limits = now(), task.reading, task.limits
    patient = model.ordered or task.alone
    seconds = limits.time_limit
    if seconds is None:
        seconds = np.inf if patient else PATIENCE
    counts = np.ones(len(read.at), dtype=np.int64)
    found = best_in_order(read.goals, read.rows, read.room, counts, until=began + seconds)
    run = Run(limits)
    names = model.instance.objectives or ("reward",)
    known = [v == b for v, b in zip(found.values, found.bounds, strict=True)]
    message = ""
    if not found.proven:
        k = known.index(False)
        bound = float(Fraction(found.bounds[k]) / read.units[k])
        message = f"not proven: of {names[k]}, those before it held, the bound is {bound:.12g}"
    told: Termination = "optimal" if found.proven else "time-limit"
    best = np.zeros(model.width, dtype=np.int8)
    best[read.at] = found.x
    exact = Fraction(found.bounds[0]) / read.units[0]
    decided = Decided(told, best, exact, proven=found.proven, message=message)
    result = conclude(
        model,
        run,
        decided,
        solver=task.name,
        version=plain_version(),
    )
    return result if found.proven or patient else Partial(result, exact)


def as_declared(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve the native model as it stands, in HiGHS; objectives after the reward one by one.

    The value that an objective has reached is held, but for rounding, while the next is maximized.
    """
    result = mip.as_declared(model, task)
    if not model.ordered:
        return result
    import pyomo.environ as pyo

    began, native, proven = now(), model.model, result.proven
    x = model._native_model().x
    native.ordered = pyo.ConstraintList()
    native.reward.deactivate()
    try:
        for k, name in enumerate(model.instance.objectives[1:]):
            if result.solution is None or not proven:
                break
            before = model.instance.objectives[k]
            held = result.solution.objectives[k]
            worth = model.instance.worths(before).tolist()
            body = sum(w * v for w, v in zip(worth, x, strict=True) if w)
            if held:
                native.ordered.add(body >= held * (1 - NEAR))
            worth = model.instance.worths(name).tolist()
            native.goal = pyo.Objective(
                expr=sum(w * v for w, v in zip(worth, x, strict=True)) + 0 * x[0] if x else 0,
                sense=pyo.maximize,
            )
            limits = remaining_limits(task.limits, began)
            found = mip.solve(engine_of("highs"), model, limits)
            native.del_component(native.goal)
            proven = found.termination == "optimal" and found.solution is not None
            if proven:
                result = msgspec.structs.replace(result, solution=found.solution)
    finally:
        native.del_component(native.ordered)
        native.reward.activate()
    if proven:
        return result
    message = "not all objectives are proven: time is over"
    return msgspec.structs.replace(result, solution_status="feasible", message=message)
