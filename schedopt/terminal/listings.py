"""Listings of contents, findings of the doctor, reproductions and the archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from json import dumps
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from rich.text import Text

from schedopt import tables as column
from schedopt.formats import duration
from schedopt.instances.errors import printable
from schedopt.tables import Column, Table, Value
from schedopt.terminal import out, say, show, text

if TYPE_CHECKING:
    from schedopt.archive import Verdict
    from schedopt.verbs.doctor import Finding
    from schedopt.verbs.explain import Entry, Explained

Document = Mapping[str, Any]

VERDICTS = {True: "holds", False: "differs", None: "cannot be judged"}
STYLES = {True: "green", False: "red", None: ""}
MARKS = {True: "works", False: "FAILS", None: "absent"}


def _list(title: str, heads: Iterable[str | Column], rows: Iterable[Iterable[Value]]) -> Table:
    """Return a table; columns that are only a heading hold texts."""
    columns = (head if isinstance(head, Column) else column.text(head) for head in heads)
    return Table.of(title, columns, rows)


def contents(sections: Mapping[str, Sequence[Entry]]) -> None:
    """Print sections in full, with a line for each entry."""
    for title, entries in sections.items():
        heads = dict.fromkeys(key for entry in entries for key in entry)
        show(_list(title, heads, ([entry.get(head) for head in heads] for entry in entries)))


def overview(sections: Mapping[str, Sequence[Entry]]) -> None:
    """Print an overview of one screen: the names of each section by problem."""
    shown, room = Text(), max(40, out.width - 2)
    for title, entries in sections.items():
        named: dict[str, dict[str, None]] = {}
        for entry in entries:
            of, name = entry.get("problem", ""), entry["name"].split(" ")[-1]  # of an engine's
            if title == "problems":
                of, name = name, entry["summary"]
            named.setdefault(of, {})[name] = None
        shown.append(printable(title), "bold")
        shown.append(f"  {len(entries)}: schedopt list {printable(title)}\n", "dim")
        for of, names in named.items() if title != "reproductions" else ():
            words = printable(f"{of}: {', '.join(names)}" if of else ", ".join(names))
            shown.append(f"  {shorten(words, room, placeholder=' ...', break_on_hyphens=False)}\n")
    out.print(shown, end="", soft_wrap=True)
    say("`schedopt list SECTION` describes each entry; `schedopt explain NAME` explains one")


def doctor(findings: Sequence[Finding]) -> None:
    """Print the findings of the doctor."""
    rows = ((finding.name, MARKS[finding.ok], finding.detail) for finding in findings)
    show(_list("", ("what", "state", "detail"), rows), [STYLES[one.ok] for one in findings])


def reproductions(entries: Sequence[Document]) -> None:
    """Print reproductions: each claim, the paper's numbers, ours, and the verdict."""
    for entry in entries:
        out.print()
        say(f"{entry['name']}: {entry['title']}", "bold")
        say(f"{entry['source']}. {entry['workload']}")
        claims = entry["claims"]
        rows = (
            (claim["says"], claim["paper"], claim["ours"], VERDICTS[claim["holds"]])
            for claim in claims
        )
        styles = [STYLES[claim["holds"]] for claim in claims]
        show(_list("", ("claim", "paper", "here", "verdict"), rows), styles)
        plot = f"; plot in {entry['plot']}" if entry["plot"] else ""
        say(f"{duration(entry['seconds'])}{plot}")


def ledger(entries: Sequence[Document]) -> None:
    """Print all reproductions with their recorded verdicts."""
    heads = ("entry", "title", column.count("claims"), "verdict")
    rows = ((of["name"], of["title"], len(of["claims"]), of["verdict"]) for of in entries)
    show(_list("", heads, rows))
    say("as last recorded; `schedopt reproduce NAME` runs an entry again, `all` runs all of them")


def show_explanations(entries: Sequence[Explained]) -> None:
    """Print the explanation of each name."""
    for i, entry in enumerate(entries):
        if i:
            out.print()
        out.print(text(entry.name, "bold") + f": a {entry.what} of {', '.join(entry.problems)}")
        for line in entry.definition.splitlines():
            say(line)
        if entry.source:
            say(f"source: {entry.source}")
        for title, fields in (("fields", entry.fields), ("options", entry.options)):
            if fields:
                show(_list(title, ("name", "required", "takes"), map(_field, fields)))
        if entry.columns:
            heads = ("field", "example", "unit", "without")
            show(_list("", heads, ([column[head] for head in heads] for column in entry.columns)))
        if entry.engines:
            title = "engines, in the order in which they are tried"
            keys = ("name", "accepts", "proves", "certificate", "confirmed_by")
            engines: Iterable[Document] = entry.engines
            show(_list(title, keys, ([engine[key] for key in keys] for engine in engines)))
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
    """Print the groups of the archive."""
    counts = map(column.count, ("instances", "proven", "re-proved", "open"))
    fields = ("group", "title", "instances", "proven", "certified", "open", "widest_gap")
    rows = ([entry[key] for key in fields] for entry in groups)
    show(_list("", ("group", "what", *counts, column.percent("widest gap")), rows))
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
    numbers = column.number("best known"), column.number("bound"), column.percent("gap")
    heads = ("instance", "status", *numbers, "certificate", "confirmed by", "by", "on")
    fields = ("name", "status", "objective", "bound", "gap", "certificate", "confirmed_by")
    rows = (
        [*map(entry.get, fields), *map(entry["objective_by"].get, ("by", "date"))]
        for entry in entries["entries"]
    )
    show(_list("", heads, rows))


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
