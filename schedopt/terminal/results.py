"""Results, plans, summaries of benches, listings and the archive on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from json import dumps
from typing import TYPE_CHECKING, Any

import msgspec
from rich.table import Table as Grid

from schedopt import tables as column
from schedopt.analysis import statistics, tables
from schedopt.formats import count_of, duration, number
from schedopt.instances.protocol import AnyInstance
from schedopt.instances.times import SECONDS
from schedopt.planning.carried_out import COLUMNS
from schedopt.problems import problem, problem_of
from schedopt.problems.summary import CAUTION, Explanation, Plan, changes_table, explanation_tables
from schedopt.solvers.result import Result
from schedopt.sweep.rows import BenchRow
from schedopt.tables import Table, Value
from schedopt.terminal import out, say, show, text

if TYPE_CHECKING:
    from schedopt.archive import Verdict
    from schedopt.planning.carried_out import CarriedOut
    from schedopt.verbs.explain import Entry, Explained
    from schedopt.verbs.plan import NightPlan
    from schedopt.verbs.replan import Replanned

Document = Mapping[str, Any]
STYLES = {"optimal": "green", "feasible": "yellow", "none": "red"}


ROWS = 100  # rows of a table that are printed; ``--json`` and files have all of them
LINES = 40  # violations, jobs that are left out, or changes that are printed


def result(instance: AnyInstance, document: Result) -> None:
    """Print one result: status, bound, the details of its problem, and violations."""
    record = problem(document.problem)
    more = ((*line, "") for line in record.lines(instance, document))
    grid = Grid.grid(padding=(0, 2))
    for name, words, style in sorted(
        [*_outcome(document, record.goal(instance)), *more], key=lambda line: line[0] != CAUTION
    ):
        grid.add_row(text(name, "bold"), text(words, "yellow" if name == CAUTION else style))
    out.print(grid)
    for shown in record.tables(instance, document):
        _show_some_rows(shown, ROWS, "--json")
    dropped = record.dropped(instance, document)
    if document.explanation:
        for shown in explanation_tables(msgspec.convert(document.explanation, Explanation)):
            _show_some_rows(shown, len(shown.rows), "--json")
    elif dropped is not None:
        _show_some_rows(dropped, LINES, "--json")
    if document.conflict:
        say("these side constraints cannot hold together:", "red")
        for name in document.conflict:
            say(f"  {name}")
    for violation in document.violations[:LINES]:
        say(f"violation: {violation}", "red")
    if (beyond := len(document.violations) - LINES) > 0:
        say(f"... and {count_of(beyond, 'violation')} more; --json has all")
    if document.message:
        say(f"note: {document.message}", "yellow")


def _show_some_rows(shown: Table, most: int, file: str) -> None:
    """Print the first rows of a table and the last one, which may be a sum.

    ``file`` is the flag that gives all rows.
    """
    between = len(shown.rows) - most
    out.print()
    if between > 0:
        shown = Table(shown.title, shown.columns, (*shown.rows[: most - 1], shown.rows[-1]))
    show(shown)
    if between > 0:
        say(f"... and {between} more {'row' if between == 1 else 'rows'}; {file} has all")


def _outcome(document: Result, goal: str) -> list[tuple[str, str, str]]:
    """Return the lines of every result: name, value, and style of the value."""
    who = document.policy or f"{document.formulation}: {document.credit}"
    ended = f"{document.solution_status} ({document.termination})"
    sure = f"   ± {number(document.confidence)} (95%)" if document.confidence else ""
    took = document.seconds
    times = f"build {duration(took.build)}, solve {duration(took.solve)}"
    if took.compile:
        times = f"compile {duration(took.compile)} (once), {times}"
    far = problem(document.problem).gap_in_words(document)
    bound = ("bound", f"{number(document.bound)}   {far}", "")
    return [
        ("instance", f"{document.instance} ({document.problem})", ""),
        ("policy" if document.policy else "solved as", str(who), ""),
        ("outcome", ended, STYLES[document.solution_status]),
        ("objective", f"{number(document.objective)}{sure}   {goal}", ""),
        *([bound] if document.solver or document.bound is not None else []),
        ("time", f"{times}, check {duration(took.check)}", ""),
    ]


def planned(plan: NightPlan) -> None:
    """Print a plan: its quality, the start of each job, and why jobs are left out."""
    style = STYLES["optimal" if plan.result.proven else plan.result.solution_status]
    say(plan.line, style)
    if plan.result.violations:
        result(plan.instance, plan.result)
    runs = sorted((row for row in plan.rows if row["run"]), key=lambda row: row["rank"] or 0)
    if runs:
        late = any(row["late"] for row in runs)
        hidden = {"run", "reason", "rank", *(() if late else ("late",))}
        kept = [title for title in runs[0] if title not in hidden]
        table = Plan(kept, runs).table(SECONDS[getattr(plan.instance, "unit", "s")])
        _show_some_rows(replace(table, title=""), ROWS, "--output plan.csv")
    dropped = problem_of(plan.instance).dropped(plan.instance, plan.result)
    told = msgspec.convert(plan.result.explanation or None, Explanation | None)
    if dropped is not None and not (told and told.left_out):
        _show_some_rows(dropped, LINES, "--output plan.csv")
    for shown in explanation_tables(told) if told else ():
        _show_some_rows(shown, len(shown.rows), "--json")


def carried_out(report: CarriedOut) -> None:
    """Print the planned and real times of each job of a plan that was carried out."""
    say(report.line(), "yellow" if report.late else "green")
    second = SECONDS[report.night.unit]
    heads = [
        (column.text if n < 6 else column.number)(title.removesuffix("_time").replace("_", " "))
        for n, title in enumerate(COLUMNS)
    ]
    cells = ([_as_shown(title, row[title], second) for title in COLUMNS] for row in report.rows())
    _show_some_rows(Table.of("", heads, cells), ROWS, "--output night.csv")


def _as_shown(title: str, value: Value, second: float) -> Value:
    """Return a formatted cell of a report: clock times, and durations with their unit."""
    if title.endswith("_time") and isinstance(value, str):
        return value[11:19].removesuffix(":00")
    if title in ("late", "overhead") and isinstance(value, float):
        return duration(value * second)
    return value


def replanned(plan: Replanned) -> None:
    """Print a plan of the rest of a night, and the changes from the plan before."""
    planned(plan)
    if not plan.changes:
        return
    out.print()
    say(plan.tally)
    changed = changes_table(plan.changes)
    if changed.rows:
        _show_some_rows(replace(changed, title=""), LINES, "--output new.csv")


def results(instance: AnyInstance, documents: Sequence[Result]) -> None:
    """Print several policies on one instance as a table, or one policy in full."""
    if len(documents) == 1:
        result(instance, documents[0])
        return
    record = problem(documents[0].problem)
    sampled = any(document.confidence is not msgspec.UNSET for document in documents)
    columns = (
        column.text("policy"),
        column.number("objective"),
        column.number("± (95%)"),
        column.text("done"),
        column.duration("time"),
        column.text("violated side constraints"),
    )
    rows = (
        (
            str(document.policy or document.formulation),
            "unknown" if document.objective is None else document.objective,
            _half_width(document) if sampled else None,
            record.done(instance, document),
            document.seconds.solve,
            "; ".join(document.violations)
            if document.solution is not None
            else f"{document.termination}: {document.message}",
        )
        for document in documents
    )
    show(Table.of(f"{instance.name}: {record.goal(instance)}", columns, rows))


def _half_width(document: Result) -> Value:
    if document.confidence is msgspec.UNSET:
        return None if document.objective is None else "exact"
    return document.confidence or "too short a run"


def summary(rows: Sequence[BenchRow], pairs: Sequence[statistics.Pair] | None = None) -> None:
    """Print the gaps of policies, and comparisons of pairs."""
    measured = list(tables.measured_tables(rows))
    for table in measured:
        show(table)
    ranked = statistics.summary(rows)
    for what, table in tables.standings(ranked, statistics.overview(rows)):
        own = [row for row in rows if row.problem == what.problem]
        without = any(row.gap is None for row in own)
        if not measured or what.instances > 1 or without:  # of one log there is nothing to average
            show(table)
        if without:
            say("no gap: runs that are left out of the means, with the reason")
        if short := sum(row.sampled and not row.confidence for row in own):
            say(f"{count_of(short, 'run')} too short for a confidence interval: simulate more")
        say(f"solving the references took {duration(what.reference_seconds)}")
    if pairs:
        show(tables.pairs(pairs))
        say("if the interval contains 0, these instances do not show which is better on average")


# Listings, findings of the doctor, reproductions and the archive.

VERDICTS = {True: "holds", False: "differs", None: "cannot be judged"}
CLAIMS = {True: "green", False: "red", None: ""}


def records(title: str, rows: Iterable[Any], keys: Iterable[str] = ()) -> None:
    """Print records as a table: of these keys, or of all; lists are joined by commas."""
    documents: list[Document] = msgspec.to_builtins(list(rows))
    heads = list(keys) or list(dict.fromkeys(key for row in documents for key in row))
    cells = [[_cell(row.get(head)) for head in heads] for row in documents]
    numbers = [any(isinstance(row[i], int | float) for row in cells) for i in range(len(heads))]
    columns = [
        column.number(head) if number else column.text(head)
        for head, number in zip(heads, numbers, strict=True)
    ]
    show(Table.of(title, columns, cells))


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def contents(sections: Mapping[str, Sequence[Entry]]) -> None:
    """Print sections in full, with a line for each entry."""
    for title, entries in sections.items():
        records(title, entries)


def overview(sections: Mapping[str, Sequence[Entry]]) -> None:
    """Print the names of each section by problem."""
    for title, entries in sections.items():
        say(f"{title}: {len(entries)}", "bold")
        named: dict[str, list[str]] = {}
        for entry in entries:
            named.setdefault(entry.get("problem", ""), []).append(entry["name"].split(" ")[-1])
        for of, names in named.items() if title != "reproductions" else ():
            say(f"  {of}: {', '.join(dict.fromkeys(names))}".replace("  : ", "  "))
    say("`schedopt list SECTION` describes each entry; `schedopt explain NAME` explains one")


def reproductions(entries: Sequence[Document]) -> None:
    """Print reproductions: each claim, the paper's numbers, ours, and the verdict."""
    heads = [*map(column.text, ("claim", "paper", "here", "verdict"))]
    for entry in entries:
        out.print()
        say(f"{entry['name']}: {entry['title']}", "bold")
        say(f"{entry['source']}. {entry['workload']}")
        claims = entry["claims"]
        rows = ((of["says"], of["paper"], of["ours"], VERDICTS[of["holds"]]) for of in claims)
        show(Table.of("", heads, rows), [CLAIMS[claim["holds"]] for claim in claims])
        plot = f"; plot in {entry['plot']}" if entry["plot"] else ""
        say(f"{duration(entry['seconds'])}{plot}")


