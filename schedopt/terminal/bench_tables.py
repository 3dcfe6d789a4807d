"""Tables of what the rows of a bench say."""

from collections.abc import Sequence

from schedopt.analysis import tables
from schedopt.analysis.statistics import Pair, overview
from schedopt.analysis.statistics import summary as standings
from schedopt.formats import count_of, duration
from schedopt.sweep.rows import Row
from schedopt.terminal.console import say, show


def summary(rows: Sequence[Row], pairs: Sequence[Pair] | None = None) -> None:
    """Show how far policies fall short, and the pairs that are asked for."""
    measured = list(tables.measured_tables(rows))
    for table in measured:
        show(table)
    found = standings(rows)
    for what, table in tables.standings(found, overview(rows)):
        own = [row for row in rows if row.problem == what.problem]
        without = any(row.gap is None for row in own)
        if not measured or what.instances > 1 or without:  # of one log there is nothing to average
            show(table)
        if without:
            say("no gap: runs left out of the means, and why")
        if short := sum(row.sampled and not row.confidence for row in own):
            say(f"{count_of(short, 'run')} too short for a confidence interval: take more arrivals")
        say(f"the references took {duration(what.reference_seconds)} in total")
    if pairs:
        show(tables.pairs(pairs))
        say("where the interval contains 0, these instances do not settle who is better on average")
