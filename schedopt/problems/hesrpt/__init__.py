"""`schedopt.hesrpt`: how to share servers between parallelizable jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from schedopt import tables as column
from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import (
    Allocated,
    Amdahl,
    Epoch,
    Instance,
    Job,
    Power,
    Table,
)
from schedopt.policies.hesrpt.shares import share_policy
from schedopt.problems.record import Problem

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation
    from schedopt.problems.summary import Lines, Tables
    from schedopt.solvers.result import Result

__all__ = [
    "Allocated",
    "Allocation",
    "Amdahl",
    "Epoch",
    "Instance",
    "Job",
    "Power",
    "Table",
    "share_policy",
]

STARTS = ("hesrpt", "equi")
"""Policies that are tried in turn for a warm start; the last always applies."""


class HesrptProblem(Problem):
    """The record of hesrpt."""

    name = "hesrpt"
    title = "how to share servers between parallelizable jobs"
    objective = "flow time"
    objectives: ClassVar = {
        "mean-flow-time": "mean flow time",
        "total-flow-time": "total flow time",
        "weighted-flow-time": "weighted flow time",
        "makespan": "makespan",
    }
    tiny = (
        b'{"problem":"hesrpt","name":"tiny","servers":10,"speedup":{"kind":"power","p":0.5},'
        b'"jobs":[{"name":"a","size":1},{"name":"b","size":2}]}'
    )
    formulations: ClassVar = {
        "allocation": Allocation,
    }

    def hint(self, model: Formulation, seconds: float | None = None) -> Any | None:
        """Return the allocation of the first policy that applies; None with side constraints."""
        from schedopt.policies.registry import NotApplicableError, registered

        if model.side_constraints():
            return None
        for policy in map(registered("hesrpt").__getitem__, STARTS):
            try:
                return policy.run(model.instance)
            except NotApplicableError:
                continue
        return None

    def fallback(
        self,
        model: Formulation,
        *,
        # jobs up to which the allocation of a policy is a solution without search
        most: int = 1_000,
    ) -> tuple[Any | None, float | None]:
        """Return a policy's allocation, unless there are too many jobs to write their shares."""
        few = len(model.instance.jobs) <= most
        has_order = getattr(model, "given", False)
        return (self.hint(model) if few and not has_order else None), None

    def lines(self, instance: Instance, result: Result[Allocated]) -> Lines:
        """Yield the completion orders over which the optimum is proven."""
        if result.solution is not None and result.solution.certified:
            every = result.solution.certified == "all"
            proven = "over all completion orders" if every else "for this completion order"
            yield "proven", proven

    def tables(
        self,
        instance: Instance,
        result: Result[Allocated],
        *,
        most: int = 20,  # jobs of the table: those that complete first
    ) -> Tables:
        """Yield the table of jobs in order of completion, with their initial shares."""
        solution = result.solution
        if solution is None:
            return
        first = solution.epochs[0].share if solution.epochs else {}
        more = f" (the first {most} of {len(solution.order):,})" * (len(solution.order) > most)
        columns = (
            column.text("job"),
            column.number("size"),
            column.percent("share at time 0"),
            column.number("completion time"),
        )
        rows = (
            (
                name,
                instance.jobs[instance.index[name]].size,
                first.get(name),
                solution.completion[name],
            )
            for name in solution.order[:most]
        )
        yield column.Table.of(f"in order of completion{more}", columns, rows)


RECORD = HesrptProblem()
