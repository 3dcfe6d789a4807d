"""Listings: contents, the doctor's findings, reproductions, the archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Any

from rich.table import Table as Grid
from rich.text import Text

from schedopt import tables as column
from schedopt.formats import duration
from schedopt.instances.errors import printable
from schedopt.tables import Table
from schedopt.terminal.console import out, say, show, text

if TYPE_CHECKING:
    from schedopt.archive.judging import Verdict
    from schedopt.verbs.doctor import Finding
    from schedopt.verbs.explain import Explained

Told = Mapping[str, Any]  # an entry, as a document says it

VERDICTS = {True: "holds", False: "differs", None: "cannot be judged"}
STYLES = {True: "green", False: "red", None: ""}


def contents(sections: Mapping[str, Sequence[Told]]) -> None:
    """Show the contents section by section: names, and below each its description."""
    shown = Text()
    for title, entries in sections.items():
        shown.append(f"{printable(title)}\n", "bold")
        for entry in entries:
            of = f"{printable(entry['problem'])}  " if "problem" in entry else ""
            shown.append(f"  {of}")
            shown.append(f"{printable(entry['name'])}\n", "bold")
            for key, value in entry.items():
                if key not in ("problem", "name") and value:
                    words = value if isinstance(value, list) else [str(value)]
                    shown.append("".join(f"      {line}\n" for line in _wrapped(words, key)))
    out.print(shown, end="", soft_wrap=True)


def overview(sections: Mapping[str, Sequence[Told]]) -> None:
    """Show an overview that fits a screen: the names of each section by problem."""
    shown, room = Text(), max(40, out.width - 2)
    for title, entries in sections.items():
        named: dict[str, list[str]] = {}
        for entry in entries:
            of, name = entry.get("problem", ""), entry["name"].split(" ")[-1]  # of an engine's
            if title == "problems":
                of, name = name, entry["summary"]
            if name not in (names := named.setdefault(of, [])):
                names.append(name)
        shown.append(printable(title), "bold")
        shown.append(f"  {len(entries)}: schedopt list {printable(title)}\n", "dim")
        for of, names in named.items() if title != "reproductions" else ():
            words = printable(f"{of}: {', '.join(names)}" if of else ", ".join(names))
            shown.append(f"  {shorten(words, room, placeholder=' ...', break_on_hyphens=False)}\n")
    out.print(shown, end="", soft_wrap=True)
    say("`schedopt list SECTION` says what each is, `schedopt explain NAME` all of one")


def _wrapped(words: Sequence[str], key: str) -> Iterator[str]:
    """Yield an entry's wrapped lines for one key; a summary's need no heading."""
    for word in words:
        said = word if key in ("summary", "takes") else f"{key.removesuffix('s')}: {word}"
        yield from wrap(printable(said), max(40, out.width - 6))


MARKS = {True: text("works", "green"), False: text("FAILS", "red"), None: text("absent", "dim")}


def doctor(findings: Sequence[Finding]) -> None:
    """Show what the doctor found."""
    grid = Grid.grid(padding=(0, 2))
    for finding in findings:
        mark = MARKS[finding.ok]
        grid.add_row(text(finding.name), mark, text(finding.detail))
    out.print(grid)


def reproductions(found: Sequence[Told]) -> None:
    """Show reproductions: each claim, the paper's numbers, ours, and the verdict."""
    for entry in found:
        out.print()
        say(f"{entry['name']}: {entry['title']}", "bold")
        say(f"{entry['source']}. {entry['workload']}")
        shown = Grid("claim", "paper", "here", "verdict")
        for claim in entry["claims"]:
            cells = (text(claim[key]) for key in ("says", "paper", "ours"))
            shown.add_row(*cells, text(VERDICTS[claim["holds"]], STYLES[claim["holds"]]))
        out.print(shown)
        plot = f"; plot in {entry['plot']}" if entry["plot"] else ""
        say(f"{duration(entry['seconds'])}{plot}")


def ledger(found: Sequence[Told]) -> None:
    """Show all entries of the ledger, a line for each, with the recorded verdict."""
    columns = (
        *map(column.text, ("entry", "title")),
        column.count("claims"),
        column.text("verdict"),
    )
    rows = ((of["name"], of["title"], len(of["claims"]), of["verdict"]) for of in found)
    show(Table.of("", columns, rows))
    say("as last recorded, in full; run an entry again by its name, or `all`")


