"""Contenders: who is compared, which runs count, and what is better."""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Literal

import msgspec

from schedopt.problems import problem as record_of
from schedopt.sweep.rows import NOTHING, Row

SAME = 1e-9  # numbers that differ by less than this, relatively, are the same


def contenders(rows: Iterable[Row]) -> dict[str, str]:
    """Return the contender of each row, by its key: the policy, with options where these differ."""
    rows = list(rows)
    options = {
        row.key: " ".join(f"{key}={value}" for key, value in sorted(row.options.items()))
        for row in rows
    }
    settings: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        settings.setdefault((row.problem, row.policy), set()).add(options[row.key])
    return {
        row.key: f"{row.policy} {options[row.key]}".strip()
        if len(settings[row.problem, row.policy]) > 1
        else row.policy
        for row in rows
    }


def group_rows(rows: Iterable[Row], by: Literal["problem", "file"]) -> dict[str, list[Row]]:
    """Return the rows of each problem, or of each instance's file, in their order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(getattr(row, by), []).append(row)
    return groups


def from_bound(row: Row) -> bool:
    """Tell whether a row's gap is from the reference's bound, not from its solution."""
    return row.reference_formulation in record_of(row.problem).from_bounds


def reference_is_zero(row: Row) -> bool:
    """Tell whether a row's reference is 0, of which nothing is a fraction."""
    return row.reference is not None and abs(row.reference) < NOTHING


def better(a: float, b: float, sign: float) -> bool:
    """Tell whether a is better than b, beyond rounding."""
    return sign * (a - b) > SAME * max(abs(a), abs(b))


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a problem's contenders on each instance: means over seeds."""

    problem: str
    sign: float  # 1 where more is better, -1 where less is
    rows: Mapping[str, list[Row]]  # each contender's
    of: Mapping[str, Mapping[str, float]]  # by contender and file
    best: Mapping[str, float]  # the best score on each file. Its files are the problem's instances


def scores_by_problem(rows: Iterable[Row]) -> list[Scores]:
    """Return the scores of each problem's contenders."""
    rows = list(rows)
    who = contenders(rows)
    found = []
    for problem, mine in group_rows(rows, "problem").items():
        own: dict[str, list[Row]] = {}
        for row in mine:
            own.setdefault(who[row.key], []).append(row)
        of = {name: _scores(runs) for name, runs in own.items()}
        more_is_better = record_of(problem).sense == "maximize"
        best: dict[str, float] = {}
        for scores in of.values():
            for file, value in scores.items():
                choose = max if more_is_better else min
                best[file] = choose(value, best.get(file, value))
        sign = 1.0 if more_is_better else -1.0
        found.append(Scores(problem=problem, sign=sign, rows=own, of=of, best=best))
    return found


def _scores(rows: Iterable[Row]) -> dict[str, float]:
    """Return a contender's score on each file on which all of its runs count."""
    return {
        file: fmean(row.objective or 0.0 for row in runs)
        for file, runs in group_rows(rows, "file").items()
        if all(map(_counts, runs))
    }


def _counts(row: Row) -> bool:
    """Tell whether a run counts: it breaks nothing, and answers the reference's question."""
    comparable = row.gap is not None or row.reference is None or reference_is_zero(row)
    return row.objective is not None and not row.violations and comparable
