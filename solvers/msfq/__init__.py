"""Engines of msfq: thresholds, optimal policies, and bounds on logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from schedopt.instances.msfq import OptimalTable, Thresholded
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import smallest_conflict
from schedopt.solvers.result import Limits, Result
from schedopt.solvers.running import Run, Search, drive, make_result, version

if TYPE_CHECKING:
    from schedopt.formulations.msfq import OptimalPolicy, Threshold
    from schedopt.solvers.engine import Certificate, Engine


def engines(formulation: str) -> tuple[Engine, ...]:
    """Return the engines of a formulation, in the order in which they are tried."""
    from schedopt.solvers.msfq import log_bound, optimal_policy, threshold

    modules = {"threshold": threshold, "optimal-policy": optimal_policy, "bound": log_bound}
    return modules[formulation].ENGINES if formulation in modules else ()


def certify(model: Any, result: Result, limits: Limits) -> Certificate | None:
    """Return a certificate of the bound of a result, or None."""
    if model.name == "bound":
        prices: Certificate = model.certificate()
        return prices
    certificate: Certificate | None = getattr(model, "certificate", None)
    return certificate


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
    if stopped == "completed" and result.proven:  # within the tolerance of the formulation
        result = msgspec.structs.replace(result, termination="optimal")
    return result.with_details(conflict=conflict)
