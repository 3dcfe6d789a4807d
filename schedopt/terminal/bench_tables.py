"""Tables of what the rows of a bench say."""

from collections.abc import Sequence

from schedopt.analysis import tables
from schedopt.analysis.averages import FEW
from schedopt.analysis.changes import Changes
from schedopt.analysis.pairs import Pair
from schedopt.analysis.profiles import Profile
from schedopt.analysis.summary import overview
from schedopt.analysis.summary import summary as standings
from schedopt.formats import counted, duration, signed
from schedopt.sweep.rows import Row
from schedopt.terminal.console import say, show

MOST_CHANGES, MOST_NAMES = 40, 5
STYLES = {True: "green", False: "red", None: ""}


def summary(rows: Sequence[Row]) -> None:
    """Show what is measured, and for each problem how far policies fall short, and who is best."""
    measured = list(tables.measured_tables(rows))
    for shown in measured:
        show(shown)
    found = standings(rows)
    for what, shown in tables.standings(found, overview(rows)):
        mine = [standing for standing in found if standing.problem == what.problem]
        without = any(standing.counted < standing.runs for standing in mine)
        if not measured or what.instances > 1 or without:  # of one log there is nothing to average
            show(shown)
        if without:
            say("no gap: runs left out of the means, and why")
        unsure = [row for row in rows if row.sampled and not row.confidence]
        short = sum(row.problem == what.problem for row in unsure)
        if short:
            say(f"{counted(short, 'run')} too short for a confidence interval: take more arrivals")
        say(f"the references took {duration(what.reference_seconds)} in total")


def profiles(found: Sequence[Profile]) -> None:
    """Show performance profiles: on which share of the instances each is within a factor."""
    for shown in tables.profiles(found):
        show(shown)


def pairs(found: Sequence[Pair]) -> None:
    """Show pairs of policies, each in a sentence or two."""
    for pair in found:
        say(
            f"{pair.problem}: {pair.a} and {pair.b} on {counted(*pair.compared)}: "
            f"{pair.a} is better on {pair.better:,}, equal on {pair.same:,}, "
            f"worse on {pair.worse:,}{pair.missing}"
        )
        many, what = pair.compared
        if many == 1:
            say(f"  advantage of {pair.a} {signed(pair.mean)}; one {what} says nothing of others")
            continue
        doubt = ""
        if pair.low <= 0 <= pair.high:
            doubt = f"; the interval contains 0: these {what}s do not settle it"
        elif many < FEW:
            doubt = f"; so few {what}s make a rough interval"
        say(
            f"  mean advantage of {pair.a} {signed(pair.mean)} ({pair.level:.0%} interval "
            f"{signed(pair.low)} to {signed(pair.high)}), median {signed(pair.median)}"
            f"{doubt}"
        )


def changes(found: Changes) -> None:
    """Show what changed between two benches."""
    say(f"{found.same:,} of {counted(found.rows, 'row')} are the same, but for times")
    if found.changes:
        styles = [STYLES[change.better] for change in found.changes]
        show(tables.changes(found, MOST_CHANGES), styles)
        if len(found.changes) > MOST_CHANGES:
            say(f"... and {len(found.changes) - MOST_CHANGES:,} more; --json has them all")
    for what, names in (("gone", found.gone), ("new", found.new)):
        if names:
            left = len(names) - MOST_NAMES
            more = f" and {left:,} more" if left > 0 else ""
            say(f"{what}: {'; '.join(names[:MOST_NAMES])}{more}")
    for what, (old, new) in (
        ("policies", found.seconds),
        ("references", found.reference_seconds),
    ):
        say(f"{what} took {duration(old)} before, {duration(new)} now")