def ledger(entries: Sequence[Document]) -> None:
    """Print all reproductions with their recorded verdicts."""
    records("", entries, ("name", "title", "verdict"))
    say("as last recorded; `schedopt reproduce NAME` runs an entry again, `all` runs all of them")


def show_explanations(entries: Sequence[Explained]) -> None:
    """Print the explanation of each name."""
    for entry in entries:
        out.print(text(entry.name, "bold") + f": a {entry.what} of {', '.join(entry.problems)}")
        for line in entry.definition.splitlines():
            say(line)
        if entry.source:
            say(f"source: {entry.source}")
        for title, fields in (("fields", entry.fields), ("options", entry.options)):
            if fields:
                heads = map(column.text, ("name", "required", "takes"))
                show(Table.of(title, heads, map(_field, fields)))
        if entry.columns:
            records("", entry.columns, ("field", "example", "unit", "without"))
        if entry.engines:
            keys = ("name", "accepts", "proves", "certificate", "confirmed_by")
            records("engines, in the order in which they are tried", entry.engines, keys)
        for title, code in (("example", _json(entry.example)), ("in Python", entry.python)):
            if code:
                say(title, "bold")
                out.print(text(f"  {code}"), soft_wrap=True)


def _field(field: Document) -> tuple[str, str, str]:
    """Return the name of a field, its default or that it is required, and its type."""
    default = field.get("default")
    need = "optional" if default in (None, {}, [], ()) else f"default {_json(default)}"
    says = field.get("says", "")
    takes = f"{field['takes']}. {says}" if says else field["takes"]
    return field["name"], "required" if field.get("required") else need, takes


