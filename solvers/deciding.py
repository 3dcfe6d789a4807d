"""What is known of a 0-1 program without rounding, as a result that claims no more."""

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
from schedopt.solvers.conflict import Holds, with_conflict
from schedopt.solvers.result import Limits, Result, Termination, gap
from schedopt.solvers.running import Run, make_result


@dataclass(frozen=True)
class Decided:
    """What is known of a 0-1 program.

    `bound` is in rewards. `proven` says, without rounding, that `best` is an optimum, or that there
    is no solution. `found_by` and `proved_by` name engines other than the one that answers.
    """

    stopped: Termination
    best: NDArray[np.int8] | None  # keeps every row
    bound: Fraction | None
    proven: bool
    message: str = ""
    found_by: str | None = None
    proved_by: str | None = None


def conclude(
    model: Formulation,
    run: Run,
    decided: Decided,
    *,
    solver: str,
    version: str,
    solution: Any | None = None,
    options: Mapping[str, Any] | None = None,
    holds: Holds | None = None,
) -> Result[Any]:
    """Return the result, not yet checked, of what is decided: optimal only where proven.

    ``solution`` is needed where the model does not read it from the columns of the best; ``holds``
    tells whether some side constraints can hold together, and is needed to report a conflict.
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
    """Return the least double that is no less than a number: rounded up."""
    near = float(number)
    if number.denominator == 1 and abs(near) < 2.0**53:
        return near
    return near if near >= number else nextafter(near, inf)


def remaining_limits(limits: Limits, began: float) -> Limits:
    """Return the limits with the time that is left since a moment of `now`."""
    if limits.time_limit is None:
        return limits
    spent = now() - began
    return replace(limits, time_limit=max(0.0, limits.time_limit - spent))
