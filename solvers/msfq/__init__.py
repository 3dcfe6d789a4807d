"""Queues of multiserver jobs: thresholds by enumeration, optimal policies by policy iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from schedopt.instances.msfq import OptimalTable, Simulated, Thresholded
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import smallest_conflict
from schedopt.solvers.driving import Search, drive, version
from schedopt.solvers.result import Limits, Result, Seconds
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    from schedopt.formulations.msfq import ClassPolicy, OptimalPolicy, Threshold


class QueueSearch(Search, Protocol):
    """A search for the best way to run a queue."""

    simulated: bool
    """Whether what a solution costs is seen in simulations, not proven."""

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that nothing keeps the side constraints."""
        ...

    def solution(self) -> Thresholded | OptimalTable | Simulated | None:
        """Return the best solution so far."""
        ...

    def certificate(self) -> dict[str, object] | None:
        """Return what the bound follows from; None where there is nothing to show."""
        ...

    def holds(self, names: frozenset[str]) -> bool:
        """Tell whether some side constraints can hold together, once the search is done."""
        ...


def search(model: Threshold | OptimalPolicy | ClassPolicy, seed: int = 0) -> QueueSearch:
    """Return the search that suits a formulation, not yet begun."""
    from schedopt.formulations.msfq import ClassPolicy, Threshold

    if isinstance(model, Threshold):
        from schedopt.solvers.msfq.threshold.thresholds import Enumeration

        return Enumeration(model)
    if isinstance(model, ClassPolicy):
        from schedopt.solvers.msfq.optimal_policy.classes import ClassSearch

        return ClassSearch(model, seed)
    from schedopt.solvers.msfq.optimal_policy.optimal import PolicySearch

    return PolicySearch(model)


def solve(model: Threshold | OptimalPolicy | ClassPolicy, limits: Limits | None = None) -> Result:
    """Find the best threshold, or the optimal policy.

    Parameters
    ----------
    model : Threshold, OptimalPolicy or ClassPolicy
    limits : Limits, optional
        When to stop; by default at the end of the search.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    from schedopt.formulations.msfq import Threshold

    began = now()
    run = Run(limits or Limits())
    running = search(model, run.limits.seed)
    stopped, message = drive(running, run)
    if not isinstance(model, Threshold):
        model.certificate = running.certificate()
        if running.simulated and stopped == "optimal":  # as near as was asked, but not proven
            stopped = "completed"
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
