"""Engines of schedules: a search with the bound of the selection, then CP-SAT."""

from typing import Any

from schedopt.solvers.engine import DeclaredInCpsat, Engine, EngineTask, Partial
from schedopt.solvers.result import Result


class ObjectivesEngine(Engine):
    """Optimize several objectives one after another, in order of importance."""

    name = "objectives"
    description = "several objectives, one after another; each is solved by the other engines"
    proves = "that no schedule is better for the first objective that differs"

    def accepts(self, model: Any) -> bool:
        """Return True for a model of several objectives."""
        return len(model.instance.objectives) > 1

    def solve(self, model: Any, task: EngineTask) -> Result:
        """Solve for one objective after another."""
        from schedopt.solvers.dssp.schedule.objectives import solve

        return solve(model, task)


class ScheduleEngine(Engine):
    """A search over the orders in which jobs are dispatched."""

    name = "search"
    description = "any declared side constraints"
    proves = (
        "that the schedule meets the bound of the selection, which is re-proved; or "
        "infeasibility, if no selection is feasible"
    )
    certificate = "tree, of the selection that bounds every schedule"
    confirmed_by = "cp-sat"

    def accepts(self, model: Any) -> bool:
        """Return True for an unchanged model of one objective."""
        return len(model.instance.objectives) < 2 and not model.changed

    def solve(self, model: Any, task: EngineTask) -> Result | Partial:
        """Search for a schedule that meets the bound of the selection."""
        from schedopt.solvers.dssp.schedule.solving import search

        return search(model, task)


class CpsatScheduleEngine(Engine):
    """CP-SAT, started from the incumbent and the bound of the search."""

    name = "cp-sat"
    description = "any declared side constraints, if there is time to build the model"
    proves = "the optimum on the time grid of the lengths"
    certificate = "tree, if the bound is that of the selection"
    confirmed_by = "model"
    needs = "ortools"

    def accepts(self, model: Any) -> bool:
        """Return True for an unchanged model of one objective."""
        return len(model.instance.objectives) < 2 and not model.changed

    def solve(self, model: Any, task: EngineTask) -> Result | Partial:
        """Solve the declared model with CP-SAT, with a warm start and a bound."""
        from schedopt.solvers.dssp.schedule.solving import by_cpsat

        return by_cpsat(model, task)


class DeclaredSchedule(DeclaredInCpsat):
    """CP-SAT on the declared model of one objective."""

    def accepts(self, model: Any) -> bool:
        """Return True for a model of one objective."""
        return len(model.instance.objectives) < 2


ENGINES = (
    ObjectivesEngine(),
    ScheduleEngine(),
    CpsatScheduleEngine(),
    DeclaredSchedule("the optimum on the time grid of the lengths", "cp-sat"),
)