def _json(value: Any) -> str:
    return "" if value is None else dumps(value, ensure_ascii=False)


def archive_groups(groups: Sequence[Document]) -> None:
    """Print the groups of the archive, and the numbers of instances and proofs."""
    records("", groups, ("group", "title", "instances", "proven", "certified", "open"))
    keys = ("instances", "proven", "confirmed", "believed", "open")
    sums = {key: sum(entry[key] for entry in groups) for key in keys}
    say(
        "{instances} instances: {proven} proven (without a certificate: {confirmed} confirmed by a "
        "second engine, {believed} believed), {open} open".format_map(sums)
    )


def archive_entries(entries: Document) -> None:
    """Print the entries of a group, or one instance."""
    if "entries" not in entries:
        for key, value in entries.items():
            say(f"{key}: {value}")
        return
    say(f"{entries['name']} {entries['version']}: {entries['title']}", "bold")
    say(f"source: {entries['source']}; licence: {entries['licence']}")
    keys = ("name", "status", "objective", "bound", "gap", "certificate", "confirmed_by")
    records("", entries["entries"], keys)


def archive_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Print the entries that fail verification, and the number of verified entries."""
    for verdict in verdicts:
        for line in verdict.wrong:
            say(f"{verdict.group}/{verdict.name}: {line}", "red")
    sound = [verdict for verdict in verdicts if not verdict.wrong]
    reproved = sum(verdict.bound == "re-proved" for verdict in sound)
    counts = Counter(verdict.status for verdict in sound)
    words = {"confirmed": "confirmed by a second engine", "believed": "believed to be optimal"}
    status = ", ".join(f"{n} {words.get(what, what)}" for what, n in counts.items())
    say(f"{len(sound)} of {len(verdicts)} entries hold: {status}; {reproved} bounds re-proved")
