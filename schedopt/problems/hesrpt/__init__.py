"""What the application knows of hesrpt: how to share servers between parallelizable jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from schedopt.problems.record import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from schedopt.formulations.protocol import Formulation
    from schedopt.instances.hesrpt import Instance
    from schedopt.problems.shown import Lines, Tables
    from schedopt.solvers.result import Result

STARTS = ("hesrpt", "equi")
"""Policies that are tried one after the other for a start; the last always applies."""


class Hesrpt(Problem["Instance"]):
    """The record of hesrpt."""

    name = "hesrpt"
    title = "how to share servers between parallelizable jobs"
    objective = "flow time"
    tiny = (
        b'{"problem":"hesrpt","name":"tiny","servers":10,"speedup":{"kind":"power","p":0.5},'
        b'"jobs":[{"name":"a","size":1},{"name":"b","size":2}]}'
    )
    warming = (("mixed", {"jobs": 61}),)
    formulation_homes: ClassVar = {
        "allocation": "schedopt.formulations.hesrpt.allocation:Allocation"
    }
    printed: ClassVar = {
        "hesrpt": "heSRPT",
        "helrpt": "heLRPT",
        "srpt": "SRPT",
        "equi": "EQUI",
        "hell": "HELL",
        "knee": "KNEE",
    }

    def hint(self, model: Formulation, seconds: float | None = None) -> Any | None:
        """Return what the first policy that applies makes; policies see no side constraints."""
        from schedopt.policies.registry import NotApplicableError, registered

        if model.side():
            return None
        for policy in map(registered("hesrpt").__getitem__, STARTS):
            try:
                return policy.run(model.instance)
            except NotApplicableError:
                continue
        return None

    def lines(self, instance: Instance, result: Result) -> Lines:
        """Yield what a result says beyond its objective."""
        from schedopt.problems.hesrpt import showing

        yield from showing.lines(instance, result)

    def tables(self, instance: Instance, result: Result) -> Tables:
        """Yield tables of a result."""
        from schedopt.problems.hesrpt import showing

        yield from showing.tables(instance, result)

    def draw(self, instance: Instance) -> Figure:
        """Draw the jobs' sizes and their speedups."""
        from schedopt.problems.hesrpt import drawing

        return drawing.jobs(instance)

    def draw_results(self, results: Sequence[Result], instance: Instance | None = None) -> Figure:
        """Draw the shares of each result over time."""
        from schedopt.problems.hesrpt import drawing

        return drawing.results(results, instance)


RECORD = Hesrpt()
