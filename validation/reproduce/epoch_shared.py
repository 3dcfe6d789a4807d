"""What the reproductions of the epoch paper share: its name, instances, policies, the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import named
from schedopt.policies.registry import registered
from schedopt.solvers import Limits

PAPER = "McCann and Zahorjan, TR 94-10-05, 1994"
EXACT = "Solved exactly by CP-SAT."


def packed(minima: Sequence[int], nodes: int, inequity: int = 0) -> Instance:
    """Return an instance of these minima."""
    jobs = named(minima)
    return Instance(name="example", nodes=nodes, inequity=inequity, jobs=jobs)


def policy(name: str, instance: Instance) -> float:
    """Return the overhead that a policy gets."""
    return instance.objective_of(registered("epoch")[name].run(instance))


def optimum(instance: Instance, *, widths: Literal["any", "powers-of-two"] | None = None) -> float:
    """Return the least overhead of epochs; with ``widths``, of rectangles of such widths."""
    from schedopt.formulations.epoch import Partition, Rectangles
    from schedopt.solvers import door

    model = Partition(instance) if widths is None else Rectangles(instance, widths=widths)
    result = door.solve(model, Limits(threads=1))
    if not result.proven or result.objective is None:
        raise RuntimeError(f"{instance.name} was not solved to optimality")
    return float(result.objective)
