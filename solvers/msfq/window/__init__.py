"""Windows of logs: orders annealed, prices that rule out starts, a search of those left, CP-SAT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.solvers.engine import Engine, as_cpsat_has_it, unchanged

if TYPE_CHECKING:
    from schedopt.formulations.msfq import Window

MOST_JOBS = 62
"""Jobs up to which partial schedules are searched: those that have started are bits of a number."""


def is_whole(model: Window) -> bool:
    """Tell whether all times are whole ticks, and the model is as it was declared."""
    return model.exact and not model.changed


def is_short(model: Window) -> bool:
    """Tell whether there are so few jobs, too, that partial schedules can be searched."""
    return is_whole(model) and model.count <= MOST_JOBS


_HERE = "schedopt.solvers.msfq.window.windows"
ENGINES = (
    Engine(
        "annealing",
        solve=f"{_HERE}:by_annealing",
        accepts=is_whole,
        when="windows of which ticks say all times as they are; others follow",
        proves="that the schedule is best where it meets a relaxation's bound",
        confirmed_by="model",
    ),
    Engine(
        "prices",
        solve=f"{_HERE}:by_prices",
        accepts=is_short,
        when=f"such windows of up to {MOST_JOBS} jobs; where time runs out CP-SAT follows",
        proves="the optimum: by prices of servers, and a search of the starts that they leave",
        confirmed_by="model",
    ),
    Engine(
        "cp-sat",
        solve=f"{_HERE}:by_cpsat",
        accepts=unchanged,
        when="any window without native changes",
        proves="the optimum, on the grid of ticks where these round times",
        confirmed_by="model",
        needs=("ortools",),
    ),
    as_cpsat_has_it("the optimum, on the grid of ticks where these round times"),
)
"""Read from the top: the first that accepts a window, and pays, answers."""
