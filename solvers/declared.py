"""The engine of a model that is declared in CP-SAT."""

from typing import Any

from schedopt.solvers.engine import Engine, EngineTask
from schedopt.solvers.result import Result


def declared_in_cpsat(proves: str, confirmed_by: str = "") -> Engine:
    """Return the engine that solves the declared CP-SAT model, with the user's changes."""

    def solve(model: Any, task: EngineTask) -> Result:
        from schedopt.solvers.cpsat import solve_native

        return solve_native(model, task)

    return Engine(
        "model",
        solve=solve,
        description="any model, as it stands in CP-SAT, native changes too",
        proves=proves,
        confirmed_by=confirmed_by,
        needs="ortools",
    )
