"""Who is compared with whom: contenders, which runs of theirs count, and what is better."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from schedopt.problems import catalog
from schedopt.sweep.rows import Row

SAME = 1e-9
"""Numbers that differ by less than this, relatively, are the same."""

Measure = Literal["objective", "seconds"]


def contenders(rows: Iterable[Row]) -> dict[str, str]:
    """Return the contender of each row, by its key: the policy, with options where these differ."""
    rows = list(rows)
    settings: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        settings.setdefault((row.problem, row.policy), set()).add(options_of(row))
    several = {of for of, found in settings.items() if len(found) > 1}
    return {
        row.key: f"{row.policy} {options_of(row)}".strip()
        if (row.problem, row.policy) in several
        else row.policy
        for row in rows
    }


def options_of(row: Row) -> str:
    """Return a row's options in words."""
    return " ".join(f"{key}={value}" for key, value in sorted(row.options.items()))


def counts(row: Row) -> bool:
    """Tell whether a run counts: it breaks nothing, and answers the reference's question."""
    asked = row.gap is not None or row.reference is None
    return row.objective is not None and not row.violations and asked


def sign_of(problem: str, measure: Measure) -> float:
    """Return 1 where more is better, -1 where less is."""
    if measure == "seconds":
        return -1.0
    return 1.0 if catalog.formulation_type(problem).sense == "maximize" else -1.0


def better(a: float, b: float, sign: float) -> bool:
    """Tell whether a is better than b, beyond rounding."""
    return sign * (a - b) > SAME * max(abs(a), abs(b))
