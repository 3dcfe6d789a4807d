"""Tables and summaries of the rows of a bench."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from schedopt import tables as column
from schedopt.analysis import statistics
from schedopt.formats import count_of, interval, number, percent, signed_percent
from schedopt.sweep.rows import BenchRow, to_frame
from schedopt.tables import Cell, Column, Table, Value, to_html

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from schedopt.verbs.whatif import Variation


WORDS = {
    "violations": "in violation",
    "not-applicable": "not applicable",
    "time-limit": "timed out",
}
"""Words for the outcome of a row without a gap."""

STANDING = (
    column.text("policy"),
    column.percent("mean gap"),
    Column("95% interval"),
    column.percent("median"),
    column.percent("worst"),
    column.text("on"),
    column.count("wins"),
    column.count("optimal"),
    column.duration("time"),
    column.text("no gap"),
)
ALONE = (STANDING[0], column.percent("gap"), *STANDING[6:])  # if each policy has one run

MISSING = Cell("–", None)
MOST_MEASURED = 12  # most instances with a table of measures
MOST_SHARES = 6  # most groups whose shares are shown


def standings(
    ranked: Sequence[statistics.Standing], overviews: Iterable[statistics.Overview]
) -> Iterator[tuple[statistics.Overview, Table]]:
    """Yield each problem with the table of its contenders."""
    for what in overviews:
        gaps = "; gaps are over the bound" if what.from_bounds else ""
        instances = count_of(what.instances, "instance")
        title = f"{what.problem}: {instances}, optimum proven for {what.proven:,}{gaps}"
        yield what, standing_table([of for of in ranked if of.problem == what.problem], title)


def standing_table(ranked: Sequence[statistics.Standing], title: str = "") -> Table:
    """Return the table of contenders; without averages if each has one run."""
    alone = title and all(of.runs <= 1 for of in ranked)
    columns = ALONE if alone else STANDING
    lines = map(_standing, ranked)
    return Table.of(title, columns, ([line[of.title] for of in columns] for line in lines))


def _standing(of: statistics.Standing) -> dict[str, Value]:
    """Return the cells of a contender by heading."""
    mean: Value = MISSING if of.mean is None else of.mean
    if of.mean is not None and of.noise > statistics.SAME:  # of simulated runs
        mean = Cell(f"{percent(of.mean)} ± {percent(of.noise)}", of.mean)
    optimal = Cell(f"{of.at_optimum:,} of {of.counted:,}", of.at_optimum)
    endings = ", ".join(f"{n:,} {WORDS.get(why, why)}" for why, n in of.endings.items())
    return {
        "policy": of.contender,
        **dict.fromkeys(("gap", "mean gap"), mean),
        "95% interval": Cell(interval(of.low, of.high), of.low),
        "median": MISSING if of.median is None else of.median,
        "worst": MISSING if of.worst is None else of.worst,
        "on": of.worst_instance if (of.worst or 0.0) > statistics.SAME else None,
        "wins": Cell(f"{of.wins:,} of {of.instances:,}", of.wins),
        "optimal": optimal if of.counted else MISSING,
        "time": of.seconds if of.counted else MISSING,
        "no gap": Cell(endings, of.runs - of.counted),
    }


def leader(ranked: Iterable[statistics.Standing], what: statistics.Overview) -> str:
    """Return the best contender of a problem and its mean gap, in words."""
    best, *others = statistics.rank(of for of in ranked if of.problem == what.problem)
    if not best.scored:
        return "No policy has a result that counts."
    equal = [
        of for of in others if (of.scored, of.mean, of.wins) == (best.scored, best.mean, best.wins)
    ]
    name = f"{best.contender} (and {len(equal):,} more)" if equal else best.contender
    if best.mean is None:
        return f"{name}: best on {best.wins:,} of {count_of(best.instances, 'instance')}."
    reference = "the optimum" if what.proven == what.instances else "the best that is known"
    away = f"{percent(best.mean)} from {'the bound' if what.from_bounds else reference}"
    sure = f" (95% interval {interval(best.low, best.high)})" if best.low is not None else ""
    return f"{name}: {away} on average{sure}."


PAIR = (
    *map(column.text, ("problem", "policy", "beside")),
    *map(column.count, ("compared", "better", "equal", "worse")),
    Column("mean advantage", signed_percent),
    Column("95% interval"),
)


def pairs(compared: Iterable[statistics.Pair]) -> Table:
    """Return the table of comparisons; intervals are omitted on few instances."""
    return Table.of(
        "instance by instance",
        PAIR,
        (
            (
                *(pair.problem, pair.a, pair.b),
                *(pair.compared, pair.better, pair.same, pair.worse, pair.mean),
                Cell(interval(pair.low, pair.high), pair.low)
                if pair.compared >= statistics.FEW
                else None,
            )
            for pair in compared
        ),
    )


def measured_tables(rows: Iterable[BenchRow]) -> Iterator[Table]:
    """Yield a table of measures for each measured instance, the best policy first."""
    rows = [row for row in rows if row.measures and row.objective is not None]
    names = statistics.contenders(rows)
    for mine in list(statistics.group_rows(rows, "file").values())[:MOST_MEASURED]:
        # The best first, and policies that are not comparable last.
        mine.sort(key=lambda row: (row.reference is not None and row.gap is None, row.objective))
        yield _measures(mine, names)


def _measures(rows: Sequence[BenchRow], names: dict[str, str]) -> Table:
    """Return the table of the contenders' measures on one instance."""
    first, *others = dict.fromkeys(key for row in rows for key in row.measures)
    title, bound = rows[0].instance, rows[0].reference_bound
    if bound is not None:
        proved = " (re-proved)" if rows[0].bound_checked else ""
        title += f"; no schedule is below {number(bound)}{proved}"
    columns = (
        column.text("policy"),
        column.number(first),
        column.percent("over the bound"),
        *(Column(head, lambda v: f"{v:.4g}" if abs(v) < 1e4 else number(v)) for head in others),
        column.duration("time"),
    )
    lines = (
        (
            *(names[row.key], row.measures.get(first), row.gap),
            *(row.measures.get(key) for key in others),
            row.seconds,
        )
        for row in rows
    )
    return Table.of(title, columns, lines)


