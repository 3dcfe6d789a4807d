"""Tables of what the rows of a bench say, for people at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from schedopt.analysis import summary as summaries
from schedopt.analysis.changes import Changes
from schedopt.analysis.pairs import Pair
from schedopt.analysis.profiles import TAUS, Profile
from schedopt.analysis.summary import Standing
from schedopt.formats import counted, duration, number, percent, signed
from schedopt.sweep.rows import Row
from schedopt.terminal.tables import out

MOST_CHANGES = 40


def summary(rows: Sequence[Row]) -> None:
    """Show, for each problem and policy, how far it falls short, where most, and who is best."""
    found = summaries.summary(rows)
    for what in summaries.overview(rows):
        table = _table(
            f"{what.problem}: {counted(what.instances, 'instance')}, "
            f"optimum proven for {what.proven:,}",
            ("policy", "mean gap", "median", "worst", "on", "wins", "optimal", "proven",
             "seconds", "left out"),
            left=("policy", "on", "left out"),
        )  # fmt: skip
        standings = [standing for standing in found if standing.problem == what.problem]
        for standing in standings:
            table.add_row(*map(escape, _standing(standing)))
        out.print(table)
        if any("violations" in standing.endings for standing in standings):
            out.print("left out: runs that break side constraints, or that have no gap otherwise")
        out.print(f"the references took {duration(what.reference_seconds)} together")


def _standing(standing: Standing) -> list[str]:
    counted = standing.counted
    endings = [f"{count} {why}" for why, count in standing.endings.items()]
    return [
        standing.contender,
        *(percent(v) if counted else "–" for v in (standing.mean, standing.median, standing.worst)),
        str(standing.worst_instance) if (standing.worst or 0.0) > 0 else "",
        f"{standing.wins:,} of {standing.instances:,}",
        f"{standing.at_optimum:,} of {counted:,}" if counted else "–",
        f"{standing.proven:.0%}",
        f"{standing.seconds:.4f}",
        ", ".join(endings),
    ]


def profiles(found: Sequence[Profile]) -> None:
    """Show performance profiles: on which share of the instances each is within a factor."""
    kinds = dict.fromkeys((profile.problem, profile.measure) for profile in found)
    for problem, measure in kinds:
        mine = [p for p in found if (p.problem, p.measure) == (problem, measure)]
        title = f"{problem}: share of {mine[0].instances} instances within a factor of the best"
        columns = [f"{tau:g}" for tau in TAUS]
        table = _table(f"{title}, by {measure}", ("policy", *columns), left=("policy",))
        for profile in mine:
            shares = (f"{profile.at(tau):.0%}" for tau in TAUS)
            table.add_row(escape(profile.contender), *shares)
        out.print(table)


def pairs(found: Sequence[Pair]) -> None:
    """Show pairs of policies, each in a sentence or two."""
    for pair in found:
        out.print(
            f"{pair.problem}: {escape(pair.a)} beside {escape(pair.b)} on {pair.instances} "
            f"instances: better on {pair.better}, the same on {pair.same}, worse on {pair.worse}"
        )
        sure = pair.low > 0 or pair.high < 0
        out.print(
            f"  advantage {signed(pair.mean)} in the mean ({pair.level:.0%} interval "
            f"{signed(pair.low)} to {signed(pair.high)}), {signed(pair.median)} in the median"
            + ("" if sure else "; the interval holds 0: not settled by these instances")
        )


def changes(found: Changes) -> None:
    """Show what changed between two benches."""
    out.print(f"{found.same} of {found.rows} rows say the same, but for times")
    if found.changes:
        heads = ("problem", "instance", "policy", "seed", "what", "before", "after", "")
        table = _table("what changed", heads, left=heads)
        verdicts = {True: "[green]better[/]", False: "[red]worse[/]", None: ""}
        for change in found.changes[:MOST_CHANGES]:
            words = (change.problem, change.instance, change.contender, str(change.seed))
            values = (change.what, _value(change.before), _value(change.after))
            table.add_row(*map(escape, (*words, *values)), verdicts[change.better])
        out.print(table)
        if len(found.changes) > MOST_CHANGES:
            out.print(f"... and {len(found.changes) - MOST_CHANGES} more; --json has them all")
    for what, names in (("gone", found.gone), ("new", found.new)):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            out.print(escape(f"{what}: {'; '.join(names[:5])}{more}"))
    for what, (old, new) in (
        ("policies", found.seconds),
        ("references", found.reference_seconds),
    ):
        out.print(f"{what} took {old:.2f} s then, {new:.2f} s now")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, int | float):
        return number(value)
    if isinstance(value, list):
        return "; ".join(value) or "none"
    return str(value)


def _table(title: str, heads: Sequence[str], left: Sequence[str]) -> Table:
    table = Table(title=escape(title), title_justify="left")
    for head in heads:
        table.add_column(head, justify="left" if head in left else "right", overflow="fold")
    return table
