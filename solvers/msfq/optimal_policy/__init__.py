"""The optimal policy of a one-or-all system: policy iteration on ever larger boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedopt.solvers.engine import Engine, EngineTask, Partial

if TYPE_CHECKING:
    from schedopt.formulations.msfq import OptimalPolicy
    from schedopt.solvers.result import Result


def is_readable(model: OptimalPolicy) -> bool:
    """Refuse a process in which more was changed than costs."""
    _ = model.changed  # raises where it was
    return True


def fits_program(model: OptimalPolicy) -> bool:
    """Tell whether a linear program over states need not be too large."""
    from schedopt.solvers.msfq.optimal_policy import program

    return is_readable(model) and program.box_of(model) is not None


def _solve_by_optimal(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.msfq.optimal_policy.optimal import solve

    return solve(model, task)


def _solve_by_program(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.msfq.optimal_policy.program import solve

    return solve(model, task)


ENGINES = (
    Engine(
        "queues",
        solve=_solve_by_optimal,
        accepts=is_readable,
        description="any one-or-all system, with other costs too",
        proves="the optimum between bounds, for any number of jobs",
        certificate="relative-values",
        confirmed_by="model",
        needs="scipy",
    ),
    Engine(
        "model",
        solve=_solve_by_program,
        accepts=fits_program,
        description="systems of few servers and a low load",
        proves="the optimum of the decision process with so much room that there is none for at "
        "most 1e-9 of all time, as a linear program",
    ),
)
"""Read from the top: the first that accepts an optimal policy, and is worth trying, answers."""