def variations(rows: Sequence[Variation]) -> Table:
    """Return the table of the optima of a what-if, with the shares of groups if these are few."""
    groups = list(
        dict.fromkeys((by, group) for row in rows for by in row.shares for group in row.shares[by])
    )
    if len(groups) > MOST_SHARES:
        groups = []
    columns = (
        *map(column.number, rows[0].values),
        column.number("objective"),
        column.percent("gap"),
        column.text("outcome"),
        *(column.share(f"share {group}") for _, group in groups),
        column.duration("time"),
        column.text(""),
    )
    lines = (
        (
            *(v if isinstance(v, float) else str(v) for v in row.values.values()),
            row.objective,
            row.gap,
            row.termination if row.objective is None else row.solution_status,
            *(row.shares.get(by, {}).get(group) for by, group in groups),
            row.seconds,
            "; ".join([*row.violations, *row.conflict]),
        )
        for row in rows
    )
    return Table.of(rows[0].instance, columns, lines).without_empty_columns()


class RowTable(list[BenchRow]):
    """The rows of a bench, a list that a notebook shows as tables of the summary."""

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a frame of polars, with options as JSON."""
        return to_frame(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a frame of pandas, which must be installed."""
        import pandas as pd

        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    def __repr__(self) -> str:
        """Return the numbers of rows and instances; `list(rows)` shows the rows."""
        about = (
            f"; {of.problem}: {count_of(of.instances, 'instance')}"
            for of in statistics.overview(self)
        )
        return f"<{count_of(len(self), 'row')}{''.join(about)}>"

    def _repr_html_(self) -> str:
        tables = standings(statistics.summary(self), statistics.overview(self))
        return "\n".join(to_html(shown, caption=True) for _, shown in tables)
