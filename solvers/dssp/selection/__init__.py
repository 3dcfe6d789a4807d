"""Selections: a knapsack engine, the priced core, and MIP solvers."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any

from schedopt.instances.extras import installed
from schedopt.solvers.engine import Engine, EngineTask, Partial, anything, never, unchanged

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Season, Selection
    from schedopt.formulations.dssp.sample import Sample
    from schedopt.formulations.protocol import Knapsack
    from schedopt.solvers.result import Limits, Result

FEW = 24
"""Most jobs for which branch and bound takes no longer than loading compiled code."""

WRITTEN, WRITTEN_A_SECOND = 20_000, 50_000
"""Columns that are modelled under any time limit, and for each second of it."""
APART = 11_000
"""Columns of a season whose pairs HiGHS examines in half a second, without looking at the clock."""

SECOND = "scip" if installed("pyscipopt") else "branch-and-bound"
"""The engine that confirms HiGHS."""

_EXACT = "the optimum, or that nothing keeps the rules, in integers"


def plain_knapsack(model: Selection) -> Knapsack | None:
    """Return the knapsack of a selection without side constraints; None of any other."""
    return None if model.ordered else model.plain()


def one_objective(model: Selection | Season) -> bool:
    """Accept a single objective, the reward."""
    return not model.ordered


def unchanged_reward(model: Selection | Season) -> bool:
    """Accept a single objective, the reward, of an unchanged model."""
    return not model.ordered and not model.changed


def has_many_jobs(model: Selection, limits: Limits) -> bool:
    """Return True if compiled code pays off: for many jobs, or where many models follow."""
    return limits.many or len(model.instance.jobs) > FEW


def fits_time_limit(model: Selection | Season, limits: Limits) -> bool:
    """Return True if the model can be built, and searched too, within the time limit."""
    limit = limits.time_limit
    if limit is None:
        return True
    most = APART * sqrt(limit) if model.calendar else WRITTEN_A_SECOND * limit
    return model.width <= max(WRITTEN, most)


def is_changed_or_fits(model: Selection | Season, limits: Limits) -> bool:
    """Return True if there is time for the native model, which alone has a user's changes."""
    return model.changed or fits_time_limit(model, limits)


def under_risk(model: Selection) -> Sample | None:
    """Return the scenarios of a selection under risk, as it was declared."""
    return None if model.changed else model.sample


def engine_without_risk(engine: Engine) -> Engine:
    """Return an engine that takes nothing under risk."""

    def accepts(model: Selection) -> object:
        return None if model.sample else engine.accepts(model)

    return replace(engine, accepts=accepts)


def certified_engine(name: str, **fields: Any) -> Engine:
    """Return an engine whose bounds have certificates; by default it proves the optimum."""
    usual = {"proves": _EXACT, "certificate": "tree"}
    return Engine(name, **usual | fields)


def _solve_by_scenario_search(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.dssp.selection.scenario_search import solve

    return solve(model, task)


def _solve_by_search(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.dssp.selection.knapsack.search import solve

    return solve(model, task)


def _solve_by_priced_core(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.dssp.selection.priced_core import solve

    return solve(model, task)


def _branch_and_bound(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.dssp.selection.priced_core import branch_and_bound

    return branch_and_bound(model, task)


def _by_mip(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.dssp.selection.priced_core import by_mip

    return by_mip(model, task)


def _as_declared(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.dssp.selection.priced_core import as_declared

    return as_declared(model, task)


SAMPLED = Engine(
    "sampled",
    solve=_solve_by_scenario_search,
    accepts=under_risk,
    description="any declared rules under --risk",
    proves="a bound, by prices of scenarios; the optimum, by branches in the order of service, of "
    "up to 10,000 jobs times scenarios, or 100,000 under a limit",
    confirmed_by="model",
)
KNAPSACK = certified_engine(
    "knapsack",
    solve=_solve_by_search,
    accepts=plain_knapsack,
    worth_trying=has_many_jobs,
    description=f"no side constraints, no windows of jobs' own; unasked from {FEW + 1} jobs on",
    confirmed_by="highs",
    old_names=("core",),
)
PRICED_CORE = certified_engine(
    "priced-core",
    solve=_solve_by_priced_core,
    accepts=unchanged,
    worth_trying=fits_time_limit,
    description="any declared rules, and objectives in order",
    proves=f"{_EXACT}; of objectives in order each of them",
    certificate="tree, for the first objective",
    confirmed_by="highs",
    old_names=("shares", "columns", "crossing"),
)
BRANCH_AND_BOUND = certified_engine(
    "branch-and-bound",
    solve=_branch_and_bound,
    accepts=unchanged_reward,
    worth_trying=never,
    description="any declared rules, by branching in integers alone; only by name",
    confirmed_by="highs",
    old_names=("tree",),
)
HIGHS = certified_engine(
    "highs",
    solve=_by_mip,
    accepts=one_objective,
    worth_trying=never,
    description="any linear model, changed natively too; only by name",
    proves=f"{_EXACT}; of a changed model within its tolerances",
    confirmed_by=SECOND,
)
SCIP = certified_engine(
    "scip",
    solve=_by_mip,
    accepts=one_objective,
    worth_trying=never,
    description="any linear model, changed natively too; only by name",
    proves="as highs",
    confirmed_by="highs",
    needs="pyscipopt",
)
MODEL = Engine(
    "model",
    solve=_as_declared,
    accepts=anything,
    worth_trying=is_changed_or_fits,
    description="any linear model, as it is in Pyomo, native changes too",
    proves="the optimum within the tolerances of HiGHS",
    confirmed_by="branch-and-bound",
)

CERTAIN = (KNAPSACK, PRICED_CORE, BRANCH_AND_BOUND, HIGHS, SCIP)
ENGINES = (SAMPLED, *map(engine_without_risk, CERTAIN), MODEL)
"""The first engine that accepts a selection, and is worth trying, solves it."""
