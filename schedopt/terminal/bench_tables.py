"""Tables of what the rows of a bench say."""

from collections.abc import Sequence

from schedopt.analysis import tables
from schedopt.analysis.pairs import Pair
from schedopt.analysis.profiles import Profile
from schedopt.analysis.summary import overview
from schedopt.analysis.summary import summary as standings
from schedopt.formats import counted, duration
from schedopt.sweep.rows import Row
from schedopt.terminal.console import say, show


def summary(rows: Sequence[Row]) -> None:
    """Show what is measured, and for each problem how far policies fall short, and who is best."""
    measured = list(tables.measured_tables(rows))
    for table in measured:
        show(table)
    found = standings(rows)
    for what, table in tables.standings(found, overview(rows)):
        mine = [standing for standing in found if standing.problem == what.problem]
        without = any(standing.counted < standing.runs for standing in mine)
        if not measured or what.instances > 1 or without:  # of one log there is nothing to average
            show(table)
        if without:
            say("no gap: runs left out of the means, and why")
        unsure = [row for row in rows if row.sampled and not row.confidence]
        short = sum(row.problem == what.problem for row in unsure)
        if short:
            say(f"{counted(short, 'run')} too short for a confidence interval: take more arrivals")
        say(f"the references took {duration(what.reference_seconds)} in total")


def profiles(found: Sequence[Profile]) -> None:
    """Show performance profiles: on which share of the instances each is within a factor."""
    for table in tables.profiles(found):
        show(table)


def pairs(found: Sequence[Pair]) -> None:
    """Show pairs of policies; an interval that contains 0 settles nothing."""
    if found:
        show(tables.pairs(found))
        say("where the interval contains 0, these instances do not settle who is better on average")
