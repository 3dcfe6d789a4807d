"""The measures of policies on one instance, beside the bound on any schedule."""

from collections.abc import Iterable, Sequence

import msgspec

from schedopt.analysis.contenders import contenders, group_rows
from schedopt.sweep.rows import Row


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The measured contenders of one instance, the best first, preemptive references last."""

    instance: str
    file: str
    bound: float | None  # what no schedule is better than
    bound_checked: bool
    rows: list[tuple[str, Row]]  # each contender with its row


def measured(rows: Iterable[Row]) -> list[Measured]:
    """Return the instances on which policies are measured, in the order of the rows."""
    rows = list(rows)
    names = contenders(rows)
    sound = (row for row in rows if row.measures and row.objective is not None)
    return [_measured(mine, names) for mine in group_rows(sound, "file").values()]


def _measured(rows: Sequence[Row], names: dict[str, str]) -> Measured:
    first, *others = sorted(rows, key=lambda row: (beside(row), row.objective or 0))
    return Measured(
        instance=first.instance,
        file=first.file,
        bound=first.reference_bound,
        bound_checked=first.bound_checked,
        rows=[(names[row.key], row) for row in (first, *others)],
    )


def beside(row: Row) -> bool:
    """Tell whether a row answers another question than its reference."""
    return row.reference is not None and row.gap is None
