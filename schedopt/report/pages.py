"""Pages of benches and of single results; each page is one file, which needs no network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import msgspec

from schedopt import __version__
from schedopt import tables as column
from schedopt.analysis import statistics, tables
from schedopt.formats import count_of, number
from schedopt.instances.errors import InputError, quote
from schedopt.instances.files import write_bytes
from schedopt.instances.protocol import AnyInstance
from schedopt.pictures import charts
from schedopt.pictures.style import image
from schedopt.problems import problem, problem_of
from schedopt.problems.summary import CAUTION, Explanation, Section, explanation_tables
from schedopt.solvers.result import Result
from schedopt.sweep.rows import BenchRow
from schedopt.tables import Table, plain, to_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Parts of an SVG that would apply to the whole page, and comments that repeat every text.
IN_THE_WAY = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", re.DOTALL)


def _write(path: str | Path, title: str, about: str, parts: Iterable[Section], footer: str) -> None:
    """Write a page: a title, a line below it, sections, and a footer. Its name ends in .html."""
    if Path(path).suffix.lower() != ".html":
        raise InputError("a report's name ending in .html", found=quote(Path(path).name))
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = Template(_asset("page.html")).substitute(
        policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'",
        style=_asset("page.css"),
        title=plain(title),
        about=plain(about),
        version=escape(__version__),
        sections="\n".join(map(_section, parts)),
        footer=plain(footer),
        script=script,
    )
    write_bytes(Path(path), page.encode())


def _asset(name: str) -> str:
    return files("schedopt.report").joinpath(name).read_text(encoding="utf-8")


def svg(figure: Figure, caption: str) -> str:
    """Return a figure as SVG to embed in a page; the result is reproducible."""
    drawing = image(figure, "svg", dpi=110, transparent=True).decode()
    drawing = IN_THE_WAY.sub("", drawing[drawing.index("<svg") :])
    wide = f"--natural: {figure.get_figwidth():g}in"
    label = f'role="img" aria-label="{escape(caption, quote=True)}" style="{wide}"'
    return drawing.replace("<svg ", f"<svg {label} ", 1)


def _section(part: Section) -> str:
    name, words = plain(part.title), f"<p>{plain(part.words)}</p>" if part.words else ""
    pictures = (
        f"<figure><figcaption>{plain(caption)}</figcaption>"
        f'<div class="sheet">{svg(draw(), caption)}</div></figure>'
        for caption, draw in part.pictures
    )
    tables = (_table(table, part.terms) for table in part.tables)
    terms = _definitions(part.terms)
    if terms:
        terms = f"<details><summary>What the words mean</summary>{terms}</details>"
    body = "".join([words, _definitions(part.facts), *pictures, *tables, terms])
    return f'<section aria-label="{name}"><h2>{name}</h2>{body}</section>'


def _definitions(pairs: Mapping[str, str]) -> str:
    items = "".join(f"<dt>{plain(name)}</dt><dd>{plain(is_)}</dd>" for name, is_ in pairs.items())
    return items and f"<dl>{items}</dl>"


def _table(table: Table, terms: Mapping[str, str]) -> str:
    """Return a table that can be sorted by its headings, with a download button."""
    name = plain(re.sub(r"[^\w-]+", "-", table.title).strip("-")[:40] or "table")
    return (
        f"<figure><figcaption>{plain(table.title)}</figcaption>"
        f'<div class="scroll">{to_html(table, terms)}</div>'
        f'<p class="under"><button type="button" class="download" data-name="{name}">'
        "Download as CSV</button></p></figure>"
    )


# The page of a bench.

FOOTER = (
    "Before it was counted, every result was recomputed from the instance by a checker that shares "
    "no code with the solvers and policies."
)
TERMS = {
    "gap": "The relative distance of a policy from the reference, which is the optimum or the best "
    "solution found; for a log, from the bound. 0.00% is optimal if the optimum is proven.",
    "mean gap": "The mean over all runs with a gap. The ± is the half-width of the 95% confidence "
    "interval of simulated runs.",
    "95% interval": "The 95% confidence interval of the mean gap over instances of the same kind, "
    "by the percentile bootstrap (Efron and Tibshirani, 1993). It needs at least "
    f"{statistics.FEW} instances.",
    "worst": "The largest gap, and its instance.",
    "wins": "The number of instances on which no other policy is better, among those that at least "
    "one policy solves. Several policies can win one instance.",
    "optimal": "The number of runs that reach a proven optimum, among those with a gap.",
    "time": "The mean time of the policy, without that of the reference.",
    "no gap": "Runs that are left out of the means: the policy does not apply, breaks side "
    "constraints, reached its time limit, or solves another problem than the reference.",
    "mean advantage": "The mean relative difference of the two objectives, positive if the first "
    "policy is better. If its interval contains 0, these instances do not show which policy is "
    "better on average.",
}
PROFILE = (
    "Each line shows the share of instances on which a policy is within a factor of the best "
    "policy; a line that is higher or further left is better (Dolan and Moré, 2002)."
)
MEASURED = (
    "Response, wait and slowdown are means over jobs, in the instance's unit: seconds for logs of "
    "clusters. Lost is the share of server time that was idle although waiting jobs could have "
    "used it. Fairness is Jain's index of the users' mean slowdowns: 1 means that all are equal. "
    "A replay has no sampling error. ± of batches is the half-width of a 95% interval, by batch "
    "means over the log, for the mean of the process that generated the log. The bound holds for "
    "schedules without preemption; a policy that preempts may be below it."
)


def write_bench(
    rows: Sequence[BenchRow], path: str | Path, *, failures: Sequence[str] = ()
) -> None:
    """Write rows of a bench as one page; ``path`` ends in .html."""
    count = len(statistics.group_rows(rows, "file"))
    about = f"{count_of(len(rows), 'run')} on {count_of(count, 'instance')}"
    _write(path, "How far from the optimum", about, bench_sections(rows, failures), FOOTER)


def bench_sections(
    rows: Sequence[BenchRow],
    failures: Sequence[str] = (),
    *,
    most_logs: int = 6,  # instances with sections of their own
) -> Iterator[Section]:
    """Yield the parts of the page."""
    standings, problems = statistics.summary(rows), statistics.overview(rows)
    leaders = {what.problem: tables.leader(standings, what) for what in problems}
    yield Section("In short", facts=leaders)
    if failures:
        table = Table.of("not used", [column.text("instance")], [[line] for line in failures])
        yield Section("Instances that could not be used", tables=(table,))
    if measured := tuple(tables.measured_tables(rows)):
        yield Section("Measures", words=MEASURED, tables=measured)
    for file, mine in list(statistics.group_rows(rows, "file").items())[:most_logs]:
        yield from problem(mine[0].problem).bench_sections(file, mine)
    for what in problems:
        yield _of_problem(what, statistics.group_rows(rows, "problem")[what.problem])
    yield Section("All runs", tables=(_runs(rows),))


def _of_problem(what: statistics.Overview, rows: Sequence[BenchRow]) -> Section:
    """Return the section of a problem: its policies, and each compared with the best."""
    ranked, record = statistics.rank(statistics.summary(rows)), problem(what.problem)
    proven = f"optimum proven for {what.proven:,}"
    if what.re_proved:
        proven += f", re-proved from certificates for {what.re_proved:,}"
    runs = f"{count_of(what.runs, 'run')} on {count_of(what.instances, 'instance')}"
    pairs = statistics.against(rows, ranked[0].contender)
    beside = (tables.pairs(pairs),) if pairs else ()
    drawn = (
        statistics.profiles(rows) if what.instances > 1 else []
    )  # of one instance it would be a line
    return Section(
        f"{what.problem}: {record.title}",
        words=f"{runs} to {record.sense}; {proven}." + f" {PROFILE}" * bool(drawn),
        pictures=(("Performance profiles", partial(charts.profiles, drawn)),) if drawn else (),
        tables=(*(table for _, table in tables.standings(ranked, [what])), *beside),
        terms=TERMS,
    )


def _runs(
    rows: Sequence[BenchRow],
    *,
    most: int = 2_000,  # rows of the table; the rows that are written have all runs
) -> Table:
    names = statistics.contenders(rows)
    from_bounds = all(map(statistics.from_bound, rows))
    cells = (
        (
            *(row.instance, names[row.key], row.seed, row.objective),
            *(row.reference_bound if statistics.from_bound(row) else row.reference, row.gap),
            *("yes" if row.reference_proven else "no", row.seconds),
            "; ".join([*row.violations, *([row.message] if row.message else [])]),
        )
        for row in rows[:most]
    )
    columns = (
        *map(column.text, ("instance", "policy")),
        column.count("seed"),
        *map(column.number, ("objective", "bound" if from_bounds else "reference")),
        column.percent("over the bound" if from_bounds else "gap"),
        column.text("proven"),
        column.duration("time"),
        column.text("note"),
    )
    more = f" (the first {most:,})" if len(rows) > most else ""
    return Table.of(f"runs{more}", columns, cells)


# The page of one result.

CHECKED = (
    "The result was recomputed from the instance by a checker that shares no code with the "
    "solver. This page works offline and sends no data."
)
UNCHECKED = "Parts of this result could not be checked. This page sends no data."
OUTCOMES = {
    "optimal": "proven optimal",
    "feasible": "the best solution found; not proven optimal",
    "none": "no solution",
}
PRICES = {
    "needed": "The smallest reward with which the job would be in an optimum, all else unchanged.",
    "reward lost": "The optimum without the rule, minus the optimum with it.",
    "in without it, out without it": "Jobs that run only if the rule is dropped, and jobs that "
    "they replace.",
    "not proven": "The additional solve was stopped; the true number may be larger.",
}


def write_result(
    instance: AnyInstance,
    result: Result,
    path: str | Path,
    run: Result | None = None,
    more: Iterable[Section] = (),
) -> None:
    """Write the page of one result; ``path`` ends in .html.

    ``run`` is the result with times, and ``more`` are sections after the first.
    """
    footer = CHECKED if result.checked else UNCHECKED
    short, *parts = result_sections(instance, result, run)
    _write(path, instance.name, problem_of(instance).title, [short, *more, *parts], footer)


def result_sections(instance: AnyInstance, result: Result, run: Result | None) -> Iterator[Section]:
    """Yield the parts of the page."""
    record = problem_of(instance)
    bound = ""
    if result.bound is not None:
        bound = f"{number(result.bound)}: no solution can be better ({record.gap_in_words(result)})"
    facts = {
        CAUTION: "" if run is None else record.caution(instance, result, run),
        "description": instance.description or "",
        "outcome": f"{OUTCOMES[result.solution_status]} ({result.termination})",
        "objective": f"{number(result.objective)} ({record.goal(instance)})",
        "bound": bound,
        "solver": result.credit,
        **{name: text for name, text in record.lines(instance, result) if name != CAUTION},
        "rules that cannot hold together": ", ".join(result.conflict),
        "violations": "; ".join(result.violations),
        "note": str(result.message or ""),
    }
    yield Section("In short", facts={name: text for name, text in facts.items() if text})
    yield from record.sections(instance, result, run)
    if result.explanation:
        why = msgspec.convert(result.explanation, Explanation)
        words = (
            "Each line comes from an additional solve, with the job required or the rule dropped."
        )
        tables = tuple(table.without_empty_columns() for table in explanation_tables(why))
        yield Section(
            "Why jobs are left out, and what rules cost", words=words, tables=tables, terms=PRICES
        )
