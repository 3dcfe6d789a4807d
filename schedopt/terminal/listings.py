"""Listings of contents, findings of the doctor, reproductions and the archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from json import dumps
from typing import TYPE_CHECKING, Any

import msgspec

from schedopt import tables as column
from schedopt.formats import duration
from schedopt.tables import Table
from schedopt.terminal import out, say, show, text

if TYPE_CHECKING:
    from schedopt.archive import Verdict
    from schedopt.verbs.explain import Entry, Explained

Document = Mapping[str, Any]
VERDICTS = {True: "holds", False: "differs", None: "cannot be judged"}
STYLES = {True: "green", False: "red", None: ""}


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
        show(Table.of("", heads, rows), [STYLES[claim["holds"]] for claim in claims])
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
