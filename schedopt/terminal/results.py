"""One result in full, or several beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from rich.table import Table

from schedopt.formats import counted, duration, number, percent
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem, problem_of
from schedopt.problems.summary import (
    CAUTION,
    Column,
    Explanation,
    Replanned,
    ShownTable,
    cell,
    explained,
)
from schedopt.solvers.result import Result
from schedopt.terminal.console import out, say, show, text

if TYPE_CHECKING:
    from schedopt.verbs.plan import NightPlan

STYLES = {"optimal": "green", "feasible": "yellow", "none": "red"}

MOST = 40  # violations that are printed; --json has them all
DROPPED = 20  # what is left out and printed; a plan has it all
CHANGED = 40  # changes that are printed
ROWS = 100  # of a table, the last of which may be a sum; who needs more wants a file


def result(instance: AnyInstance, document: Result) -> None:
    """Show one result: status, proof, the problem's details, and violations."""
    record = problem(document.problem)
    more = ((*line, "") for line in record.lines(instance, document))
    grid = Table.grid(padding=(0, 2))
    for name, words, style in sorted(
        [*_outcome(document, record.goal(instance)), *more], key=lambda line: line[0] != CAUTION
    ):
        grid.add_row(text(name, "bold"), text(words, "yellow" if name == CAUTION else style))
    out.print(grid)
    for shown in record.tables(instance, document):
        out.print()
        between = len(shown.rows) - ROWS
        few = shown.rows if between <= 0 else (*shown.rows[: ROWS - 1], shown.rows[-1])
        show(msgspec.structs.replace(shown, rows=few).filled())
        if between > 0:
            say(f"... and {counted(between, 'row')} before the last; --json has all")
    dropped = record.dropped(instance, document)
    if document.explanation:
        for shown in explained(msgspec.convert(document.explanation, Explanation)):
            out.print()
            show(shown.filled())
    elif dropped is not None:
        out.print()
        show(msgspec.structs.replace(dropped, rows=dropped.rows[:DROPPED]).filled())
        if len(dropped.rows) > DROPPED:
            say("... and more; --output plan.csv has all")
    if document.conflict:
        say("these side constraints cannot hold together:", "red")
        for name in document.conflict:
            say(f"  {name}")
    for violation in document.violations[:MOST]:
        say(f"violation: {violation}", "red")
    if len(document.violations) > MOST:
        say(f"... and {counted(len(document.violations) - MOST, 'violation')} more; --json has all")
    if document.message:
        say(f"note: {document.message}", "yellow")


def _outcome(document: Result, goal: str) -> list[tuple[str, str, str]]:
    """Return the facts of every result, each with the style of its value."""
    who = document.policy or f"{document.formulation}: {document.credit}"
    ended = f"{document.solution_status} ({document.termination})"
    sure = f"   ± {number(document.confidence)} (95%)" if document.confidence else ""
    took = document.seconds
    times = f"build {duration(took.build)}, solve {duration(took.solve)}"
    if took.compile:
        times = f"compile {duration(took.compile)} (once), {times}"
    of = " of the objective" if document.gap else ""
    bound = ("bound", f"{number(document.bound)}   gap {percent(document.gap)}{of}", "")
    return [
        ("instance", f"{document.instance} ({document.problem})", ""),
        ("policy" if document.policy else "solved as", str(who), ""),
        ("outcome", ended, STYLES[document.solution_status]),
        ("objective", f"{number(document.objective)}{sure}   {goal}", ""),
        *([bound] if document.solver or document.bound is not None else []),
        ("time", f"{times}, check {duration(took.check)}", ""),
    ]


def planned(made: NightPlan) -> None:
    """Show a plan: how good it is, what runs when, and what is left out and why."""
    style = STYLES["optimal" if made.result.proven else made.result.solution_status]
    say(made.line, style)
    if made.result.violations:
        result(made.instance, made.result)
    titles = [column.title for column in made.columns]
    hidden = {"run", "reason", "rank", "late"}
    hidden |= {"start", "end"} if "start_time" in titles else set()
    columns = [column for column in made.columns if column.title not in hidden]
    order = sorted((row["rank"] or 0, n) for n, row in enumerate(made.rows) if row["run"])
    rows = [tuple(_by_clock(column, n) for column in columns) for _, n in order]
    if rows:
        heads = tuple(column.title.removesuffix("_time") for column in columns)
        out.print()
        show(ShownTable(title="", heads=heads, rows=tuple(rows[:ROWS])).filled())
        if len(rows) > ROWS:
            say(f"... and {counted(len(rows) - ROWS, 'job')} more; --output plan.csv has all")
    dropped = problem_of(made.instance).dropped(made.instance, made.result)
    if dropped is not None and rows:
        out.print()
        show(msgspec.structs.replace(dropped, rows=dropped.rows[:DROPPED]).filled())


def _by_clock(column: Column, n: int) -> str:
    """Return a cell; of a time its hours and minutes, and seconds where there are some."""
    value = cell(column.cells[n])
    return value[11:19].removesuffix(":00") if column.title.endswith("_time") else value


def replanned(made: Replanned) -> None:
    """Show the result on the rest of a night, and what became of each job."""
    result(made.rest, made.result)
    count = Counter(change.change for change in made.changes)
    out.print()
    say(", ".join(f"{count[what]:,} {what}" for what in ("kept", "moved", "added", "dropped")))
    rows = tuple(
        (
            change.job,
            change.change,
            change.was_time or ("" if change.was is None else number(change.was)),
            change.now_time or ("" if change.now is None else number(change.now)),
            change.why,
        )
        for change in made.changes
        if change.change != "kept"
    )
    if rows:
        heads = ("job", "change", "was to start", "starts", "why")
        show(ShownTable(title="", heads=heads, rows=rows[:CHANGED]).filled())
    if len(rows) > CHANGED:
        say("... and more; --output new.csv has all")


def results(instance: AnyInstance, documents: Sequence[Result]) -> None:
    """Show several policies on one instance, or one of them in full."""
    if len(documents) == 1:
        result(instance, documents[0])
        return
    record = problem(documents[0].problem)
    sampled = any(document.confidence is not msgspec.UNSET for document in documents)
    rows = tuple(
        (
            str(document.policy or document.formulation),
            number(document.objective),
            *([_sure(document)] if sampled else []),
            record.done(instance, document),
            duration(document.seconds.solve),
            "; ".join(document.violations)
            if document.solution is not None
            else f"{document.termination}: {document.message}",
        )
        for document in documents
    )
    heads = ("policy", "objective", *(["± (95%)"] if sampled else []), "done", "time")
    heads = (*heads, "violated side constraints")
    title = f"{instance.name}: {record.goal(instance)}"
    show(ShownTable(title=title, heads=heads, rows=rows).filled())


def _sure(document: Result) -> str:
    if document.confidence is msgspec.UNSET:
        return "" if document.objective is None else "exact"
    return number(document.confidence) if document.confidence else "too short a run"
