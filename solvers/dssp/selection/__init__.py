"""Selections: a knapsack core, shares of groups, branching in whole numbers, and MIP solvers."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any

from schedopt.instances.extras import installed
from schedopt.solvers.engine import Engine, anything, never, unchanged

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Season, Selection
    from schedopt.formulations.dssp.sample import Sample
    from schedopt.formulations.protocol import Knapsack
    from schedopt.solvers.dssp.selection.few_row_ip import FewRowProgram
    from schedopt.solvers.dssp.selection.group_caps.reading import Groups
    from schedopt.solvers.result import Limits

FEW = 24
"""Most jobs for which an exact integer search takes no longer than loading compiled code."""

SMALL = 60
"""Open columns up to which branching in whole numbers goes before HiGHS."""

WRITTEN, WRITTEN_A_SECOND = 20_000, 50_000
"""Columns written in integers under any time limit, and for each second of it."""
APART = 11_000
"""Columns of a season whose pairs HiGHS examines in half a second, without looking at the clock."""

SECOND = "scip" if installed("pyscipopt") else "tree"
"""What confirms HiGHS."""

_BRANCHING = "schedopt.solvers.dssp.selection.branch_and_bound"
_FEW_ROWS = "schedopt.solvers.dssp.selection.few_row_ip"
_PRICED_CORE = "schedopt.solvers.dssp.selection.priced_core"
_WHOLE = "the optimum, or that nothing keeps the rules, in whole numbers"


def plain(model: Selection) -> Knapsack | None:
    """Return the knapsack that a selection is where nothing but equations 1 and 2 is in it."""
    return None if model.ordered else model.plain()


def one_objective(model: Selection | Season) -> bool:
    """Accept a single objective, the reward."""
    return not model.ordered


def unchanged_reward(model: Selection | Season) -> bool:
    """Accept a single objective, the reward, of an unchanged model."""
    return not model.ordered and not model.changed


def as_few_row_program(model: Selection) -> FewRowProgram | None:
    """Return the few rows over many columns that a selection amounts to, if it does."""
    if model.changed:
        return None
    from schedopt.solvers.dssp.selection.few_row_ip import as_few_row_program

    return as_few_row_program(model)


def ordered_or_many(model: Selection, limits: Limits) -> bool:
    """Tell whether there are several objectives, or many open columns with rules."""
    many = not small(model, limits) and not model.calendar
    return model.ordered or (many and writable(model, limits))


def shares(model: Selection) -> Groups | None:
    """Return the shares that the rows of a selection amount to, if they do."""
    from schedopt.solvers.dssp.selection.group_caps.reading import group_caps

    return None if model.ordered else group_caps(model)


def has_many_jobs(model: Selection, limits: Limits) -> bool:
    """Tell whether compiled code pays off: for many jobs, or where many models follow."""
    return limits.many or len(model.instance.jobs) > FEW


def small(model: Selection | Season, _: Limits) -> bool:
    """Tell whether branching goes first."""
    return int(model.open.sum()) <= SMALL


def large(model: Selection, limits: Limits) -> bool:
    """Tell whether prices of all rows go first."""
    return not small(model, limits) and writable(model, limits)


def writable(model: Selection | Season, limits: Limits) -> bool:
    """Tell whether there is time to write all rows in whole numbers, and to search too."""
    limit = limits.time_limit
    if limit is None:
        return True
    most = APART * sqrt(limit) if model.calendar else WRITTEN_A_SECOND * limit
    return model.width <= max(WRITTEN, most)


def as_declared(model: Selection | Season, limits: Limits) -> bool:
    """Tell whether the native model says no more than was declared, and can be written in time."""
    return not model.changed and writable(model, limits)


def by_itself(model: Selection | Season, limits: Limits) -> bool:
    """Tell whether there is time for the native model, which alone holds a user's changes."""
    return model.changed or writable(model, limits)


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
    usual = {"proves": _WHOLE, "certificate": "tree"}
    return Engine(name, **usual | fields)


TREE = certified_engine(
    "tree",
    solve=f"{_BRANCHING}.solving:tree",
    accepts=unchanged_reward,
    worth_trying=small,
    description=f"any declared rules; unasked up to {SMALL} open columns, for a second",
    confirmed_by="highs",
)
HIGHS = certified_engine(
    "highs",
    solve=f"{_BRANCHING}.solving:by_mip",
    accepts=one_objective,
    worth_trying=as_declared,
    description="any declared rules; by name also what was changed natively",
    proves=f"{_WHOLE}, where the exact search closes what rounding leaves open",
    confirmed_by=SECOND,
)
SCIP = certified_engine(
    "scip",
    solve=f"{_BRANCHING}.solving:by_mip",
    accepts=one_objective,
    worth_trying=never,
    description="any linear model, changed natively too; only by name",
    proves="as highs; of a changed model within its tolerances",
    confirmed_by="highs",
    needs="pyscipopt",
)
MODEL = Engine(
    "model",
    solve=f"{_FEW_ROWS}:as_declared",
    accepts=anything,
    worth_trying=by_itself,
    description="any linear model, as it stands in Pyomo, native changes too",
    proves="the optimum within the tolerances of HiGHS",
    confirmed_by="tree",
)

SAMPLED = Engine(
    "sampled",
    solve="schedopt.solvers.dssp.selection.scenario_search:solve",
    accepts=under_risk,
    description="any declared rules under --risk",
    proves="a bound, by prices of scenarios; the optimum, by branches in the order of service, of "
    "up to 10,000 jobs times scenarios, or 100,000 under a limit",
    confirmed_by="model",
)
CERTAIN = (
    certified_engine(
        "core",
        solve="schedopt.solvers.dssp.selection.knapsack.search:solve",
        accepts=plain,
        worth_trying=has_many_jobs,
        description=f"no side constraints, no windows of jobs' own; unasked from {FEW + 1} jobs on",
        confirmed_by="highs",
    ),
    certified_engine(
        "shares",
        solve="schedopt.solvers.dssp.selection.group_caps.search:solve",
        accepts=shares,
        worth_trying=has_many_jobs,
        description="caps and floors of one grouping, jobs required or forbidden; unasked from "
        f"{FEW + 1} jobs on",
        confirmed_by="highs",
    ),
    certified_engine(
        "columns",
        solve=f"{_FEW_ROWS}:solve",
        accepts=as_few_row_program,
        worth_trying=ordered_or_many,
        description="up to 8 rows of resources and caps that bind, objectives in order; with the "
        f"reward alone unasked from {SMALL + 1} open columns on",
        proves="the optimum of each objective in order, in whole numbers",
        certificate="tree, for the first objective",
        confirmed_by="model",
    ),
    TREE,
    certified_engine(
        "crossing",
        solve=f"{_BRANCHING}.lagrangian:solve",
        accepts=unchanged_reward,
        worth_trying=large,
        description=f"any declared rules, unasked from {SMALL + 1} open columns on",
        proves="a bound by prices of all rows, without rounding; highs goes on from there",
        confirmed_by="highs",
    ),
    certified_engine(
        "priced-core",
        solve=f"{_PRICED_CORE}:solve",
        accepts=unchanged,
        worth_trying=never,
        description="any declared rules, objectives in order; only by name",
        proves="the optimum, or that nothing keeps the rules, in integers",
        confirmed_by="highs",
    ),
    HIGHS,
    SCIP,
)

ENGINES = (SAMPLED, *map(engine_without_risk, CERTAIN), MODEL)
"""Read from the top: the first that accepts a selection, and is worth trying, answers."""
