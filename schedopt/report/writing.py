"""Writing a report: rows in, one page out."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import msgspec

from instances.errors import InputError, shown
from instances.files import write_bytes
from schedopt import __version__
from schedopt.analysis.contenders import by_problem, contenders, sense_of
from schedopt.analysis.profiles import profiles
from schedopt.analysis.summary import overview, summary
from schedopt.formats import counted
from schedopt.report import drawings
from schedopt.report.charts import charts
from schedopt.report.sections import failed, problem_section
from schedopt.sweep.plan import Sweep, problem_plans
from schedopt.sweep.rows import Row

Advance = Callable[[int, int], None]
"""Called with how many are done and how many there are."""

PICTURES = 12
"""Instances that are drawn, unless told otherwise."""


def write(
    rows: Sequence[Row],
    path: str | Path,
    *,
    sweep: Sweep | None = None,
    failures: Sequence[str] = (),
    pictures: int = PICTURES,
    progress: Advance | None = None,
) -> None:
    """Write rows of a bench as one page: tables, charts, pictures and certificates.

    Parameters
    ----------
    rows : sequence of Row
        What a bench returned.
    path : path
        A name that ends in .html.
    sweep : Sweep, optional
        How the bench was run. Pictures need it: they are drawn of the best policy's result and of
        the optimum, which are computed again.
    failures : sequence of str
        A line for each instance that could not be used.
    pictures : int
        Instances to draw at the most; those where policies differ most.
    progress : callable, optional
        Called with pictures drawn and in all.

    Raises
    ------
    InputError
        If the name ends otherwise, or the place cannot be written to.
    """
    named(path)
    rows = _by_contender(rows)
    drawn: dict[str, list[drawings.Picture]] = {}
    try:
        if sweep is not None:
            drawn.update(_drawn(rows, sweep, pictures, progress))  # keeps what came before an end
    finally:  # a page without all of its pictures, where someone could not wait for them
        write_bytes(Path(path), page(rows, drawn, failures).encode())


def named(path: str | Path) -> None:
    """Refuse a report whose name does not say that it is a page.

    Raises
    ------
    InputError
        If it does not end in .html.
    """
    if Path(path).suffix.lower() != ".html":
        raise InputError("a report's name ending in .html", found=shown(Path(path).name))


def page(
    rows: Sequence[Row],
    pictures: Mapping[str, Sequence[drawings.Picture]],
    failures: Sequence[str] = (),
) -> str:
    """Return the page.

    Parameters
    ----------
    rows : sequence of Row
    pictures : mapping
        For each instance file that has some, its pictures.
    failures : sequence of str
        A line for each instance that could not be used.
    """
    rows = _by_contender(rows)
    script, style, plotly = asset("page.js"), asset("page.css"), _plotly()
    cases = _by_file(rows)
    place = {file: i for i, file in enumerate(cases)}
    data: dict[str, Any] = {
        "columns": COLUMNS,
        "rows": [_values(row, place[row.file]) for row in rows],
        "instances": [
            _certificate(file, mine, list(pictures.get(file, ()))) for file, mine in cases.items()
        ],
        "charts": {},
    }
    sections = []
    standings, lines = summary(rows), profiles(rows)
    grouped = by_problem(rows)
    for what in overview(rows):
        found = [standing for standing in standings if standing.problem == what.problem]
        profiled = [profile for profile in lines if profile.problem == what.problem]
        data["charts"][what.problem] = charts(grouped[what.problem], found, profiled)
        sections.append(problem_section(what, sense_of(what.problem), found))
    return Template(asset("page.html")).substitute(
        policy=_policy(script, plotly.source),
        style=style,
        version=escape(__version__),
        count=f"{counted(len(rows), 'run')} on {counted(len(cases), 'instance')}",
        problems="\n".join(sections),
        failures=failed(failures),
        pictures="\n".join(_template(i, pictures.get(file, ())) for i, file in enumerate(cases)),
        data=as_script(data),
        plotly=plotly.packed,
        script=script,
    )


def _by_contender(rows: Sequence[Row]) -> list[Row]:
    """Return rows whose policy is their contender: one in several settings is several."""
    names = contenders(rows)
    return [msgspec.structs.replace(row, policy=names[row.key]) for row in rows]


COLUMNS = (
    "instance", "problem", "policy", "seed", "objective", "reference", "gap", "proven", "seconds",
    "note", "case",
)  # fmt: skip
"""What the page's script knows of a row; `case` is its instance's place in the list of them."""


def _values(row: Row, case: int) -> list[Any]:
    note = "; ".join([*row.violations, *([row.message] if row.message else [])])
    return [
        row.instance, row.problem, row.policy, row.seed, row.objective, row.reference, row.gap,
        row.reference_proven, row.seconds, note, case,
    ]  # fmt: skip


def _certificate(
    file: str, rows: Sequence[Row], pictures: Sequence[drawings.Picture]
) -> dict[str, Any]:
    row = rows[0]
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
        "drawn": bool(pictures),
    }


def _by_file(rows: Sequence[Row]) -> dict[str, list[Row]]:
    cases: dict[str, list[Row]] = {}
    for row in rows:
        cases.setdefault(row.file, []).append(row)
    return cases


def _drawn(
    rows: Sequence[Row], sweep: Sweep, most: int, progress: Advance | None
) -> Iterator[tuple[str, list[drawings.Picture]]]:
    """Yield instance files with their pictures, as they are drawn."""
    cases = _by_file(rows)
    wanted = drawings.chosen(cases, most)
    of = problem_plans(sweep, dict.fromkeys(row.problem for row in rows))
    for number, file in enumerate(wanted, start=1):
        best = drawings.best(cases[file])
        if best is not None:
            yield file, drawings.drawn(best, sweep, of)
        if progress:
            progress(number, len(wanted))


def _template(number: int, pictures: Sequence[drawings.Picture]) -> str:
    """Return an instance's pictures where they are not shown before they are asked for."""
    if not pictures:
        return ""
    figures = "".join(
        f'<figure class="picture"><figcaption>{escape(picture.caption)}</figcaption>'
        + (f'<div class="sheet">{picture.svg}</div>' if picture.svg else "")
        + (f'<p class="quiet">{escape(picture.note)}</p>' if picture.note else "")
        + "</figure>"
        for picture in pictures
    )
    return f'<template id="picture-{number}">{figures}</template>'


def as_script(data: Any) -> str:
    """Return data as JSON that cannot end the script tag it stands in, whatever it holds."""
    text = msgspec.json.encode(data).decode()
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


@cache
def asset(name: str) -> str:
    """Return one of the package's own files: the page, its style or its script."""
    return files("schedopt.report").joinpath(name).read_text(encoding="utf-8")


class _Plotly(msgspec.Struct, frozen=True):
    source: str
    packed: str


@cache
def _plotly() -> _Plotly:
    """Return plotly's script, and packed as the page carries it: at two fifths of its size."""
    from plotly.offline import get_plotlyjs

    source = str(get_plotlyjs())
    packed = base64.b64encode(gzip.compress(source.encode(), mtime=0)).decode()
    return _Plotly(source, packed)


def _policy(*scripts: str) -> str:
    """Return a content security policy: these very scripts, no other, and no network at all.

    Should a name ever escape being escaped, the browser still would not run it.
    """
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