def explained(entries: Sequence[Explained]) -> None:
    """Show the explanation of each name."""
    for i, entry in enumerate(entries):
        if i:
            out.print()
        _entry(entry)


def _entry(entry: Explained) -> None:
    of = "" if entry.what == "problem" else ", ".join(entry.problems)
    head = Text.assemble((entry.name, "bold"), f": a {entry.what}{of and f' of {of}'}")
    out.print(head)
    say(entry.definition)
    if entry.source:
        say(f"source: {entry.source}")
    _fields("fields", entry.fields)
    _fields("options", entry.options)
    _engines(entry.engines)
    for head_of, code in (
        ("example", _json(entry.example)),
        ("in Python", entry.python),
        ("use", entry.use),
    ):
        if code:
            say(head_of, "bold")
            out.print(text(f"  {code}"), soft_wrap=True)


def _fields(title: str, fields: Sequence[Told]) -> None:
    if not fields:
        return
    say(title, "bold")
    grid = Grid.grid(padding=(0, 2))
    for field in fields:
        grid.add_row(
            text(f"  {field['name']}", "cyan"),
            text(_requirement(field)),
            text("; ".join(filter(None, (field["takes"], field.get("says", ""))))),
        )
    out.print(grid)


def _engines(engines: Sequence[Told]) -> None:
    if not engines:
        return
    say("engines: the first that accepts, answers", "bold")
    heads = ("engine", "accepts", "proves", "certificate", "confirmed by")
    keys = ("name", "accepts", "proves", "certificate", "confirmed_by")
    rows = ([engine[key] for key in keys] for engine in engines)
    show(Table.of("", map(column.text, heads), rows))


def _requirement(field: Told) -> str:
    """Return whether a field is required, or its default."""
    if field.get("required"):
        return "required"
    default = field.get("default")
    return "optional" if default in (None, {}, [], ()) else f"default {_json(default)}"


def _json(value: Any) -> str:
    return "" if value is None else dumps(value, ensure_ascii=False)


def archive_groups(found: Sequence[Told]) -> None:
    """Show the groups."""
    columns = (
        *map(column.text, ("group", "what")),
        *map(column.count, ("instances", "proven", "re-proved", "open")),
        column.percent("widest gap"),
    )
    fields = ("group", "title", "instances", "proven", "certified", "open", "widest_gap")
    show(Table.of("", columns, ([entry[key] for key in fields] for entry in found)))
    keys = ("instances", "proven", "believed", "open")
    every, proven, believed, still = (sum(entry[key] for entry in found) for key in keys)
    sure = f" ({believed} of them believed, without a certificate)" if believed else ""
    say(f"{every} instances: {proven} proven{sure}, {still} open")


def archive_entries(found: Told) -> None:
    """Show what is known of a group or of an instance."""
    if "entries" not in found:
        for key, value in found.items():
            say(f"{key}: {value}")
        return
    say(f"{found['name']} {found['version']}: {found['title']}", "bold")
    say(f"source: {found['source']}; licence: {found['licence']}")
    columns = (
        *map(column.text, ("instance", "status")),
        *map(column.number, ("best known", "bound")),
        column.percent("gap"),
        *map(column.text, ("bound re-proved from", "by", "on")),
    )
    rows = (
        (
            *(entry["name"], entry["status"], entry["objective"], entry["bound"]),
            "unknown" if entry["gap"] is None else entry["gap"],
            entry["certificate"] or "believed",
            entry["objective_by"]["by"],
            entry["objective_by"]["date"],
        )
        for entry in found["entries"]
    )
    show(Table.of("", columns, rows))


def archive_verdicts(found: Sequence[Verdict]) -> None:
    """Show what became of each entry that does not hold, and how many hold."""
    for verdict in found:
        for line in verdict.wrong:
            say(f"{verdict.group}/{verdict.name}: {line}", "red")
    sound = [verdict for verdict in found if not verdict.wrong]
    reproved = sum(verdict.bound == "re-proved" for verdict in sound)
    of = Counter(verdict.status for verdict in sound)
    believed = f"{of['believed']} believed to be optimal, " if of["believed"] else ""
    say(
        f"{len(sound)} of {len(found)} entries hold: {of['proven']} proven, {believed}"
        f"{of['open']} open; {reproved} bounds re-proved, the others believed"
    )
