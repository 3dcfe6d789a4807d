"""The page of one result: what is decided, drawn and said in tables, in a file of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

from schedopt import __version__
from schedopt.analysis.markup import html, plain
from schedopt.formats import number, percent
from schedopt.instances.files import write_bytes
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem_of
from schedopt.problems.sheet import Section
from schedopt.problems.shown import ShownTable
from schedopt.report import further
from schedopt.report.drawings import svg
from schedopt.report.sections import defined, terms
from schedopt.report.writing import asset, content_policy, named, script
from schedopt.solvers.result import Result
from schedopt.sweep.varied import Variation

SCRIPTS = ("base.js", "theme.js", "sorting.js", "one.js")
CHECKED = (
    "The result was recomputed from the raw instance, by code that shares nothing with what made "
    "it. The page needs nothing but a browser, and sends nothing anywhere."
)
UNCHECKED = "Not all of this result could be checked. The page sends nothing anywhere."
OUTCOMES = {
    "optimal": "proven: there is no better one",
    "feasible": "the best that was found, not proven to be the best there is",
    "none": "there is none",
}
FACTS = {
    "objective": "What the result is worth, by the instance's own measure.",
    "bound": "What no solution can be better than.",
    "gap": "How far objective and bound are apart, as a fraction of the objective.",
}


def write(
    instance: AnyInstance,
    result: Result,
    path: str | Path,
    run: Result | None = None,
    rows: Sequence[Variation] = (),
) -> None:
    """Write the page of one result.

    Parameters
    ----------
    instance : Instance
    result : Result
        Of that instance.
    path : path
        A name that ends in .html.
    run : Result, optional
        The same as it is run, where that is known: see `schedopt.verbs.plan.carried_out`.
    rows : sequence of Variation
        What `schedopt.verbs.whatif.whatif` found of the same instance, to be drawn as curves.

    Raises
    ------
    InputError
        If the name ends otherwise, or the place cannot be written to.
    """
    named(path)
    write_bytes(Path(path), page(instance, result, run, rows).encode())


def page(
    instance: AnyInstance,
    result: Result,
    run: Result | None = None,
    rows: Sequence[Variation] = (),
) -> str:
    """Return the page of one result."""
    record = problem_of(instance)
    parts = [
        *record.sections(instance, result, run),
        *further.prices(result),
        *further.what_if(rows),
    ]
    return Template(asset("one.html")).substitute(
        policy=content_policy(script(SCRIPTS)),
        style=asset("page.css"),
        name=plain(instance.name),
        title=plain(record.title),
        version=escape(__version__),
        facts=_facts(instance, result),
        sections="\n".join(_section(part) for part in parts),
        footer=CHECKED if result.checked else UNCHECKED,
        script=script(SCRIPTS),
    )


def _facts(instance: AnyInstance, result: Result) -> str:
    """Return what there is to say in lines: what is proven, and what the problem says."""
    record = problem_of(instance)
    lines = [
        ("what this is", instance.description or ""),
        ("outcome", f"{OUTCOMES[result.solution_status]} ({result.termination})"),
        (f"objective ({record.objective})", number(result.objective)),
        (
            "bound",
            "" if result.bound is None else f"{number(result.bound)}, gap {percent(result.gap)}",
        ),
        *record.lines(instance, result),
        ("rules that cannot hold together", ", ".join(result.conflict)),
        ("violations", "; ".join(result.violations)),
        ("note", str(result.message or "")),
    ]
    return _part("In short", defined(line for line in lines if line[1]), FACTS)


def _section(part: Section) -> str:
    words = f"<p>{plain(part.words)}</p>" if part.words else ""
    tables = (_table(table, part.terms) for table in part.tables)
    return _part(part.title, "".join([words, *_pictures(part), *tables]), part.terms)


def _part(title: str, body: str, meanings: Mapping[str, str]) -> str:
    name, words = plain(title), terms("What the words mean", meanings)
    return f'<section aria-label="{name}"><h2>{name}</h2>{body}{words}</section>'


def _pictures(part: Section) -> Iterator[str]:
    for caption, draw in part.pictures:
        told = f"<figcaption>{plain(caption)}</figcaption>"
        yield f'<figure>{told}<div class="sheet">{svg(draw(), caption)}</div></figure>'


def _table(shown: ShownTable, meanings: Mapping[str, str]) -> str:
    """Return a table that its headings sort, with a button that downloads it."""
    name = plain(re.sub(r"[^\w-]+", "-", shown.title).strip("-")[:40] or "table")
    return (
        f"<figure><figcaption>{plain(shown.title)}</figcaption>"
        f'<div class="scroll">{html(shown, meanings)}</div>'
        f'<p class="under"><button type="button" class="download" data-name="{name}">'
        "Download as CSV</button></p></figure>"
    )
