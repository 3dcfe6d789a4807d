"""`schedopt.epoch`: how to pack memory-bound jobs into epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Epoch, Instance, Job, Partitioned, Rectangle, Scheduled
from schedopt.policies.epoch.heuristics import packing
from schedopt.problems.record import Problem

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation
    from schedopt.solvers.result import Result


__all__ = [
    "Epoch",
    "Instance",
    "Job",
    "Partition",
    "Partitioned",
    "Rectangle",
    "Rectangles",
    "Scheduled",
    "packing",
]


class EpochProblem(Problem):
    """The record of epoch."""

    name = "epoch"
    title = "how to pack memory-bound jobs into epochs"
    objective = "reallocations per quantum"
    tiny = (
        b'{"problem":"epoch","name":"tiny","nodes":4,"inequity":1,"jobs":['
        b'{"name":"a","minimum":2},{"name":"b","minimum":3}]}'
    )
    formulations: ClassVar = {
        "partition": Partition,
        "rectangles": Rectangles,
    }

    def hint(self, model: Formulation, seconds: float | None = None) -> Any | None:
        """Return the best solution of the policies that take about a second."""
        from schedopt.problems.epoch.starting import start

        del seconds
        return start(model)

    def comparable(self, result: Result, reference: Result) -> bool:
        """Return True unless one has epochs and the other rectangles."""
        rectangles = hasattr(result.solution, "rectangles")
        return not (rectangles and hasattr(reference.solution, "epochs"))


RECORD = EpochProblem()
