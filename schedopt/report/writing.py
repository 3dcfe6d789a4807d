"""Writing a report: rows in, one page out."""

import base64
import gzip
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from math import isfinite
from pathlib import Path
from string import Template
from typing import Any

import msgspec

from schedopt import __version__
from schedopt.analysis.contenders import all_scores, contenders, grouped
from schedopt.analysis.pairs import against
from schedopt.analysis.profiles import ratio
from schedopt.analysis.summary import Standing, overview, ranked, summary
from schedopt.analysis.tables import measured_tables
from schedopt.analysis.words import in_words
from schedopt.formats import counted
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import write_bytes
from schedopt.pictures.style import lines
from schedopt.problems import problem
from schedopt.report import drawings
from schedopt.report.drawings import Picture
from schedopt.report.sections import failed, measured_section, problem_section, words
from schedopt.sweep.plan import Sweep, problem_plans
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
        "columns": (*FIELDS, "note", "case"),
        "rows": [_values(row, place[row.file]) for row in rows],
        "instances": [
            {
                "name": mine[0].instance,
                "file": file,
                "problem": mine[0].problem,
                "reference": mine[0].reference,
                **{key: getattr(mine[0], f"reference_{key}") for key in OF_REFERENCE},
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
    return [*(getattr(row, name) for name in FIELDS.values()), note, case]


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
    text = to_json(data).decode()
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def packed(text: str) -> str:
    """Return text as gzip in base 64, which the page unpacks."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def packed_pictures(pictures: Mapping[str, Sequence[Picture]], cases: Sequence[str]) -> str:
    """Return the drawings in the order in which `data` numbers them."""
    drawn = [picture.svg for file in cases for picture in pictures.get(file, ()) if picture.svg]
    return packed(to_json(drawn).decode())


Advance = Callable[[int, int], None]  # called with how many are done and how many there are
PLOTLY = "plotly-cartesian.min.js.gz"  # its npm package: plotly's own for Python takes 61 MB
PICTURES = 12  # instances that are drawn, unless told otherwise


def write(
    rows: Sequence[Row],
    path: str | Path,
    *,
    sweep: Sweep | None = None,
    failures: Sequence[str] = (),
    pictures: int = PICTURES,
    progress: Advance | None = None,
) -> None:
    """Write rows of a bench as one page: words, tables, charts, pictures and certificates."""
    named(path)
    rows = by_contender(rows)
    drawn: dict[str, list[Picture]] = {}
    try:
        if sweep is not None:
            drawn.update(_drawn(rows, sweep, pictures, progress))  # keeps what came before an end
    finally:  # a page without all of its pictures, where someone could not wait for them
        write_bytes(Path(path), page(rows, drawn, failures).encode())


def named(path: str | Path) -> None:
    """Refuse a path that does not end in .html."""
    if Path(path).suffix.lower() != ".html":
        raise InputError("a report's name ending in .html", found=shown(Path(path).name))


def page(
    rows: Sequence[Row],
    pictures: Mapping[str, Sequence[Picture]],
    failures: Sequence[str] = (),
) -> str:
    """Return the page, with the pictures of each instance's file that has some."""
    rows = by_contender(rows)
    standings, cases = summary(rows), list(grouped(rows, "file"))
    plotly, plotly_packed = _plotly()
    return Template(asset("page.html")).substitute(
        policy=content_policy(script(), plotly),
        style=asset("page.css"),
        version=escape(__version__),
        count=f"{counted(len(rows), 'run')} on {counted(len(cases), 'instance')}",
        words=words(in_words(rows)) if rows else "",
        problems="\n".join(
            [measured_section(list(measured_tables(rows))), *_sections(rows, standings)]
        ),
        failures=failed(failures),
        data=as_script(data(rows, standings, pictures)),
        pictures=packed_pictures(pictures, cases),
        plotly=plotly_packed,
        script=script(),
    )


def _sections(rows: Sequence[Row], standings: Sequence[Standing]) -> Iterator[str]:
    by_problem = grouped(rows, "problem")
    for what in overview(rows):
        found = [standing for standing in standings if standing.problem == what.problem]
        pairs = against(by_problem[what.problem], ranked(found)[0].contender)
        yield problem_section(what, problem(what.problem).sense, found, pairs)


def by_contender(rows: Sequence[Row]) -> list[Row]:
    """Return rows whose policy is their contender: the policy with its options."""
    names = contenders(rows)
    return [msgspec.structs.replace(row, policy=names[row.key]) for row in rows]


def _drawn(
    rows: Sequence[Row], sweep: Sweep, most: int, progress: Advance | None
) -> Iterator[tuple[str, list[Picture]]]:
    """Yield instance files with their pictures, as they are drawn."""
    cases = grouped(rows, "file")
    wanted = drawings.chosen(cases, most)
    of = problem_plans(sweep, dict.fromkeys(row.problem for row in rows))
    for number, file in enumerate(wanted, start=1):
        yield file, drawings.drawn(cases[file], sweep, of, drawings.MOST // len(wanted))
        if progress:
            progress(number, len(wanted))


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


@cache
def asset(name: str) -> str:
    """Return one of the package's own files: the page, its style or a part of its script."""
    return files("schedopt.report").joinpath(name).read_text(encoding="utf-8")


@cache
def script(parts: tuple[str, ...] = SCRIPTS) -> str:
    """Return a page's script, made of its parts."""
    return '"use strict";\n(() => {\n' + "\n".join(map(asset, parts)) + "})();\n"


@cache
def _plotly() -> tuple[str, str]:
    """Return plotly's script, and packed as the page carries it."""
    file = gzip.decompress(files("schedopt.report").joinpath(PLOTLY).read_bytes())
    source = file.decode()
    return source, packed(source)


def content_policy(*scripts: str) -> str:
    """Return a content security policy: these very scripts, no other, and no network at all."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
