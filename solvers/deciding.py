"""Results of 0-1 programs that are solved in integers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.protocol import Formulation
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import FeasibilityTest, with_conflict
from schedopt.solvers.result import Limits, Result, Termination, gap
from schedopt.solvers.running import Run, make_result


@dataclass(frozen=True)
class ProgramOutcome:
    """The outcome of a search of a 0-1 program, without rounding.

    Attributes
    ----------
    stopped : str
        Why the search stopped.
    best : ndarray or None
        The best feasible point.
    bound : Fraction or None
        In units of the reward.
    proven : bool
        Whether ``best`` is optimal or, if it is None, the program is infeasible.
    message : str
    found_by, proved_by : str or None
        The engines, if other than the one that returns the result.
    """

    stopped: Termination
    best: NDArray[np.int8] | None
    bound: Fraction | None
    proven: bool
    message: str = ""
    found_by: str | None = None
    proved_by: str | None = None


def conclude(
    model: Formulation,
    run: Run,
    decided: ProgramOutcome,
    *,
    solver: str,
    version: str,
    solution: Any | None = None,
    options: Mapping[str, Any] | None = None,
    holds: FeasibilityTest | None = None,
) -> Result[Any]:
    """Return the result of a search, not yet checked; it is optimal only if that is proven.

    Parameters
    ----------
    model : Formulation
    run : Run
    decided : ProgramOutcome
    solver, version : str
        The engine and its version.
    solution : solution record, optional
        By default it is decoded from the best point.
    options : mapping, optional
        Options of the engine.
    holds : callable, optional
        Tells whether some side constraints can hold together; needed to report a conflict.
    """
    selection: Any = model
    if solution is None and decided.best is not None:
        solution = selection.selected(decided.best[: selection.width] == 1)
    result = make_result(
        model,
        run,
        solver=solver,
        version=version,
        stopped=decided.stopped,
        solution=solution,
        options=options,
        message=decided.message,
    )
    if decided.stopped == "infeasible" and holds is not None:
        result = with_conflict(result, list(model.side_constraints()), holds)
    objective = result.objective
    bound = None if decided.bound is None else round_up(decided.bound)
    status = result.solution_status
    if objective is not None:
        status = "optimal" if decided.proven else "feasible"
        bound = objective if decided.proven else bound
    trace = result.trace
    if objective is not None and bound is not None:
        spent = now() - run.began
        trace = (*trace, (round(spent, 6), objective, bound))
    result = msgspec.structs.replace(
        result,
        bound=bound,
        gap=gap(objective, bound),
        solution_status=status,
        found_by=decided.found_by or msgspec.UNSET,
        proved_by=decided.proved_by or msgspec.UNSET,
    )
    return result.with_details(trace=trace)


def round_up(number: Fraction) -> float:
    """Return a double that is at least the number, by rounding up."""
    near = float(number)
    if number.denominator == 1 and abs(near) < 2.0**53:
        return near
    return near if near >= number else nextafter(near, inf)


def remaining_limits(limits: Limits, began: float) -> Limits:
    """Return the limits with the time that is left, for a run that began at a moment of `now`."""
    if limits.time_limit is None:
        return limits
    spent = now() - began
    return replace(limits, time_limit=max(0.0, limits.time_limit - spent))
