"""What the application knows of epoch: how to pack memory-bound jobs into epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from schedopt.problems.record import Converter, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from schedopt.formulations.protocol import Formulation
    from schedopt.instances.epoch import Instance, Partitioned, Scheduled
    from schedopt.problems.shown import Lines, Tables
    from schedopt.solvers.result import Result


class Epoch(Problem["Instance"]):
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
    printed: ClassVar = {
        "equi-epoch": "EQUI-EPOCH",
        "heuristic-epoch": "HEURISTIC-EPOCH",
        "buddy": "BUDDY",
        "buddy-star": "BUDDY*",
        "hybrid": "HYBRID",
        "dp": "DP",
    }
    converters: ClassVar = {"log": Converter("schedopt.instances.epoch.swf")}

    def hint(
        self, model: Formulation, seconds: float | None = None
    ) -> Partitioned | Scheduled | None:
        """Return the best schedule of the policies that keeps all side constraints."""
        from schedopt.problems.epoch import starting

        return starting.start(model, seconds)

    def comparable(self, result: Result, reference: Result) -> bool:
        """Tell whether both hold epochs: rectangles, which end at other times, answer another."""
        rectangles = hasattr(result.solution, "rectangles")
        return not (rectangles and hasattr(reference.solution, "epochs"))

    def lines(self, instance: Instance, result: Result) -> Lines:
        """Yield what a result says beyond its objective."""
        from schedopt.problems.epoch import showing

        yield from showing.lines(instance, result)

    def tables(self, instance: Instance, result: Result) -> Tables:
        """Yield tables of a result."""
        from schedopt.problems.epoch import showing

        yield from showing.tables(instance, result)

    def draw(self, instance: Instance) -> Figure:
        """Draw each job's minimum."""
        from schedopt.problems.epoch import drawing

        return drawing.jobs(instance)

    def draw_results(self, results: Sequence[Result], instance: Instance | None = None) -> Figure:
        """Draw schedules beside each other."""
        from schedopt.problems.epoch import drawing

        return drawing.results(results, instance)


RECORD = Epoch()
