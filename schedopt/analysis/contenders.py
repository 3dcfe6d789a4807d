"""Contenders: who is compared, which runs count, and what is better."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Literal

import msgspec

from schedopt.problems import problem as record_of
from schedopt.sweep.rows import Row

SAME = 1e-9  # numbers that differ by less than this, relatively, are the same

Counts = Callable[[Row], bool]


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


def from_bound(row: Row) -> bool:
    """Tell whether a row's gap is from the reference's bound, not from its solution."""
    return row.reference_formulation in record_of(row.problem).from_bounds


def group_rows(rows: Iterable[Row], by: Literal["problem", "file"]) -> dict[str, list[Row]]:
    """Return the rows of each problem, or of each instance's file, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(getattr(row, by), []).append(row)
    return found


def counts(row: Row) -> bool:
    """Tell whether a run counts: it breaks nothing, and answers the reference's question."""
    asked = row.gap is not None or row.difference is not None or row.reference is None
    return row.objective is not None and not row.violations and asked


def sign_of(problem: str) -> float:
    """Return 1 where more is better, -1 where less is."""
    return 1.0 if record_of(problem).sense == "maximize" else -1.0


def better(a: float, b: float, sign: float) -> bool:
    """Tell whether a is better than b, beyond rounding."""
    return sign * (a - b) > SAME * max(abs(a), abs(b))


def reference_seconds(rows: Iterable[Row]) -> float:
    """Return the seconds of the references, each counted once."""
    return sum(
        {
            (row.file, row.reference, row.reference_seconds): row.reference_seconds for row in rows
        }.values()
    )


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a problem's contenders on each instance: means over seeds."""

    problem: str
    sign: float  # 1 where more is better, -1 where less is
    of: Mapping[str, Mapping[str, float]]
    runs: Mapping[str, Mapping[str, Mapping[int, float | None]]]  # by contender, file and seed
    best: Mapping[str, float]  # the best score on each file. Its files are the problem's instances


def score_rows(
    problem: str,
    rows: Sequence[Row],
    who: Mapping[str, str],
    counts: Counts = counts,
) -> Scores:
    """Return the scores of one problem's rows, whose contenders ``who`` names by their keys."""
    runs: dict[str, dict[str, dict[int, float | None]]] = {}
    for row in rows:
        value = row.objective if counts(row) else None
        runs.setdefault(who[row.key], {}).setdefault(row.file, {})[row.seed] = value
    of = {
        name: {
            file: fmean(value for value in values.values() if value is not None)
            for file, values in files.items()
            if None not in values.values()
        }
        for name, files in runs.items()
    }
    sign = sign_of(problem)
    best: dict[str, float] = {}
    for scores in of.values():
        for file, value in scores.items():
            if file not in best or sign * value > sign * best[file]:
                best[file] = value
    return Scores(problem=problem, sign=sign, of=of, runs=runs, best=best)


def scores_by_problem(rows: Iterable[Row]) -> list[tuple[Scores, list[Row], dict[str, str]]]:
    """Return each problem's scores, with its rows and the contender of each row by its key."""
    rows = list(rows)
    who = contenders(rows)
    found = []
    for problem, mine in group_rows(rows, "problem").items():
        names = {row.key: who[row.key] for row in mine}
        found.append((score_rows(problem, mine, names), mine, names))
    return found
