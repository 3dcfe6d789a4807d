"""The rows of a bench as tables, for a terminal, a page and a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from schedopt import tables as column
from schedopt.analysis.averages import FEW
from schedopt.analysis.contenders import SAME
from schedopt.analysis.measured import Measured, measured
from schedopt.analysis.pairs import Pair
from schedopt.analysis.profiles import TAUS, Profile
from schedopt.analysis.summary import Overview, Standing
from schedopt.formats import between, counted, number, percent, signed
from schedopt.sweep.rows import Row
from schedopt.tables import Cell, Column, Table, Value

if TYPE_CHECKING:  # which would load all that solves
    from schedopt.sweep.variations import Variation

NONE = "–"

WORDS = {
    "violations": "in violation",
    "not-applicable": "not applicable",
    "time-limit": "timed out",
}
"""Words for the outcome of a row without a gap."""

STANDING = (
    column.text("policy"),
    column.percent("mean gap"),
    column.interval("95% interval"),
    column.percent("median"),
    column.percent("worst"),
    column.text("on"),
    column.count("wins"),
    column.count("optimal"),
    column.duration("time"),
    column.text("no gap"),
)
ALONE = (STANDING[0], column.percent("gap"), *STANDING[6:])  # where each policy has one run

MOST_MEASURED = 12  # measured instances that have a table of their own
MOST_SHARES = 6  # groups whose shares a terminal shows


def standings(
    found: Sequence[Standing], overviews: Iterable[Overview]
) -> Iterator[tuple[Overview, Table]]:
    """Yield each problem with the table of its contenders."""
    for what in overviews:
        mine = [standing for standing in found if standing.problem == what.problem]
        yield what, standing_table(mine, _about(what))


def standing_table(found: Iterable[Standing], title: str = "") -> Table:
    """Return the table of some contenders; one run of each needs no averages."""
    found = list(found)
    alone = title and all(of.runs <= 1 for of in found)
    columns = ALONE if alone else STANDING
    lines = map(_standing, found)
    return Table.of(title, columns, ([line[of.title] for of in columns] for line in lines))


def _about(what: Overview) -> str:
    gaps = "; gaps are over the bound" if what.from_bounds else ""
    instances = counted(what.instances, "instance")
    return f"{what.problem}: {instances}, optimum proven for {what.proven:,}{gaps}"


def _standing(of: Standing) -> dict[str, Value]:
    """Return a contender's cells by heading."""
    mean: Value = of.mean
    if of.mean is not None and of.noise > SAME:  # of simulated runs
        mean = Cell(f"{percent(of.mean)} ± {percent(of.noise)}", of.mean)
    optimal = Cell(f"{of.at_optimum:,} of {of.counted:,}", of.at_optimum)
    endings = ", ".join(f"{n:,} {WORDS.get(why, why)}" for why, n in of.endings.items())
    if of.difference is not None:
        endings += f" (off by {number(of.difference)} on average)"
    missing = Cell(NONE, None)
    return {
        "policy": of.contender,
        **dict.fromkeys(("gap", "mean gap"), missing if mean is None else mean),
        "95% interval": Cell(between(of.low, of.high), of.low, of.high),
        "median": missing if of.median is None else of.median,
        "worst": missing if of.worst is None else of.worst,
        "on": of.worst_instance if (of.worst or 0.0) > SAME else None,
        "wins": Cell(f"{of.wins:,} of {of.instances:,}", of.wins),
        "optimal": optimal if of.counted else missing,
        "time": of.seconds if of.counted else missing,
        "no gap": Cell(endings, of.runs - of.counted),
    }


PAIR = (
    *map(column.text, ("problem", "policy", "beside")),
    *map(column.count, ("compared", "left out", "better", "equal", "worse")),
    Column("mean advantage", signed),
    column.interval("95% interval"),
)


def pairs(found: Iterable[Pair]) -> Table:
    """Return contenders beside others; of few instances no interval is shown."""
    return Table.of(
        "instance by instance",
        PAIR,
        (
            (
                *(pair.problem, pair.a, pair.b),
                Cell(counted(*pair.compared), pair.compared[0]),
                *(pair.left_out, pair.better, pair.same, pair.worse, pair.mean),
                Cell(between(pair.low, pair.high), pair.low, pair.high)
                if pair.compared[0] >= FEW
                else None,
            )
            for pair in found
        ),
    )


def profiles(found: Sequence[Profile]) -> Iterator[Table]:
    """Yield for each problem the share of instances on which each is within a factor."""
    for name in dict.fromkeys(of.problem for of in found):
        mine = [of for of in found if of.problem == name]
        title = f"{name}: share of {counted(mine[0].instances, 'instance')} "
        yield Table.of(
            f"{title}within a factor of the best",
            (column.text("policy"), *(Column(f"{tau:g}", "{:.0%}".format) for tau in TAUS)),
            ((of.contender, *map(of.at, TAUS)) for of in mine),
        )


# What is measured on single instances.


def measured_tables(rows: Iterable[Row]) -> Iterator[Table]:
    """Yield for each measured instance the policies' measures."""
    for of in measured(rows)[:MOST_MEASURED]:
        yield measures(of)


def measures(of: Measured) -> Table:
    """Return each contender's measures on one instance."""
    first, *others = dict.fromkeys(key for _, row in of.rows for key in row.measures)
    bound = ""
    if of.bound is not None:
        proved = " (re-proved)" if of.bound_checked else ""
        bound = f"; no schedule is below {number(of.bound)}{proved}"
    return Table.of(
        f"{of.instance}{bound}",
        (
            column.text("policy"),
            column.number(first),
            column.percent("over the bound"),
            *(Column(head, _short) for head in others),
            column.duration("time"),
        ),
        (
            (
                name,
                row.measures.get(first),
                row.gap,
                *(row.measures.get(key) for key in others),
                row.seconds,
            )
            for name, row in of.rows
        ),
    )


def _short(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 else number(value)


# What a what-if finds.


def variations(rows: Sequence[Variation], *, on_page: bool = False) -> Table:
    """Return each combination's optimum and shares; a terminal shows those of few groups."""
    shares = [row.shares for row in rows]
    groups = list(dict.fromkeys((by, group) for of in shares for by in of for group in of[by]))
    if not on_page and len(groups) > MOST_SHARES:
        groups = []
    return Table.of(
        "what if" if on_page else rows[0].instance,
        (
            *map(column.number, rows[0].values),
            column.number("objective"),
            column.percent("gap"),
            column.text("outcome"),
            *(column.share(f"share {group}") for _, group in groups),
            column.duration("time"),
            column.text(""),
        ),
        (
            (
                *(
                    value if isinstance(value, float) else str(value)
                    for value in row.values.values()
                ),
                row.objective,
                row.gap,
                row.termination if row.objective is None else row.solution_status,
                *(row.shares.get(by, {}).get(group) for by, group in groups),
                None if on_page else row.seconds,
                "; ".join([*row.violations, *row.conflict]),
            )
            for row in rows
        ),
    ).filled()
