"""What the application knows of hesrpt: how to share servers between parallelizable jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from schedopt.problems.record import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from schedopt.formulations.protocol import Formulation
    from schedopt.instances.hesrpt import Instance
    from schedopt.problems.shown import Lines, Tables
    from schedopt.solvers.result import Limits, Result


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

    def solve(self, model: Formulation, solver: str | None, limits: Limits) -> Result:
        """Solve an allocation by prices where they suffice, else by programs."""
        from schedopt.formulations.hesrpt import Allocation
        from schedopt.problems.hesrpt import solving

        self.refuse_others(solver, self.solvers(model), model)
        if isinstance(model, Allocation):
            return solving.solve(model, limits, solver)
        return super().solve(model, solver, limits)

    def certificate(
        self, model: Formulation, result: Result, limits: Limits
    ) -> dict[str, object] | None:
        """Return the prices of work from which the bound of an allocation can be re-proved."""
        from schedopt.formulations.hesrpt import Allocation
        from schedopt.solvers.hesrpt.certificate import certificate

        return certificate(model, result, limits) if isinstance(model, Allocation) else None

    def confirm(self, model: Formulation, result: Result, limits: Limits) -> Result | None:
        """Allocate again: by convex programs what prices found, by prices what programs found.

        Under side constraints or with arrivals, which prices do not take, there is no second
        method.
        """
        from schedopt.formulations.hesrpt import Allocation
        from schedopt.problems.hesrpt import solving

        if not isinstance(model, Allocation) or not model.plain():
            return None
        other = "clarabel" if result.solver == "prices" else "prices"
        return solving.solve(model, limits, other)

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
