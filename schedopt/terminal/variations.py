"""The rows of a what-if, one line each."""

from __future__ import annotations

from collections.abc import Sequence

from schedopt.formats import duration, number, percent
from schedopt.problems.shown import ShownTable
from schedopt.sweep.varied import Variation
from schedopt.terminal.console import out, table

MOST = 6
"""Groups whose shares are shown."""


def variations(rows: Sequence[Variation]) -> None:
    """Show each combination: its values, its optimum, how sure that is, and shares of groups."""
    places = list(rows[0].values)
    first = next((row.shares for row in rows if row.shares), {})
    groups = [(by, group) for by, shares in first.items() for group in shares]
    shown = groups if len(groups) <= MOST else []
    heads = (*places, "objective", "gap", "outcome", *(group for _, group in shown), "time", "")
    lines = tuple(
        (
            *(str(row.values[place]) for place in places),
            number(row.objective),
            percent(row.gap),
            row.termination if row.objective is None else row.solution_status,
            *(_share(row, by, group) for by, group in shown),
            duration(row.seconds),
            "; ".join([*row.violations, *row.conflict]),
        )
        for row in rows
    )
    out.print(table(ShownTable(title=rows[0].instance, heads=heads, rows=lines).filled()))


def _share(row: Variation, by: str, group: str) -> str:
    share = row.shares.get(by, {}).get(group)
    return "" if share is None else f"{share:.1%}"
