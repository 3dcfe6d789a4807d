"""The page of one result: what is decided, drawn and said in tables, in a file of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

from schedopt import __version__
from schedopt.formats import number, percent
from schedopt.instances.errors import printable
from schedopt.instances.files import write_bytes
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem_of
from schedopt.problems.sheet import Section
from schedopt.problems.shown import ShownTable
from schedopt.report import further
from schedopt.report.drawings import svg
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
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+%?")


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
        name=_plain(instance.name),
        title=_plain(record.title),
        version=escape(__version__),
        facts=_facts(instance, result),
        sections="\n".join(_section(part) for part in parts),
        footer=CHECKED if result.checked else UNCHECKED,
        script=script(SCRIPTS),
    )


def _plain(text: str) -> str:
    """Return a text as markup in which nothing acts."""
    return escape(printable(text), quote=True)


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
    told = "".join(
        f"<dt>{_plain(name)}</dt><dd>{_plain(words)}</dd>" for name, words in lines if words
    )
    return (
        f'<section aria-label="In short"><h2>In short</h2><dl>{told}</dl>{_terms(FACTS)}</section>'
    )


def _section(part: Section) -> str:
    words = f"<p>{_plain(part.words)}</p>" if part.words else ""
    body = "".join([*_pictures(part), *(_table(table, part.terms) for table in part.tables)])
    title = _plain(part.title)
    return (
        f'<section aria-label="{title}"><h2>{title}</h2>{words}{body}{_terms(part.terms)}</section>'
    )


def _terms(terms: Mapping[str, str]) -> str:
    if not terms:
        return ""
    told = "".join(
        f"<dt>{_plain(word)}</dt><dd>{_plain(means)}</dd>" for word, means in terms.items()
    )
    return f"<details><summary>What the words mean</summary><dl>{told}</dl></details>"


def _pictures(part: Section) -> Iterator[str]:
    for caption, draw in part.pictures:
        told = f"<figcaption>{_plain(caption)}</figcaption>"
        yield f'<figure>{told}<div class="sheet">{svg(draw(), caption)}</div></figure>'


def _table(shown: ShownTable, terms: Mapping[str, str]) -> str:
    """Return a table that its headings sort, with a button that downloads it."""
    name = _plain(re.sub(r"[^\w-]+", "-", shown.title).strip("-")[:40] or "table")
    numeric = [
        all(_NUMBER.fullmatch(row[i]) for row in shown.rows if row[i])
        for i in range(len(shown.heads))
    ]
    sides = ["" if right else ' class="text"' for right in numeric]
    heads = "".join(
        f'<th scope="col"{side} title="{_plain(terms.get(head, ""))}">{_plain(head or " ")}</th>'
        for head, side in zip(shown.heads, sides, strict=True)
    )
    rows = "".join(
        "<tr>" + "".join(_cell(*cell) for cell in zip(row, sides, numeric, strict=True)) + "</tr>"
        for row in shown.rows
    )
    return (
        f"<figure><figcaption>{_plain(shown.title)}</figcaption>"
        f'<div class="scroll"><table class="sortable"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        f'<p class="under"><button type="button" class="download" data-name="{name}">'
        "Download as CSV</button></p></figure>"
    )


def _cell(text: str, side: str, numeric: bool) -> str:
    value = text.replace(",", "").removesuffix("%") if numeric else printable(text)
    return (
        f'<td{side} data-value="{escape(value, quote=True)}" data-text="{_plain(text)}">'
        f'<span class="cell">{_plain(text)}</span></td>'
    )
