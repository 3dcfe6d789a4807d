"""Selections of few rows: read as columns, solved objective by objective, returned as a result."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from schedopt.instances.decimals import LARGEST, Whole, as_written
from schedopt.instances.dssp.records import LEAST
from schedopt.solvers import mip
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import Decided, conclude, remaining_limits
from schedopt.solvers.dssp.selection.reading import UNDECIDED, Places, selection_arrays
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.few_row_ip.lagrangian import Integers
from schedopt.solvers.few_row_ip.lexicographic import best_in_order
from schedopt.solvers.mip import engine_of
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import Run, plain_version

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection

ROWS = 8
"""Rows that can bind, up to which these are few."""
PATIENCE = 20.0
"""Seconds that are taken where no time limit is given; what follows in the table goes on."""
NEAR = 1e-9
"""Relative rounding error allowed to an objective that is held in the native model."""


class FewRowProgram(NamedTuple):
    """A selection as few rows over some jobs."""

    at: Places  # the jobs that are undecided
    worths: Integers  # of all jobs, (objectives, J)
    units: list[int]  # units in 1 of each objective
    rows: Integers  # (rows, jobs)
    room: Integers  # (rows,)
    fixed: Places  # jobs that are in anyway


def as_few_row_program(model: Selection) -> FewRowProgram | None:
    """Read a selection; None where it is more than a few rows that bound sums from above."""
    read = None if model.changed else selection_arrays(model)
    if read is None or any(name.startswith(LEAST) for name in model.instance.objectives):
        return None
    at, fixed = np.flatnonzero(read.values == UNDECIDED), np.flatnonzero(read.values == 1)
    worths = (model.instance.worths(name) for name in model.instance.objectives[1:])
    more = (Whole.of_fractions(map(as_written, worth.tolist())) for worth in worths)
    goals = [Whole.of(model.instance.rewards), *more]
    rows, room = [], list[int]()
    for row in (*read.capacity, *read.rules):
        use = np.zeros(model.width, dtype=row.coefficients.numbers.dtype)
        use[row.jobs] = row.coefficients.numbers
        remaining = None if row.upper is None else row.upper - int(use[fixed].sum())
        if (row.lower or 0) > 0 or (use < 0).any() or (remaining or 0) < 0:
            return None
        if remaining is not None and use[at].sum() > remaining:
            rows.append(use[at])
            room.append(remaining)
    sums = [row.sum() for row in rows] + [goal.total for goal in goals]
    if len(rows) > ROWS or max(sums) >= LARGEST:
        return None
    return FewRowProgram(
        at,
        np.array([goal.numbers for goal in goals]).astype(np.int64),
        [goal.scale for goal in goals],
        np.array(rows, dtype=np.int64).reshape(len(rows), len(at)),
        np.array(room, dtype=np.int64),
        fixed,
    )


def solve(model: Selection, task: EngineTask) -> Result[Any] | Partial:
    """Solve a selection of few rows for its objectives in order."""
    run, read = Run(task.limits), task.reading
    patient, seconds = model.ordered or task.alone, task.limits.time_limit
    if not patient:
        seconds = PATIENCE if seconds is None else min(PATIENCE, seconds / 2)
    until = np.inf if seconds is None else run.began + seconds
    counts = np.ones(len(read.at), dtype=np.int64)
    choice = best_in_order(read.worths[:, read.at], read.rows, read.room, counts, until=until)
    best = np.zeros(model.width, dtype=np.int8)
    best[read.at], best[read.fixed] = choice.x, 1
    names, message = model.instance.objectives or ("reward",), ""
    bounds = [
        Fraction(bound + int(worth[read.fixed].sum()), unit)
        for bound, worth, unit in zip(choice.bounds, read.worths, read.units, strict=True)
    ]
    if not choice.proven:
        k = [v == b for v, b in zip(choice.values, choice.bounds, strict=True)].index(False)
        message = f"not proven: of {names[k]}, those before it held, the bound is "
        message += f"{float(bounds[k]):.12g}"
    stopped: Termination = "optimal" if choice.proven else "time-limit"
    decided = Decided(stopped, best, bounds[0], proven=choice.proven, message=message)
    result = conclude(model, run, decided, solver=task.name, version=plain_version())
    return result if choice.proven or patient else Partial(result, bounds[0])


def as_declared(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve the native model as it stands, in HiGHS; objectives after the reward one by one.

    The value that an objective has reached is held, but for rounding, while the next is maximized.
    """
    result = mip.as_declared(model, task)
    if not model.ordered or not model.width:
        return result
    import pyomo.environ as pyo

    began, native, proven = now(), model.model, result.proven
    x, objectives = model._native_model().x, model.instance.objectives

    def total(name: str) -> Any:
        worths = model.instance.worths(name).tolist()
        return sum(worth * variable for worth, variable in zip(worths, x, strict=True))

    native.ordered, native.goal = pyo.ConstraintList(), pyo.Objective(expr=0, sense=pyo.maximize)
    native.reward.deactivate()
    try:
        for k, (before, name) in enumerate(pairwise(objectives)):
            if result.solution is None or not proven:
                break
            if reached := result.solution.objectives[k]:
                native.ordered.add(total(before) >= reached - NEAR * abs(reached))
            native.goal.expr = total(name) + 0 * x[0]
            found = mip.solve(engine_of("highs"), model, remaining_limits(task.limits, began))
            proven = found.termination == "optimal" and found.solution is not None
            if proven:
                result = msgspec.structs.replace(result, solution=found.solution)
    finally:
        native.del_component(native.ordered)
        native.del_component(native.goal)
        native.reward.activate()
    if proven:
        return result
    message = "not all objectives are proven: time is over"
    return msgspec.structs.replace(result, solution_status="feasible", message=message)
