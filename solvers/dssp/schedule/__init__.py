"""Schedules: the knapsack bound, a search that dispatches again and again, then CP-SAT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.solvers.engine import Engine, declared_in_cpsat, never, unchanged

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Schedule
    from schedopt.solvers.dssp.schedule.time_indexed import Starts

MOST_STARTS = 20_000
"""Most starts, over all tasks, for which a program with one column per start is written."""


def start_by_start(model: Schedule) -> Starts | None:
    """Return the columns of a program with one for each start, where there are not too many."""
    from schedopt.solvers.dssp.schedule.time_indexed import Starts

    if model.instance.beyond or not unchanged(model) or not model.exact:
        return None
    if len(model.instance.late) > 1:
        return None
    return Starts.of(model)


_HERE = "schedopt.solvers.dssp.schedule"
_CERTIFY = f"{_HERE}.solving:certify"
ENGINES = (
    Engine(
        "search",
        solve=f"{_HERE}.solving:search",
        accepts=unchanged,
        description="any declared rules",
        proves="that the schedule meets the bound of the selection, which is re-proved; or that "
        "nothing keeps the rules, since no selection does",
        certificate="branching, of the selection that bounds every schedule",
        certify=_CERTIFY,
        confirmed_by="start-by-start",
    ),
    Engine(
        "cp-sat",
        solve=f"{_HERE}.solving:by_cpsat",
        accepts=unchanged,
        description="any declared rules; under a time limit where there is time to write the model",
        proves="the optimum on the grid that the lengths are on",
        certificate="branching, where the bound is the selection's",
        certify=_CERTIFY,
        confirmed_by="start-by-start",
        needs="ortools",
    ),
    Engine(
        "start-by-start",
        solve=f"{_HERE}.time_indexed:solve",
        accepts=start_by_start,
        worth_trying=never,
        description=f"lengths that are not rounded, of up to {MOST_STARTS:,} starts; only by name",
        proves="the optimum, in whole numbers",
        certify=_CERTIFY,
        certificate="branching, where the bound is the selection's",
        confirmed_by="cp-sat",
    ),
    declared_in_cpsat("the optimum on the grid that the lengths are on", "start-by-start"),
)
"""Read from the top: the first that accepts a schedule, and is worth trying, answers."""
