"""Engines of optimal policies: policy iteration on growing boxes, and a linear program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.solvers.engine import Engine, EngineTask, Partial

if TYPE_CHECKING:
    from schedopt.formulations.msfq import OptimalPolicy
    from schedopt.solvers.result import Result


class PolicyIterationEngine(Engine["OptimalPolicy"]):
    """Policy iteration on ever larger boxes of states."""

    name = "queues"
    description = "any one-or-all system, also with changed costs"
    proves = "a lower bound on every policy, without a limit on the number of jobs"
    certificate = "relative-values"
    confirmed_by = "model"
    needs = "scipy"

    def accepts(self, model: OptimalPolicy) -> bool:
        """Return True; raise `InputError` if more of the process than its costs was changed."""
        _ = model.changed
        return True

    def solve(self, model: OptimalPolicy, task: EngineTask) -> Result | Partial:
        """Solve by policy iteration."""
        from schedopt.solvers.msfq.optimal_policy.policy_iteration import solve

        return solve(model, task)


class DeclaredPolicy(Engine["OptimalPolicy"]):
    """The linear program over the states of one box."""

    name = "model"
    description = "systems of few servers and a low load"
    needs = "scipy"
    proves = (
        "the optimum of a truncated decision process in which at most 1e-9 of all arrivals are lost"
    )

    def accepts(self, model: OptimalPolicy) -> bool:
        """Return True if the linear program of the process is not too large."""
        from schedopt.solvers.msfq.optimal_policy import program

        _ = model.changed
        return program.room_of(model) is not None

    def solve(self, model: OptimalPolicy, task: EngineTask) -> Result | Partial:
        """Solve the linear program with HiGHS."""
        from schedopt.solvers.msfq.optimal_policy.program import solve

        return solve(model, task)


ENGINES = (PolicyIterationEngine(), DeclaredPolicy())
