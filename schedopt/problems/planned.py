"""A plan: what is done with each job, as a table that a dispatcher or a spreadsheet reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FIXED = ("job", "run", "reason", "reward", "processors", "start", "end", "late")
"""Columns that every plan has; the groupings stand between ``reward`` and ``processors``."""

Cell = str | float | int | bool | None
"""What a plan says of a job; None where there is nothing to say."""


@dataclass(frozen=True)
class Column:
    """A column of a plan."""

    title: str
    kind: type[str] | type[float] | type[int] | type[bool]
    cells: Sequence[Cell]  # one for each job, each of that type or None


Plan = tuple[Column, ...]  # the columns, all of one length, no two of one title


def groupings(names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Return the titles of columns of groupings: their names, unless a plan has such a column.

    Then the title is ``grouping NAME``; ``taken`` are further columns of the plan.
    """
    return [f"grouping {name}" if name in (*FIXED, *taken) else name for name in names]
