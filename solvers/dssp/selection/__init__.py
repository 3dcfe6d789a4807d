"""Engines of selections and seasons: the priced core, branch and bound, and MIP solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.instances.extras import installed
from schedopt.solvers.engine import Engine, EngineTask, Partial

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Season, Selection
    from schedopt.solvers.result import Limits, Result


_EXACT = "the optimum or infeasibility, in integers"


class KnapsackEngine(Engine["Selection"]):
    """Dynamic program over the core of a 0-1 knapsack, for selections with one capacity."""

    name = "knapsack"
    description = "no side constraints and no windows of jobs"
    proves = _EXACT
    certificate = "tree"
    confirmed_by = "highs"
    old_names = ("core",)

    def accepts(self, model: Selection) -> bool:
        """Return True for a selection with one row."""
        from schedopt.solvers.dssp.selection.knapsack.search import is_knapsack

        if model.sample or model.changed or model.ordered or model.side_rows:
            return False
        return is_knapsack(model.integer_program())

    def solve(self, model: Selection, task: EngineTask) -> Result | Partial:
        """Solve by a dynamic program over the core."""
        from schedopt.solvers.dssp.selection.knapsack.search import solve

        return solve(model, task)


class PricedCoreEngine(Engine):
    """Search over a core at row prices."""

    name = "priced-core"
    description = "any declared side constraints, also several objectives"
    proves = f"{_EXACT}; of several objectives for each of them"
    certificate = "tree, for the first objective"
    confirmed_by = "highs"
    old_names = ("shares", "columns", "crossing")

    def accepts(self, model: Selection | Season) -> bool:
        """Return True for an unchanged model with certain run times."""
        return not (model.sample or model.changed)

    def solve(self, model: Selection | Season, task: EngineTask) -> Result | Partial:
        """Solve by row prices, reduced-cost fixing, and a search of the core."""
        from schedopt.solvers.dssp.selection.priced_core import solve

        return solve(model, task)


class BranchAndBoundEngine(Engine):
    """Branch and bound in integer arithmetic, without another solver."""

    name = "branch-and-bound"
    description = "any declared side constraints, by branching in integers; only by name"
    proves = _EXACT
    certificate = "tree"
    confirmed_by = "highs"
    old_names = ("tree",)

    def accepts(self, model: Selection | Season) -> bool:
        """Return True for an unchanged model of one objective with certain run times."""
        return not (model.sample or model.ordered or model.changed)

    def worth_trying(self, model: Selection | Season, limits: Limits) -> bool:
        """Return False: it runs only if it is named."""
        return False

    def solve(self, model: Selection | Season, task: EngineTask) -> Result | Partial:
        """Solve by branch and bound."""
        from schedopt.solvers.dssp.selection.priced_core import branch_and_bound

        return branch_and_bound(model, task)


class HighsEngine(Engine):
    """HiGHS on the integer program."""

    name = "highs"
    description = "any linear model, also with native changes; only by name"
    proves = f"{_EXACT}; of a changed model within its tolerances"
    certificate = "tree"
    confirmed_by = "scip" if installed("pyscipopt") else "branch-and-bound"

    def accepts(self, model: Selection | Season) -> bool:
        """Return True for any model of one objective with certain run times."""
        return not (model.sample or model.ordered)

    def worth_trying(self, model: Selection | Season, limits: Limits) -> bool:
        """Return False: it runs only if it is named."""
        return False

    def solve(self, model: Selection | Season, task: EngineTask) -> Result | Partial:
        """Solve with the MIP solver of the engine's name."""
        from schedopt.solvers.dssp.selection.priced_core import solve_by_mip

        return solve_by_mip(model, task)


class ScipEngine(HighsEngine):
    """SCIP on the integer program."""

    name = "scip"
    proves = "as highs"
    confirmed_by = "highs"
    needs = "pyscipopt"


class DeclaredSelection(Engine):
    """The declared Pyomo model, with the user's changes."""

    name = "model"
    description = "any linear model, as declared in Pyomo, with native changes, and under risk"
    proves = "the optimum within the tolerances of HiGHS"
    confirmed_by = "branch-and-bound"
    old_names = ("sampled",)

    def solve(self, model: Selection | Season, task: EngineTask) -> Result | Partial:
        """Solve the Pyomo model with HiGHS."""
        from schedopt.solvers.dssp.selection.priced_core import solve_declared_model

        return solve_declared_model(model, task)


SEASON_ENGINES = (
    PricedCoreEngine(),
    BranchAndBoundEngine(),
    HighsEngine(),
    ScipEngine(),
    DeclaredSelection(),
)
"""The engines of seasons, in the order in which they are tried."""
ENGINES = (KnapsackEngine(), *SEASON_ENGINES)
"""The engines of selections, in the order in which they are tried."""
