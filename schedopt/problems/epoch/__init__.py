"""What the application knows of epoch: how to pack memory-bound jobs into epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from schedopt.problems.record import Problem

if TYPE_CHECKING:
    from schedopt.solvers.result import Result


class Epoch(Problem):
    """The record of epoch."""

    name = "epoch"
    title = "how to pack memory-bound jobs into epochs"
    objective = "reallocations per quantum"
    tiny = (
        b'{"problem":"epoch","name":"tiny","nodes":4,"inequity":1,"jobs":['
        b'{"name":"a","minimum":2},{"name":"b","minimum":3}]}'
    )
    formulation_homes: ClassVar = {
        "partition": "schedopt.formulations.epoch.partition:Partition",
        "rectangles": "schedopt.formulations.epoch.rectangles:Rectangles",
    }

    def comparable(self, result: Result, reference: Result) -> bool:
        """Tell whether both hold epochs; rectangles answer another question."""
        rectangles = hasattr(result.solution, "rectangles")
        return not (rectangles and hasattr(reference.solution, "epochs"))


RECORD = Epoch()
