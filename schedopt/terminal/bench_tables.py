"""Tables of what the rows of a bench say, for people at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from schedopt.analysis import summary as summarizing
from schedopt.analysis.summary import Changes, Pair, Profile, Standing
from schedopt.sweep.rows import Row
from schedopt.terminal.tables import number, out, percent

MOST_CHANGES = 40


def summary(rows: Sequence[Row]) -> None:
    """Show, for each problem and policy, how far it falls short, where most, and who is best."""
    found = summarizing.summary(rows)
    for problem in dict.fromkeys(standing.problem for standing in found):
        mine = [row for row in rows if row.problem == problem]
        files = {row.file: row for row in mine}
        proven = sum(row.reference_proven for row in files.values())
        table = _table(
            f"{problem}: {len(files)} instances, optimum proven for {proven}",
            ("policy", "mean gap", "median", "worst", "on", "wins", "optimal", "proven",
             "seconds", "left out"),
            left=("policy", "on", "left out"),
        )  # fmt: skip
        standings = [standing for standing in found if standing.problem == problem]
        for standing in standings:
            table.add_row(*map(escape, _standing(standing)))
        out.print(table)
        if any("violations" in standing.endings for standing in standings):
            out.print("left out: runs that break side constraints, or that have no gap otherwise")
        took = sum(
            {(r.file, r.reference, r.reference_seconds): r.reference_seconds for r in mine}.values()
        )
        out.print(f"the optima took {took:.2f} s in all")


def _standing(standing: Standing) -> list[str]:
    counted = standing.counted
    endings = [f"{count} {why}" for why, count in standing.endings.items()]
    return [
        standing.contender,
        *(percent(v) if counted else "-" for v in (standing.mean, standing.median, standing.worst)),
        str(standing.worst_instance) if standing.worst else "",
        f"{standing.wins} of {standing.instances}",
        f"{standing.at_optimum} of {counted}" if counted else "-",
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
        columns = [f"{tau:g}" for tau in summarizing.TAUS]
        table = _table(f"{title}, by {measure}", ("policy", *columns), left=("policy",))
        for profile in mine:
            shares = (f"{profile.at(tau):.0%}" for tau in summarizing.TAUS)
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
            f"  advantage {_signed(pair.mean)} in the mean ({pair.level:.0%} interval "
            f"{_signed(pair.low)} to {_signed(pair.high)}), {_signed(pair.median)} in the median"
            + ("" if sure else "; the interval holds 0: not snap_bound by these instances")
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


def _signed(value: float) -> str:
    return f"{value:+.3%}"


def _table(title: str, heads: Sequence[str], left: Sequence[str]) -> Table:
    table = Table(title=escape(title), title_justify="left")
    for head in heads:
        table.add_column(head, justify="left" if head in left else "right", overflow="fold")
    return table
