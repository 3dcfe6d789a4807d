"""Lines and tables of results of epoch: the epochs and their nodes."""

from schedopt import tables as column
from schedopt.formats import count_of
from schedopt.instances.epoch import Instance, Partitioned, Scheduled
from schedopt.problems.summary import Lines, Tables
from schedopt.solvers.result import Result
from schedopt.tables import Table


def lines(instance: Instance, result: Result[Partitioned | Scheduled]) -> Lines:
    """Yield the overhead per node; the objective is that of all nodes."""
    if result.objective is not None:
        each = result.objective / instance.nodes
        yield "overhead", f"{each:.3g} reallocations per node and quantum"


def tables(
    instance: Instance,
    result: Result[Partitioned | Scheduled],
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
    yield Table.of(f"{count_of(len(epochs), 'epoch')}{more}", columns, rows)
