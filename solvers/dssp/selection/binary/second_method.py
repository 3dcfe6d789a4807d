"""Second methods for selections and seasons: CP-SAT in whole numbers, and all subsets."""

from __future__ import annotations

import platform
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from schedopt.solvers.deciding import Decided, concluded
from schedopt.solvers.dssp.selection.binary.arrays import FREE, Arrays, Values, closed_columns
from schedopt.solvers.dssp.selection.binary.counted import maximized
from schedopt.solvers.dssp.selection.binary.engine import asker
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import Run

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection

PATIENCE = 60.0
"""Seconds that it may take where no time limit is given."""


class Reduced(NamedTuple):
    """A program without the columns that single rows decide."""

    arrays: Arrays  # the rows over the free columns
    start: Values  # what columns are fixed at, or `FREE`
    possible: bool  # whether no row alone shows that the program is infeasible


def reduced(model: Selection | Season) -> Reduced:
    """Return the program of a formulation, reduced."""
    program = model.program()
    whole, start = Arrays.of(program), closed_columns(program)
    possible = not whole.hopeless and whole.propagate(start)[1]
    return Reduced(whole.without(start) if possible else whole, start, possible)


def by_cpsat(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve by CP-SAT, told nothing; ``given.read`` is the program, reduced."""
    from schedopt.solvers.cpsat import version

    run, limits, read = Run(task.limits), task.limits, task.reading
    seconds = PATIENCE if limits.time_limit is None else limits.time_limit
    best: tuple[Values | None, bool] = (None, True)
    if read.possible:
        best = maximized(read.arrays, read.start, limits, seconds)
    return _result(model, task, run, best, version())


def by_subsets(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Try all subsets of few columns."""
    run, read = Run(task.limits), reduced(model)
    best = _best_subset(read.arrays, read.start) if read.possible else None
    return _result(model, task, run, (best, True), f"Python {platform.python_version()}")


def _result(
    model: Selection | Season,
    task: EngineTask,
    run: Run,
    searched: tuple[Values | None, bool],
    version: str,
) -> Result[Any]:
    """Return the result of the best columns found, and whether they are proven to be that."""
    (best, done), program = searched, model.program()
    stopped: Termination = "optimal" if best is not None else "infeasible"
    stopped = stopped if done else "time-limit"
    worth = None if best is None else program.worth(np.flatnonzero(best == 1).tolist())
    bound = worth / program.scale if done and worth is not None else None
    decided = Decided(stopped, best, bound, proven=done)
    holds = asker(program, list(model.side()), task.limits, run.began)
    return concluded(model, run, decided, solver=task.name, version=version, holds=holds)


def _best_subset(arrays: Arrays, start: Values) -> Values | None:
    """Return the best of all subsets of the free columns; None where no subset keeps the rows."""
    best, most = None, -1
    free = np.flatnonzero(start == FREE)
    values = start.copy()
    for choice in product((0, 1), repeat=len(free)):
        values[free] = choice
        worth = sum(arrays.rewards[values == 1].tolist())
        if worth > most and arrays.cut_off(values) is None:
            best, most = values.copy(), worth
    return best
