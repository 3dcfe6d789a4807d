"""The loop of the searches over queues: they work in stages, and can be stopped after each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from schedopt.instances.msfq import OptimalTable, Thresholded
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import smallest_conflict
from schedopt.solvers.result import Limits, Result, Termination, gap
from schedopt.solvers.running import (
    Run,
    Search,
    drive,
    make_result,
    version,
    with_objective_of_model,
)

if TYPE_CHECKING:
    from schedopt.formulations.msfq import OptimalPolicy, Threshold

DONE = object()


class QueueSearch(Search, Protocol):
    """A search for the best policy of a queue that can be stopped between two stages."""

    _stages: Iterator[object]
    _done: bool = False

    @property
    def infeasible(self) -> bool:
        """Whether the side constraints are proven infeasible."""
        return False

    def advance(self, seconds: float) -> bool:
        """Run stages for about so many seconds; return True if none is left."""
        began = now()
        while not self._done:
            if next(self._stages, DONE) is DONE:
                self._done = True
            elif now() - began > seconds:
                break
        return self._done

    def solution(self) -> Thresholded | OptimalTable | None:
        """Return the incumbent, or None."""
        ...

    def holds(self, names: frozenset[str]) -> bool:
        """Return True if these side constraints are feasible together; for finished searches."""
        return True


def run_search(model: Threshold | OptimalPolicy, search: QueueSearch, limits: Limits) -> Result:
    """Run a search to its end or to a limit, and return its result."""
    run = Run(limits)
    stopped, message = drive(search, run)
    conflict: tuple[str, ...] = ()
    if search.infeasible:
        stopped = "infeasible"
        conflict = tuple(smallest_conflict(list(model.side_constraints()), search.holds))
    message = message or changes_in(model, search.value)
    result = make_result(
        model,
        run,
        solver="queues",
        version=version(),
        stopped=stopped,
        solution=search.solution(),
        bound=search.bound,
        message=message,
    )
    apart = gap(search.value, search.bound)
    near = model.goal_changed and apart is not None and apart <= model.tolerance
    if stopped == "completed" and (
        result.proven or near
    ):  # within the tolerance of the formulation
        stopped = "optimal"
    result = with_objective_of_model(model, result, search.value)
    result = msgspec.structs.replace(result, termination=stopped)
    return result.with_details(conflict=conflict)


def changes_in(model: Threshold | OptimalPolicy, value: float | None) -> str:
    """Return a remark on the user's changes of the model.

    ``value`` is the model's own objective.
    """
    if model.goal_changed:
        return f"the model's own objective was optimized: {value}; this is the instance's"
    return (
        "the best of the thresholds that the model allows; no bound for the instance"
        * model.changed
    )


def solve_program(run: Run, began: float, **program: Any) -> tuple[Termination, Any]:
    """Solve a linear program in HiGHS, within the time limit from ``began`` on the clock.

    Parameters
    ----------
    run : Run
    began : float
    **program
        The arguments of `scipy.optimize.linprog`: columns are nonnegative.

    Returns
    -------
    termination : str
    result : scipy.optimize.OptimizeResult
    """
    from scipy.optimize import linprog

    options = {"dual_feasibility_tolerance": 1e-9}
    if run.limits.time_limit is not None:
        options["time_limit"] = max(0.0, began + run.limits.time_limit - now())
    results: list[Any] = []

    def work() -> None:
        # The simplex method takes twice as long, but rarely fails.
        for method in ("highs-ipm", "highs-ds"):
            results.append(linprog(**program, method=method, options=options))
            if results[-1].status != 4:
                return

    run.in_thread(work, lambda: None)
    found = results[-1]
    names: dict[int, Termination] = {0: "optimal", 1: "time-limit"}
    stopped = names.get(found.status, "error")
    return "interrupted" if run.interrupted and stopped != "optimal" else stopped, found
