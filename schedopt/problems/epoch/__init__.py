"""What the application knows of epoch: how to pack memory-bound jobs into epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from schedopt.problems.record import Converter, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from schedopt.formulations.protocol import Formulation
    from schedopt.instances.epoch import Instance
    from schedopt.problems.shown import Lines, Tables
    from schedopt.solvers.result import Limits, Result


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

    def solve(self, model: Formulation, solver: str | None, limits: Limits) -> Result:
        """Solve epochs or rectangles from the best schedule that the policies know."""
        from schedopt.formulations.epoch import Partition, Rectangles
        from schedopt.problems.epoch import solving

        self.refuse_others(solver, self.solvers(model), model)
        if isinstance(model, Partition | Rectangles):
            return solving.solve(model, limits, solver)
        return super().solve(model, solver, limits)

    def solvers(self, model: Formulation) -> Sequence[str]:
        """Return the solvers that take a formulation: searches of our own go first."""
        return ("epochs", "cp-sat")

    def certificate(
        self, model: Formulation, result: Result, limits: Limits
    ) -> dict[str, object] | None:
        """Return what the bound of a partition, or of rectangles, can be re-proved from."""
        from schedopt.formulations.epoch import Partition, Rectangles
        from schedopt.solvers.epoch.certificate import certificate

        if not isinstance(model, Partition | Rectangles):
            return None
        return certificate(model, result, limits)

    def confirm(self, model: Formulation, result: Result, limits: Limits) -> Result | None:
        """Solve again: by CP-SAT, told no bound and no start, or by our own search."""
        from schedopt.formulations.epoch import Partition, Rectangles
        from schedopt.solvers import cpsat
        from schedopt.solvers import epoch as epochs
        from schedopt.solvers.epoch import rectangles
        from schedopt.solvers.epoch.forms import written

        if not isinstance(model, Partition | Rectangles) or model.native:
            return None
        if isinstance(model, Rectangles):
            if result.solver == "epochs":
                model.in_order()
                return cpsat.solve(model, limits)
            return rectangles.alone(model, limits)
        if result.solver == "epochs":
            return cpsat.solve(written(model), limits)
        return epochs.solve(model, limits)

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
