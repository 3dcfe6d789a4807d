"""Solve epochs: a bound, a schedule to start from, and a search where the two do not meet."""

from __future__ import annotations

from typing import Literal

from formulations.epoch.partition import Partition
from formulations.epoch.rectangles import Rectangles
from instances.epoch import Partitioned, Scheduled
from solvers import cpsat
from solvers.epochs import partitions
from solvers.epochs.bounding import narrowest
from solvers.epochs.clock import Clock
from solvers.result import Limits, Result

Engine = Literal["epochs", "cp-sat"]


def solve(
    model: Partition | Rectangles,
    limits: Limits,
    start: Partitioned | Scheduled | None = None,
    *,
    engine: Engine = "epochs",
) -> Result[Partitioned] | Result[Scheduled]:
    """Solve a `Partition` or `Rectangles`.

    Where the start meets the bound nothing is searched. A partition is then searched for by our own
    bin completion (`solvers.epochs.completion`), and what that leaves open goes to CP-SAT.

    Parameters
    ----------
    model : Partition or Rectangles
        The formulation.
    limits : Limits
        When to stop.
    start : Partitioned or Scheduled, optional
        A schedule of the formulation's kind that keeps all side constraints.
    engine : {"epochs", "cp-sat"}
        Whether our own search goes first, or CP-SAT does all.

    Returns
    -------
    Result
        Not yet checked.
    """
    clock = Clock(limits, before=model.seconds)
    if isinstance(model, Rectangles):
        pieces = start if isinstance(start, Scheduled) else None
        return clock.timed(_rectangles(model, clock, pieces))
    epochs = start if isinstance(start, Partitioned) else None
    result = partitions.solve(model, clock, epochs, cpsat_alone=engine == "cp-sat")
    clock.build += model.seconds - clock.before
    return clock.timed(result)


def _rectangles(model: Rectangles, clock: Clock, start: Scheduled | None) -> Result[Scheduled]:
    least = float(narrowest(model))
    if start is None or model.instance.objective_of(start) > least:
        model.in_order()
    clock.build += model.seconds - clock.before
    return cpsat.solve(model, clock.left(), hint=start, bound=least)
