"""`schedopt.epoch`: how to pack memory-bound jobs into epochs."""

from __future__ import annotations

from contextlib import suppress
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


STARTS = {"partition": ("heuristic-epoch", "equi-epoch"), "rectangles": ("buddy-star",)}
"""Policies whose schedules suit each formulation."""

FEW = {"heuristic-epoch": 5_000, "buddy-star": 30_000}
"""Jobs up to which a policy takes about a second; its time is nearly quadratic."""


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
        """Return the best solution, of policies that take about a second, that keeps all rules."""
        from schedopt.policies.registry import NotApplicableError, registered
        from schedopt.validation.epoch.schedules import check_rules
        from schedopt.validation.report import Report

        instance, best = model.instance, None
        rules = [*instance.constraints, *model.added]
        schedules: list[Partitioned | Scheduled] = []
        for name in STARTS[model.name]:
            if len(instance.jobs) <= FEW.get(name, len(instance.jobs)):
                with suppress(NotApplicableError):
                    schedules.append(registered("epoch")[name].run(instance))
        if model.name == "rectangles":
            schedules.append(_rotation(instance))
        for schedule in schedules:
            check_rules(schedule, rules, report := Report())
            if report.ok and (best is None or schedule.overhead < best.overhead):
                best = schedule
        return best

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


def _rotation(instance: Instance) -> Scheduled:
    """Return the schedule that gives each job the whole machine in turn (section 4)."""
    total, nodes = len(instance.jobs), instance.nodes
    times = [i / total for i in range(total + 1)]
    turns = zip(instance.names, times, times[1:], strict=False)
    pieces = {name: Rectangle(nodes=nodes, start=start, end=end) for name, start, end in turns}
    return Scheduled(rectangles=pieces)


RECORD = EpochProblem()
