"""`schedopt.epoch`: how to pack memory-bound jobs into epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from schedopt import tables as column
from schedopt.formats import count_of
from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Epoch, Instance, Job, Partitioned, Rectangle, Scheduled
from schedopt.policies.epoch.heuristics import packing
from schedopt.problems.record import Problem

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation
    from schedopt.problems.summary import Lines, Tables
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

    def lines(self, instance: Instance, result: Result[Any]) -> Lines:
        """Yield the overhead per node; the objective is that of all nodes."""
        if result.objective is not None:
            each = result.objective / instance.nodes
            yield "overhead", f"{each:.3g} reallocations per node and quantum"

    def tables(
        self,
        instance: Instance,
        result: Result[Any],
        *,
        shown: int = 20,  # epochs of the table
    ) -> Tables:
        """Yield the table of epochs: durations, and the nodes of each job."""
        if not isinstance(result.solution, Partitioned):
            return
        epochs = result.solution.epochs
        rows = (
            (n, of.duration, len(of.nodes), min(of.nodes.values()), max(of.nodes.values()))
            for n, of in enumerate(epochs[:shown], start=1)
        )
        more = f" (the first {shown})" if len(epochs) > shown else ""
        counts = map(column.count, ("jobs", "fewest nodes", "most nodes"))
        columns = (column.count("epoch"), column.percent("of the quantum"), *counts)
        yield column.Table.of(f"{count_of(len(epochs), 'epoch')}{more}", columns, rows)


RECORD = EpochProblem()
