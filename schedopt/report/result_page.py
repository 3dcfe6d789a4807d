"""The page of one result, with pictures and tables, in a single file."""

import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from string import Template

import msgspec

from schedopt import __version__
from schedopt.formats import number, percent
from schedopt.instances.files import write_bytes
from schedopt.instances.protocol import AnyInstance
from schedopt.pictures.svg import svg
from schedopt.problems import problem_of
from schedopt.problems.summary import CAUTION, Explanation, Section, explained
from schedopt.report.assets import asset, content_policy, expect_html, script
from schedopt.report.sections import definition_list, glossary
from schedopt.solvers.result import Result
from schedopt.tables import Table, plain, to_html

SCRIPTS = ("base.js", "theme.js", "sorting.js", "result.js")
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

PRICES = {
    "needed": "What the job would have had to be worth to be in an optimum, all else the same.",
    "reward lost": "The optimum without the rule, less the optimum: by solving again.",
    "in without it, out without it": "Jobs that are run only if the rule is dropped, and jobs that "
    "then make way for them.",
    "groups": "How much more reward each group's jobs bring without the rule.",
    "not proven": "The further solve was stopped: the true number may be larger.",
}


def write(
    instance: AnyInstance,
    result: Result,
    path: str | Path,
    run: Result | None = None,
) -> None:
    """Write the page of one result; ``path`` ends in .html."""
    expect_html(path)
    write_bytes(Path(path), page(instance, result, run).encode())


def page(
    instance: AnyInstance,
    result: Result,
    run: Result | None = None,
) -> str:
    """Return the page of one result."""
    record = problem_of(instance)
    parts = [
        *record.sections(instance, result, run),
        *explanation_sections(result),
    ]
    return Template(asset("result.html")).substitute(
        policy=content_policy(script(SCRIPTS)),
        style=asset("page.css"),
        name=plain(instance.name),
        title=plain(record.title),
        version=escape(__version__),
        facts=_facts(instance, result, run),
        sections="\n".join(_section(part) for part in parts),
        footer=CHECKED if result.checked else UNCHECKED,
        script=script(SCRIPTS),
    )


def _facts(instance: AnyInstance, result: Result, run: Result | None) -> str:
    """Return the list of facts: the outcome, the bound, who proved it, what the problem adds."""
    record = problem_of(instance)
    lines = [
        (CAUTION, "" if run is None else record.caution(instance, result, run)),
        ("what this is", instance.description or ""),
        ("outcome", f"{OUTCOMES[result.solution_status]} ({result.termination})"),
        ("objective", f"{number(result.objective)} ({record.goal(instance)})"),
        (
            "bound",
            "" if result.bound is None else f"{number(result.bound)}, gap {percent(result.gap)}",
        ),
        ("by", result.credit),
        *(line for line in record.lines(instance, result) if line[0] != CAUTION),
        ("rules that cannot hold together", ", ".join(result.conflict)),
        ("violations", "; ".join(result.violations)),
        ("note", str(result.message or "")),
    ]
    return _part("In short", definition_list(line for line in lines if line[1]), FACTS)


def _section(part: Section) -> str:
    words = f"<p>{plain(part.words)}</p>" if part.words else ""
    tables = (_table(table, part.terms) for table in part.tables)
    return _part(part.title, "".join([words, *_pictures(part), *tables]), part.terms)


def _part(title: str, body: str, meanings: Mapping[str, str]) -> str:
    name, words = plain(title), glossary("What the words mean", meanings)
    return f'<section aria-label="{name}"><h2>{name}</h2>{body}{words}</section>'


def _pictures(part: Section) -> Iterator[str]:
    for caption, draw in part.pictures:
        told = f"<figcaption>{plain(caption)}</figcaption>"
        yield f'<figure>{told}<div class="sheet">{svg(draw(), caption)}</div></figure>'


def _table(shown: Table, meanings: Mapping[str, str]) -> str:
    """Return a table that its headings sort, with a button that downloads it."""
    name = plain(re.sub(r"[^\w-]+", "-", shown.title).strip("-")[:40] or "table")
    return (
        f"<figure><figcaption>{plain(shown.title)}</figcaption>"
        f'<div class="scroll">{to_html(shown, meanings)}</div>'
        f'<p class="under"><button type="button" class="download" data-name="{name}">'
        "Download as CSV</button></p></figure>"
    )


def explanation_sections(result: Result) -> Iterator[Section]:
    """Yield why each job is left out and what each rule costs, where that was asked for."""
    if not result.explanation:
        return
    told = msgspec.convert(result.explanation, Explanation)
    words = "Each by solving again: with the job asked for, without the rule, on a larger machine."
    tables = tuple(table.filled() for table in explained(told))
    yield Section("Why, and at what price", words=words, tables=tables, terms=PRICES)
