"""The engine of a model that is declared in CP-SAT."""

from typing import Any

from schedopt.solvers.engine import Engine, EngineTask
from schedopt.solvers.result import Result


class DeclaredInCpsat(Engine):
    """CP-SAT on the declared model, with the user's changes."""

    name = "model"
    description = "any model, as declared in CP-SAT, with native changes"
    needs = "ortools"

    def __init__(self, proves: str, confirmed_by: str = "") -> None:
        self.proves, self.confirmed_by = proves, confirmed_by

    def solve(self, model: Any, task: EngineTask) -> Result:
        """Solve the native model with CP-SAT."""
        from schedopt.solvers.cpsat import solve_native

        return solve_native(model, task)
