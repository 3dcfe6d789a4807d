"""Lines and tables of results of hesrpt: completion times, and the proof."""

from schedopt import tables as column
from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.problems.summary import Lines, Tables
from schedopt.solvers.result import Result
from schedopt.tables import Table

PROVEN = {"all": "over all completion orders", "given": "for this completion order"}


def lines(instance: Instance, result: Result[Allocated]) -> Lines:
    """Yield the completion orders over which the optimum is proven."""
    if result.solution is not None and result.solution.certified:
        yield "proven", PROVEN[result.solution.certified]


def tables(
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
    more = f" (the first {most} of {len(solution.order):,})" if len(solution.order) > most else ""
    yield Table.of(
        f"in order of completion{more}",
        (
            column.text("job"),
            column.number("size"),
            column.percent("share at time 0"),
            column.number("completion time"),
        ),
        (
            (
                name,
                instance.jobs[instance.index[name]].size,
                first.get(name),
                solution.completion[name],
            )
            for name in solution.order[:most]
        ),
    )
