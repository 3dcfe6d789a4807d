"""Solve epochs: a bound, a schedule to start from, and a search where the two do not meet."""

from __future__ import annotations

from typing import Literal

from schedopt.formulations.epoch.partition import Partition
from schedopt.formulations.epoch.rectangles import Rectangles
from schedopt.instances.epoch import Partitioned, Scheduled
from schedopt.solvers.epoch import partitions, rectangles
from schedopt.solvers.epoch.clock import Clock
from schedopt.solvers.result import Limits, Result

Engine = Literal["epochs", "cp-sat"]


def solve(
    model: Partition | Rectangles,
    limits: Limits,
    start: Partitioned | Scheduled | None = None,
    *,
    engine: Engine = "epochs",
) -> Result[Partitioned] | Result[Scheduled]:
    """Solve a `Partition` or `Rectangles`.

    Where the start meets the bound nothing is searched. Then comes a search of our own, bin
    completion for partitions (`solvers.epoch.completion`), filling for rectangles
    (`solvers.epoch.filling`), and what that leaves open goes to CP-SAT.

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
        alone = engine == "cp-sat"
        return clock.timed(rectangles.solve(model, clock, pieces, cpsat_alone=alone))
    epochs = start if isinstance(start, Partitioned) else None
    result = partitions.solve(model, clock, epochs, cpsat_alone=engine == "cp-sat")
    clock.build += model.seconds - clock.before
    return clock.timed(result)
