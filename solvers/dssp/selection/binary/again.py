"""Second methods for selections and seasons: CP-SAT in whole numbers, and all subsets."""

from __future__ import annotations

import platform
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from schedopt.solvers.clock import now
from schedopt.solvers.deciding import Decided, concluded
from schedopt.solvers.door import Given
from schedopt.solvers.dssp.selection.binary.arrays import FREE, Arrays, Values, closed_columns
from schedopt.solvers.dssp.selection.binary.counted import maximized
from schedopt.solvers.dssp.selection.binary.engine import conflict
from schedopt.solvers.result import Result, Seconds, Termination
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection

PATIENCE = 60.0
"""Seconds that it may take where no time limit is given."""


class Reduced(NamedTuple):
    """A program without what its rows alone decide.

    Attributes
    ----------
    arrays : Arrays
        Its rows over the free columns.
    start : ndarray of int8
        What columns are fixed at, or `FREE`.
    possible : bool
        Whether no row alone shows that nothing keeps all of them.
    """

    arrays: Arrays
    start: Values
    possible: bool


def reduced(model: Selection | Season) -> Reduced:
    """Return the program of a formulation, reduced."""
    program = model.program()
    whole, start = Arrays.of(program), closed_columns(program)
    possible = not whole.hopeless and whole.propagate(start)[1]
    return Reduced(whole.without(start) if possible else whole, start, possible)


def by_cpsat(model: Selection | Season, given: Given) -> Result[Any]:
    """Solve by CP-SAT, told nothing; ``given.read`` is the program, reduced."""
    began, limits, read = now(), given.limits, given.read
    seconds = PATIENCE if limits.time_limit is None else limits.time_limit
    best, done = None, True
    if read.possible:
        best, done = maximized(read.arrays, read.start, limits, seconds)
    return _result(model, given, best, done, began)


def by_subsets(model: Selection | Season, given: Given) -> Result[Any]:
    """Try all subsets of few columns."""
    began, read = now(), reduced(model)
    best = _best_subset(read.arrays, read.start) if read.possible else None
    return _result(model, given, best, True, began)


def _result(
    model: Selection | Season,
    given: Given,
    best: Values | None,
    done: bool,
    began: float,
) -> Result[Any]:
    run, program = Run(given.limits), model.program()
    stopped: Termination = "optimal" if best is not None else "infeasible"
    stopped = stopped if done else "time-limit"
    worth = None if best is None else program.worth(np.flatnonzero(best == 1).tolist())
    bound = worth / program.scale if done and worth is not None else None
    decided = Decided(stopped, best, bound, proven=done)
    chosen = None if best is None else model.selected(np.flatnonzero(best[: model.width] == 1))
    result = make_result(
        model,
        run,
        solver=given.name,
        version=_version() if given.name == "cp-sat" else f"Python {platform.python_version()}",
        stopped=stopped,
        solution=chosen,
        bound=None,
        options={},
    )
    if stopped == "infeasible":
        names, why = conflict(program, list(model.side()), given.limits, began)
        message = f"the conflict may not be the smallest: {why}" if why else msgspec.UNSET
        result = msgspec.structs.replace(result, conflict=names, message=message)
    spent = Seconds(build=model.seconds, solve=now() - began)
    return msgspec.structs.replace(concluded(result, decided, run), seconds=spent)


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


def _version() -> str:
    from schedopt.solvers.cpsat import version

    return version()
