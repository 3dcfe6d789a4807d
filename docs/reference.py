"""The reference, written from the code each time the site is built (``make docs``)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "_reference"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; empty if it has no rows."""
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for row in rows:
        cells = (cell.replace("|", "\\|").replace("\n", " ") for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n\n" if len(lines) > 2 else ""


def code(value: object) -> str:
    """Return a value as code, nothing for none."""
    return "" if value in (None, "", [], {}, ()) else f"`{json.dumps(value, ensure_ascii=False)}`"


def plain(text: str) -> str:
    """Return words of a docstring as Markdown."""
    words = text.replace("``", "`").replace("<", "&lt;").replace("*", "\\*")
    return words.replace("{", "\\{") if "`" not in words else words


def options(known: Iterable[Any]) -> str:
    """Return a table of fields or options, as `schedopt explain` describes them."""
    rows = (
        (
            *(f"`{of['name']}`", plain(of["takes"])),
            "required" if of.get("required") else code(of["default"]),
            plain(of.get("says", "")),
        )
        for of in known
    )
    return table(("name", "type", "default", "meaning"), rows)


def command_line() -> str:
    """Return every verb with its arguments and options, as its ``--help`` has them."""
    from click import Context
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from schedopt.cli import app

    command = get_command(app)
    text = get_docs_for_click(obj=command, ctx=Context(command), name="schedopt")
    return (
        "# The command line\n\nWritten from the code by `make docs`; `--help` prints the same. "
        "Results go to standard output, messages and progress to standard error. An "
        "instance is a path, `example:NAME` (see `schedopt list examples`) or "
        "`archive:GROUP/NAME`.\n\nExit status: 0 found, or the check passed; 1 the check failed or "
        "a claim did not hold; 2 bad input; 3 proven infeasible; 4 stopped without a solution; "
        "130 interrupted.\n\nCompletion of verbs and options: `schedopt --install-completion`.\n\n"
    ) + text[text.index("## ") :]


def records(record: Any, title: str = "") -> str:
    """Return a section on a record and on each record within it, side constraints apart."""
    from msgspec import inspect

    from schedopt.instances.constraints import Constraint
    from schedopt.instances.schema import docstring_of
    from schedopt.verbs.explain import fields_of

    found: dict[Any, None] = {}

    def visit(info: Any) -> None:
        if isinstance(info, inspect.StructType):
            if info.cls in found or (found and issubclass(info.cls, Constraint)):
                return
            found[info.cls] = None
            for field in info.fields:
                visit(field.type)
        for part in ("item_type", "value_type", "type"):
            if hasattr(info, part):
                visit(getattr(info, part))
        for part in ("types", "item_types"):
            for inner in getattr(info, part, ()):
                visit(inner)

    visit(inspect.type_info(record))
    text = ""
    for each in found:
        tag = each.__struct_config__.tag
        name = f"`{tag}`" if tag and each.__name__ != "Instance" else each.__name__
        heading = f"{title}: {name}" if title else name
        words = plain(docstring_of(each).text)
        text += f"### {heading}\n\n{words}\n\n{options(fields_of(each))}"
    return text


def formats() -> str:
    """Return every file format, field by field."""
    from schedopt.archive import Entry, Group
    from schedopt.instances.files import instance_type
    from schedopt.instances.schema import parse_docstring
    from schedopt.problems import problems
    from schedopt.solvers.result import Document
    from schedopt.sweep.rows import BenchRow
    from schedopt.verbs.explain import explain
    from schedopt.verbs.generate import new

    text = (
        "# File formats\n\nInstances are JSON in UTF-8, gzipped or not. Lines that begin with `//` "
        "are comments. An unknown key is an error that names it. JSON Schemas lie beside the "
        "records: `instances/<problem>/schema.json`.\n\n"
    )
    for row in problems():
        text += f"## An instance of {row.name}\n\n```json\n{new(row.name)}```\n\n"
        text += records(instance_type(row.name), row.name)
    (jobs,) = explain("table")
    titles = ("field", "titles", "example", "unit", "without")
    rows = ([column[title] for title in titles] for column in jobs.columns)
    text += f"## A table of jobs\n\n{jobs.definition}\n\n{table(titles, rows)}"
    text += "## A result\n\n`solve`, `evaluate` and `check` write and read this document.\n\n"
    text += records(Document)
    text += "## The archive\n\nA Group is `group.json`, an Entry a line of `entries.jsonl`.\n\n"
    text += records(Group) + records(Entry)
    notes = parse_docstring(BenchRow.__doc__ or "").notes
    columns = ((f"`{name}`", plain(notes.get(name, ""))) for name in BenchRow.__struct_fields__)
    said = "Columns of a .csv or .parquet, keys of a line of .jsonl."
    return text + f"## A row of a bench\n\n{said}\n\n{table(('column', 'meaning'), columns)}"


def explanations(what: str) -> str:
    """Return what `schedopt explain` prints of each side constraint, policy and so on."""
    from schedopt.verbs.explain import everything

    text = f"# {INTRODUCTIONS[what]}\n\n`schedopt explain NAME` prints this page for one name.\n\n"
    for entry in everything():
        if entry.what != what:
            continue
        source = f" Source: {plain(entry.source)}." if entry.source else ""
        meaning = entry.definition if what == "side constraint" else entry.summary
        words = f"On {', '.join(entry.problems)}: {plain(meaning).rstrip('.')}."
        text += f"## {entry.name}\n\n{words}{source}\n\n"
        text += options(entry.fields) + options(entry.options)
        if entry.engines:
            heads = ("name", "accepts", "proves")
            rows = ([str(engine[head]) for head in heads] for engine in entry.engines)
            text += f"Engines, in the order in which they are tried:\n\n{table(heads, rows)}"
        if entry.example:
            pasted = json.dumps(entry.example, ensure_ascii=False)
            text += f"```json\n{pasted}\n```\n\nIn Python: `{entry.python}`\n\n"
    return text


INTRODUCTIONS = {
    "side constraint": "Side constraints\n\nThe same objects can be in `constraints` of an "
    "instance, in a file for `--constraints` (one or a list), and in Python. The examples use the "
    "jobs and groups of the instances that `schedopt new PROBLEM` writes.",
    "policy": "Policies\n\nThe heuristics: `schedopt evaluate FILE --policy NAME`. Ties are broken "
    "by the order of the file.",
    "formulation": "Formulations\n\nThe models: `schedopt solve FILE --formulation NAME`. The "
    "first of each problem is its default. The pages of the problems have their mathematics.",
    "generator": "Generators\n\n`schedopt generate PROBLEM --generator NAME --seed N`: the same "
    "seed, the same instance.",
}
"""Titles and first paragraphs of the pages of explanations."""


def converters() -> str:
    """Return every format that `convert` reads, with its options."""
    from schedopt.problems import problems
    from schedopt.verbs.generate import WORDS

    text = (
        "# Converters\n\n`schedopt convert FILE --option KEY=VALUE --output FILE`. What a "
        "file does not contain has to be given as an option.\n\n"
    )
    for row in problems():
        for kind, converter in row.converters.items():
            module = import_module(converter.home)
            words = plain((module.__doc__ or "").split("\n\n")[0])
            known = (
                {"name": name, "takes": of.expected, "default": of.default}
                for name, of in module.OPTIONS.items()
            )
            text += f"## {row.name}: {WORDS[kind]}\n\n{words}\n\n{options(known)}"
    return text


PAGES = {
    "command-line": command_line,
    "formats": formats,
    "constraints": lambda: explanations("side constraint"),
    "policies": lambda: explanations("policy"),
    "formulations": lambda: explanations("formulation"),
    "generators": lambda: explanations("generator"),
    "converters": converters,
}


def write(_app: Any) -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / f"{name}.md").write_text(page(), encoding="utf-8")
