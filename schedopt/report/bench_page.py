"""The page of a bench: rows in, one file out."""

import base64
import gzip
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from math import isfinite
from pathlib import Path
from string import Template
from typing import Any

import msgspec

from schedopt import __version__
from schedopt.analysis.contenders import contenders, group_rows, scores_by_problem
from schedopt.analysis.pairs import against
from schedopt.analysis.profiles import ratio
from schedopt.analysis.summary import Standing, overview, rank, summary
from schedopt.analysis.tables import leader, measured_tables
from schedopt.formats import counted
from schedopt.instances.encoding import to_json
from schedopt.instances.files import write_bytes
from schedopt.pictures.style import lines
from schedopt.problems import problem
from schedopt.report import sections
from schedopt.report.assets import asset, content_policy, expect_html, script
from schedopt.sweep.rows import Row

FIELDS = {
    "instance": "instance",
    "problem": "problem",
    "policy": "policy",
    "seed": "seed",
    "objective": "objective",
    "reference": "reference",
    "gap": "gap",
    "proven": "reference_proven",
    "seconds": "seconds",
}
"""What the script calls fields of a row; beside them a row has a note and a case, the index of its
instance."""
OF_REFERENCE = ("bound", "proven", "formulation", "solver", "seconds")


def data(rows: Sequence[Row], standings: Sequence[Standing]) -> dict[str, Any]:
    """Return what the script reads; a row's policy is its contender."""
    cases = group_rows(rows, "file")
    place = {file: i for i, file in enumerate(cases)}
    return {
        "columns": (*FIELDS, "note", "case"),
        "rows": [_values(row, place[row.file]) for row in rows],
        "instances": [
            {
                "name": mine[0].instance,
                "file": file,
                "problem": mine[0].problem,
                "reference": mine[0].reference,
                **{key: getattr(mine[0], f"reference_{key}") for key in OF_REFERENCE},
            }
            for file, mine in cases.items()
        ],
        "problems": problems(rows, standings, place),
    }


def _values(row: Row, case: int) -> list[Any]:
    note = "; ".join([*row.violations, *([row.message] if row.message else [])])
    return [*(getattr(row, name) for name in FIELDS.values()), note, case]


def problems(
    rows: Sequence[Row], standings: Sequence[Standing], place: Mapping[str, int]
) -> dict[str, Any]:
    """Return each problem's policies: how they are drawn, how they stand, and their ratios."""
    found: dict[str, Any] = {}
    for scores in scores_by_problem(rows):
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
    text = to_json(data).decode()
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


PLOTLY = "plotly-cartesian.min.js.gz"  # its npm package: plotly's own for Python takes 61 MB
SCRIPTS = (
    "base.js",
    "theme.js",
    "sorting.js",
    "tables.js",
    "cases.js",
    "charts.js",
    "start.js",
)
"""The parts of the page's script, in their order; they share one scope."""


def write(rows: Sequence[Row], path: str | Path, *, failures: Sequence[str] = ()) -> None:
    """Write rows of a bench as one page: words, tables, charts and certificates."""
    expect_html(path)
    write_bytes(Path(path), page(rows, failures).encode())


def page(rows: Sequence[Row], failures: Sequence[str] = ()) -> str:
    """Return the page."""
    rows = named_by_contender(rows)
    standings, cases = summary(rows), list(group_rows(rows, "file"))
    plotly, plotly_packed = _plotly()
    return Template(asset("bench.html")).substitute(
        policy=content_policy(script(SCRIPTS), plotly),
        style=asset("page.css"),
        version=escape(__version__),
        count=f"{counted(len(rows), 'run')} on {counted(len(cases), 'instance')}",
        words=sections.words({what.problem: leader(standings, what) for what in overview(rows)})
        if rows
        else "",
        problems="\n".join(
            [sections.measured(list(measured_tables(rows))), *_sections(rows, standings)]
        ),
        failures=sections.failed(failures),
        data=as_script(data(rows, standings)),
        plotly=plotly_packed,
        script=script(SCRIPTS),
    )


def _sections(rows: Sequence[Row], standings: Sequence[Standing]) -> Iterator[str]:
    by_problem = group_rows(rows, "problem")
    for what in overview(rows):
        found = [standing for standing in standings if standing.problem == what.problem]
        pairs = against(by_problem[what.problem], rank(found)[0].contender)
        yield sections.problem_section(what, problem(what.problem).sense, found, pairs)


def named_by_contender(rows: Sequence[Row]) -> list[Row]:
    """Return rows whose policy is their contender: the policy with its options."""
    names = contenders(rows)
    return [msgspec.structs.replace(row, policy=names[row.key]) for row in rows]


@cache
def _plotly() -> tuple[str, str]:
    """Return plotly's script, and as the page carries it: gzip in base 64."""
    source = gzip.decompress(files("schedopt.report").joinpath(PLOTLY).read_bytes())
    return source.decode(), base64.b64encode(gzip.compress(source, mtime=0)).decode()
