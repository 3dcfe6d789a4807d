"""What is said of a side constraint, a policy, a formulation or a generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from schedopt.problems.shown import ShownTable
from schedopt.terminal.console import out, say, table, text
from schedopt.verbs.explain import Explained


def explained(entries: Sequence[Explained]) -> None:
    """Show each thing that bears a name."""
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


def _fields(title: str, fields: Sequence[dict[str, Any]]) -> None:
    if not fields:
        return
    say(title, "bold")
    grid = Table.grid(padding=(0, 2))
    for field in fields:
        grid.add_row(
            text(f"  {field['name']}", "cyan"),
            text(_when(field)),
            text("; ".join(filter(None, (field["takes"], field.get("says", ""))))),
        )
    out.print(grid)


def _engines(engines: Sequence[dict[str, Any]]) -> None:
    """Show the table of engines, in the order in which they are asked."""
    if not engines:
        return
    say("engines: the first that accepts, answers", "bold")
    heads = ("engine", "accepts", "proves", "certificate", "confirmed by")
    keys = ("name", "accepts", "proves", "certificate", "confirmed_by")
    rows = tuple(tuple(str(engine[key] or "") for key in keys) for engine in engines)
    out.print(table(ShownTable(title="", heads=heads, rows=rows)))


def _when(field: dict[str, Any]) -> str:
    """Say whether a field has to be there, or what holds where it is not."""
    if field.get("required"):
        return "required"
    default = field.get("default")
    return "optional" if default in (None, {}, [], ()) else f"default {_json(default)}"


def _json(value: Any) -> str:
    from json import dumps

    return "" if value is None else dumps(value, ensure_ascii=False)
