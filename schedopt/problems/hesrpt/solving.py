"""Solve an allocation: a policy's shares to start from, handed to the solver."""

from __future__ import annotations

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.solvers.result import Limits, Result

STARTS = ("hesrpt", "equi")
"""Policies that are tried one after the other for a start; the last always applies."""


def solve(model: Allocation, limits: Limits, solver: str | None = None) -> Result:
    """Solve an `Allocation`.

    Parameters
    ----------
    model : Allocation
        The formulation.
    limits : Limits
        When to stop.
    solver : {"prices", "clarabel"}, optional
        By default prices where nothing but the jobs' work and the servers bind.

    Raises
    ------
    InputError
        If prices are asked for where more binds.
    """
    from schedopt.solvers import hesrpt as orders

    late = bool(model.instance.arrivals.any())
    if solver == "prices" and not model.plain():
        binding = [*model.side(), *(["arrivals"] if late else [])]
        raise InputError(
            "an allocation with neither, or --solver clarabel",
            found=f"side constraints or arrivals: {', '.join(binding)}",
            place="solver prices",
        )
    return orders.solve(model, limits, solver, start(model.instance) if late else None)


def start(instance: Instance) -> Allocated:
    """Return what the first of the `STARTS` that applies to an instance makes."""
    from schedopt.policies.registry import NotApplicableError, registered

    policies = registered("hesrpt")
    for name in STARTS[:-1]:
        try:
            found: Allocated = policies[name].run(instance)
        except NotApplicableError:
            continue
        return found
    last: Allocated = policies[STARTS[-1]].run(instance)
    return last
