"""The optimal policy of a one-or-all system: policy iteration on ever larger boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.solvers.engine import Engine

if TYPE_CHECKING:
    from schedopt.formulations.msfq import OptimalPolicy


def is_readable(model: OptimalPolicy) -> bool:
    """Refuse a process in which more was changed than costs."""
    _ = model.changed  # raises where it was
    return True


def fits_program(model: OptimalPolicy) -> bool:
    """Tell whether a linear program over states need not be too large."""
    from schedopt.solvers.msfq.optimal_policy import program

    return is_readable(model) and program.box_of(model) is not None


_HERE = "schedopt.solvers.msfq.optimal_policy"
ENGINES = (
    Engine(
        "queues",
        solve=f"{_HERE}.optimal:solve",
        accepts=is_readable,
        description="any one-or-all system, with other costs too",
        proves="the optimum between bounds, for any number of jobs",
        certificate="relative-values",
        confirmed_by="model",
        needs="scipy",
    ),
    Engine(
        "model",
        solve=f"{_HERE}.program:solve",
        accepts=fits_program,
        description="systems of few servers and a low load",
        proves="the optimum of the decision process with so much room that there is none for at "
        "most 1e-9 of all time, as a linear program",
    ),
)
"""Read from the top: the first that accepts an optimal policy, and is worth trying, answers."""
