"""The data of a report's script: rows, instances, and each problem's policies and ratios."""

import base64
import gzip
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from schedopt.analysis.contenders import all_scores, grouped
from schedopt.analysis.profiles import ratio
from schedopt.analysis.summary import Standing
from schedopt.pictures.style import lines
from schedopt.problems import problem
from schedopt.report.drawings import Picture
from schedopt.sweep.rows import Row

COLUMNS = (
    "instance",
    "problem",
    "policy",
    "seed",
    "objective",
    "reference",
    "gap",
    "proven",
    "seconds",
    "note",
    "case",
)
"""The fields of a row in the script; `case` is the index of its instance."""


def data(
    rows: Sequence[Row],
    standings: Sequence[Standing],
    pictures: Mapping[str, Sequence[Picture]],
) -> dict[str, Any]:
    """Return what the script reads; a row's policy is its contender."""
    cases = grouped(rows, "file")
    place = {file: i for i, file in enumerate(cases)}
    number = {row.key: i for i, row in enumerate(rows)}
    drawn = iter(range(sum(map(len, pictures.values()))))
    return {
        "columns": COLUMNS,
        "rows": [_values(row, place[row.file]) for row in rows],
        "instances": [
            {
                **_certificate(file, mine[0]),
                "pictures": [
                    {
                        "caption": picture.caption,
                        "note": picture.note,
                        "svg": next(drawn) if picture.svg else None,
                        "rows": [number[key] for key in picture.keys],
                    }
                    for picture in pictures.get(file, ())
                ],
            }
            for file, mine in cases.items()
        ],
        "problems": problems(rows, standings, place),
    }


def _values(row: Row, case: int) -> list[Any]:
    note = "; ".join([*row.violations, *([row.message] if row.message else [])])
    return [
        row.instance,
        row.problem,
        row.policy,
        row.seed,
        row.objective,
        row.reference,
        row.gap,
        row.reference_proven,
        row.seconds,
        note,
        case,
    ]


def _certificate(file: str, row: Row) -> dict[str, Any]:
    return {
        "name": row.instance,
        "file": file,
        "problem": row.problem,
        "reference": row.reference,
        "bound": row.reference_bound,
        "proven": row.reference_proven,
        "formulation": row.reference_formulation,
        "solver": row.reference_solver,
        "seconds": row.reference_seconds,
    }


def problems(
    rows: Sequence[Row], standings: Sequence[Standing], place: Mapping[str, int]
) -> dict[str, Any]:
    """Return each problem's policies: how they are drawn, how they stand, and their ratios."""
    found: dict[str, Any] = {}
    for scores, _, _ in all_scores(rows):
        found[scores.problem] = {
            "title": problem(scores.problem).title,
            "instances": [place[file] for file in scores.best],
            "policies": {
                name: {"colour": colour, "dash": dash, "ratios": {}}
                for name, (colour, dash) in lines(scores.of).items()
            },
            "standings": [s for s in standings if s.problem == scores.problem],
        }
        for name, of in scores.of.items():
            found[scores.problem]["policies"][name]["ratios"] = {
                place[file]: worse if isfinite(worse) else None  # JSON knows no infinity
                for file, value in of.items()
                for worse in (ratio(value, scores.best[file], scores.sign),)
            }
    return found


def as_script(data: Any) -> str:
    """Return data as JSON that is safe inside a script tag."""
    text = msgspec.json.encode(data).decode()
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def packed(text: str) -> str:
    """Return text as gzip in base 64, which the page unpacks."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def packed_pictures(pictures: Mapping[str, Sequence[Picture]], cases: Sequence[str]) -> str:
    """Return the drawings in the order in which `data` numbers them."""
    drawn = [picture.svg for file in cases for picture in pictures.get(file, ()) if picture.svg]
    return packed(msgspec.json.encode(drawn).decode())
