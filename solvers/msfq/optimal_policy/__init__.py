"""The optimal policy: policy iteration on boxes, and of several classes values on boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.solvers.engine import Engine, never

if TYPE_CHECKING:
    from schedopt.formulations.msfq import ClassPolicy, OptimalPolicy


def is_readable(model: OptimalPolicy | ClassPolicy) -> bool:
    """Refuse a process in which more was changed than costs."""
    _ = model.changed  # raises where it was
    return True


def fits_finite(model: OptimalPolicy | ClassPolicy) -> bool:
    """Tell whether a system that loses arrivals need not be too large, one-or-all."""
    from schedopt.formulations.msfq import OptimalPolicy
    from schedopt.solvers.msfq.optimal_policy import finite

    if not (is_readable(model) and isinstance(model, OptimalPolicy)):
        return False
    return finite.most_large(model.system.k) is not None


def fits_program(model: OptimalPolicy | ClassPolicy) -> bool:
    """Tell whether a linear program over states need not be too large."""
    from schedopt.solvers.msfq.optimal_policy import program

    return is_readable(model) and program.box_of(model) is not None


_HERE = "schedopt.solvers.msfq.optimal_policy"
ENGINES = (
    Engine(
        "queues",
        solve=f"{_HERE}.solving:solve",
        accepts=is_readable,
        when="any system, with other costs too",
        proves="the optimum of one-or-all systems between bounds, for any number of jobs; of "
        "several classes a bound, beside a policy that is simulated",
        certificate="relative-values, of several classes class-values",
        certify=f"{_HERE}.solving:certify",
        confirmed_by="policy-iteration",
    ),
    Engine(
        "policy-iteration",
        solve=f"{_HERE}.finite:solve",
        accepts=fits_finite,
        pays=never,
        when="one-or-all systems of up to 12 servers; only by name",
        proves="the optimum of systems that lose arrivals, where two sizes of them agree",
        confirmed_by="model",
        needs=("scipy",),
    ),
    Engine(
        "model",
        solve=f"{_HERE}.program:solve",
        accepts=fits_program,
        when="systems of few servers and a low load, of one or two classes beside each other",
        proves="the optimum of the decision process with so much room that there is none for at "
        "most 1e-9 of all time, as a linear program; of several classes there is no solution",
        needs=("highspy",),
    ),
)
"""Read from the top: the first that accepts an optimal policy, and pays, answers."""
