"""Schedules: the knapsack bound, a search that dispatches again and again, then CP-SAT."""

from dataclasses import replace
from typing import Any

from schedopt.formulations.protocol import Formulation
from schedopt.solvers.declared import declared_in_cpsat
from schedopt.solvers.engine import Engine, EngineTask, Partial
from schedopt.solvers.result import Result


def has_one_objective(model: Formulation) -> bool:
    """Return True if the reward is the only objective."""
    return len(model.instance.objectives) < 2


def is_declared(model: Formulation) -> bool:
    """Return True if the reward is the only objective and the native model is as declared."""
    return has_one_objective(model) and not model.changed


def _solve_by_objectives(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.dssp.schedule.objectives import solve

    return solve(model, task)


def _search(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.dssp.schedule.solving import search

    return search(model, task)


def _by_cpsat(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.dssp.schedule.solving import by_cpsat

    return by_cpsat(model, task)


ENGINES = (
    Engine(
        "objectives",
        solve=_solve_by_objectives,
        accepts=lambda model: not has_one_objective(model),
        description="several objectives, one after another; each is solved by the other engines",
        proves="that no schedule is better for the first objective that differs",
    ),
    Engine(
        "search",
        solve=_search,
        accepts=is_declared,
        description="any declared rules",
        proves="that the schedule meets the bound of the selection, which is re-proved; or that "
        "nothing keeps the rules, since no selection does",
        certificate="tree, of the selection that bounds every schedule",
        confirmed_by="cp-sat",
    ),
    Engine(
        "cp-sat",
        solve=_by_cpsat,
        accepts=is_declared,
        description="any declared rules; under a time limit where there is time to write the model",
        proves="the optimum on the grid that the lengths are on",
        certificate="tree, where the bound is the selection's",
        confirmed_by="model",
        needs="ortools",
    ),
    replace(
        declared_in_cpsat("the optimum on the grid that the lengths are on", "cp-sat"),
        accepts=has_one_objective,
    ),
)
"""Read from the top: the first that accepts a schedule, and is worth trying, answers."""
