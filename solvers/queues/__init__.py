"""Queues of multiserver jobs: thresholds by enumeration, optimal policies by policy iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from instances.msfq import OptimalTable, Thresholded
from solvers.clock import now
from solvers.conflict import smallest_conflict
from solvers.driving import Search, drive, version
from solvers.result import Limits, Result, Seconds
from solvers.running import Run, make_result

if TYPE_CHECKING:
    from formulations.msfq import OptimalPolicy, Threshold


class QueueSearch(Search, Protocol):
    """A search for the best way to run a queue."""

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that nothing keeps the side constraints."""
        ...

    def solution(self) -> Thresholded | OptimalTable | None:
        """Return the best solution so far."""
        ...

    def holds(self, names: frozenset[str]) -> bool:
        """Tell whether some side constraints can hold together, once the search is done."""
        ...


def search(model: Threshold | OptimalPolicy) -> QueueSearch:
    """Return the search that suits a formulation, not yet begun."""
    from formulations.msfq import Threshold

    if isinstance(model, Threshold):
        from solvers.queues.thresholds import Enumeration

        return Enumeration(model)
    from solvers.queues.optimal import PolicySearch

    return PolicySearch(model)


def solve(model: Threshold | OptimalPolicy, limits: Limits | None = None) -> Result:
    """Find the best threshold, or the optimal policy.

    Parameters
    ----------
    model : Threshold or OptimalPolicy
        Of a one-or-all system.
    limits : Limits, optional
        When to stop; by default at the end of the search.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    from formulations.msfq import OptimalPolicy
    from solvers.queues.optimal import PolicySearch

    began = now()
    run, running = Run(limits or Limits()), search(model)
    stopped, message = drive(running, run)
    if isinstance(running, PolicySearch) and isinstance(model, OptimalPolicy):
        model.certificate = running.certificate()
    conflict: tuple[str, ...] = ()
    if running.infeasible:
        stopped = "infeasible"
        conflict = tuple(smallest_conflict(list(model.side()), running.holds))
    result = make_result(
        model,
        run,
        solver="queues",
        version=version(),
        stopped=stopped,
        solution=running.solution(),
        bound=running.bound,
        options={},
        message=message,
    )
    if result.proven and stopped == "completed":  # near enough for the formulation
        stopped = "optimal"
    seconds = Seconds(build=model.seconds, solve=now() - began)
    return msgspec.structs.replace(result, termination=stopped, seconds=seconds, conflict=conflict)
