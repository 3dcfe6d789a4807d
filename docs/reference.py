"""The reference, written from the code each time the site is built (``make docs``)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedopt.instances.options import Option

HERE = Path(__file__).parent
FOLDER = HERE / "_reference"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
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


def options(known: Mapping[str, Option]) -> str:
    """Return a table of options."""
    rows = ((f"`{key}`", plain(of.expected), code(of.default)) for key, of in known.items())
    return table(("option", "what it takes", "default"), rows)


def command_line() -> str:
    """Every verb with its arguments and options, as its ``--help`` has them."""
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


def fields(record: Any) -> str:
    """Return a table of a record's fields."""
    from schedopt.verbs.explain import fields_of

    rows = (
        (
            *(f"`{of['name']}`", plain(of["takes"])),
            "required" if of["required"] else code(of["default"]) or "nothing",
            plain(of["says"]),
        )
        for of in fields_of(record)
    )
    return table(("field", "type", "default", "meaning"), rows)


def describe_record(title: str, record: Any) -> str:
    """Return a section on a record: what it is, and its fields."""
    return f"### {title}\n\n{docstring_text(record)}\n\n{fields(record)}"


def docstring_text(what: Any) -> str:
    """Return the text of a docstring."""
    from schedopt.instances.schema import docstring_of

    return plain(docstring_of(what).text)


def records_of(record: Any) -> list[Any]:
    """Return a record and those within it, side constraints apart, each once."""
    from msgspec import inspect

    from schedopt.instances.constraints import Constraint

    records: dict[Any, None] = {}

    def visit(info: Any) -> None:
        if isinstance(info, inspect.StructType):
            if info.cls in records or (records and issubclass(info.cls, Constraint)):
                return
            records[info.cls] = None
            for field in info.fields:
                visit(field.type)
        for part in ("item_type", "value_type", "type"):
            if hasattr(info, part):
                visit(getattr(info, part))
        for part in ("types", "item_types"):
            for inner in getattr(info, part, ()):
                visit(inner)

    visit(inspect.type_info(record))
    return list(records)


def heading(record: Any) -> str:
    """Return what a section on a record is called."""
    tag = record.__struct_config__.tag
    return f"`{tag}`" if tag and record.__name__ != "Instance" else record.__name__


def formats() -> str:
    """Every file format, field by field."""
    from schedopt.archive import Entry, Group, Origin, Provenance
    from schedopt.instances.files import instance_type
    from schedopt.instances.schema import parse_docstring
    from schedopt.problems import problems
    from schedopt.solvers.result import Document, Seconds
    from schedopt.sweep.rows import BenchRow
    from schedopt.verbs.explain import explain
    from schedopt.verbs.generate import new

    text = [
        "# File formats\n\nInstances are JSON in UTF-8, gzipped or not. Lines that begin with `//` "
        "are comments. An unknown key is an error that names it. JSON Schemas lie beside the "
        "records: `instances/<problem>/schema.json`.\n\n"
    ]
    for row in problems():
        text.append(f"## An instance of {row.name}\n\n```json\n{new(row.name)}```\n\n")
        text += [
            describe_record(f"{row.name}: {heading(record)}", record)
            for record in records_of(instance_type(row.name))
        ]
    (jobs,) = explain("table")
    titles = ("field", "titles", "example", "unit", "without")
    rows = ([column[title] for title in titles] for column in jobs.columns)
    text.append(f"## A table of jobs\n\n{jobs.definition}\n\n{table(titles, rows)}")
    text.append("## A result\n\n`solve`, `evaluate` and `check` write and read this document.\n\n")
    text += [describe_record(record.__name__, record) for record in (Document, Seconds)]
    words = "A Group is `group.json`, an Entry a line of `entries.jsonl`."
    text.append(f"## The archive\n\n{words}\n\n")
    text += [
        describe_record(record.__name__, record) for record in (Group, Entry, Provenance, Origin)
    ]
    notes = parse_docstring(BenchRow.__doc__ or "").notes
    columns = ((f"`{name}`", plain(notes.get(name, ""))) for name in BenchRow.__struct_fields__)
    said = "Columns of a .csv or .parquet, keys of a line of .jsonl."
    text.append(f"## A row of a bench\n\n{said}\n\n{table(('column', 'meaning'), columns)}")
    return "".join(text)


def constraints() -> str:
    """Every side constraint, with its JSON and its Python."""
    from schedopt.problems import problems
    from schedopt.verbs.explain import everything

    kinds = {name: kind for row in problems() for name, kind in row.constraint_kinds().items()}
    text = [
        "# Side constraints\n\nThe same objects can be in `constraints` of an instance, in a file "
        "for `--constraints` (one or a list), and in Python. `schedopt explain NAME` prints this "
        "page for one of them. The examples use the jobs and groups of the instances that "
        "`schedopt new PROBLEM` writes.\n\n"
    ]
    for entry in everything():
        if entry.what != "side constraint":
            continue
        record, *inner = records_of(kinds[entry.name])
        text.append(f"## {entry.name}\n\nOn {', '.join(entry.problems)}. {plain(entry.definition)}")
        text.append(f"\n\n{fields(record)}")
        text += [f"{each.__name__}: {docstring_text(each)}\n\n{fields(each)}" for each in inner]
        if entry.example:
            pasted = json.dumps(entry.example, ensure_ascii=False)
            text.append(f"```json\n{pasted}\n```\n\nIn Python: `{entry.python}`\n\n")
    return "".join(text)


def policies() -> str:
    """Every policy with its definition, its source and its options."""
    from schedopt.problems import problems

    text = [
        "# Policies\n\nThe heuristics: `schedopt evaluate FILE --policy NAME`. Ties are broken by "
        "the order of the file.\n\n"
    ]
    for row in problems():
        registered = row.policies().values()
        rows = ((f"`{p.name}`", plain(p.summary), plain(p.source)) for p in registered)
        taken = (
            (f"`{name}`", f"`{p.name}`", plain(of.expected), code(of.default))
            for p in registered
            for name, of in p.options.items()
        )
        text.append(f"## {row.name}\n\n{table(('policy', 'what it does', 'source'), rows)}")
        text.append(table(("option", "of", "what it takes", "default"), taken))
    return "".join(text)


def formulations() -> str:
    """Every formulation: what it says, its options, its engine, and where its mathematics is."""
    from schedopt.problems import problems

    text = [
        "# Formulations\n\nThe models: `schedopt solve FILE --formulation NAME`. The first of each "
        "problem is its default.\n\n"
    ]
    for row in problems():
        for name in row.formulation_names:
            form = row.formulation(name)
            summary = (getdoc(form) or "").split("\n\n")[0].replace("\n", " ")
            text.append(
                f"## {row.name}: {name}\n\n{plain(summary)}\n\n"
                f"Written in {form.engine}; the objective is to {form.sense}. "
                f"[Its mathematics](../problems/{row.name}.md#mathematics)\n\n"
                f"{options(form.known_options)}"
            )
    return "".join(text)


def generators() -> str:
    """Every generator with its options."""
    from schedopt.problems import problems

    words = (
        "`schedopt generate PROBLEM --generator NAME --seed N`: the same seed, the same instance."
    )
    return f"# Generators\n\n{words}\n\n" + "".join(
        f"## {row.name}: {name}\n\n{plain(recipe.summary)}. Source: {plain(recipe.source)}\n\n"
        f"{options(recipe.options)}"
        for row in problems()
        for name, recipe in row.generators().items()
    )


def converters() -> str:
    """Every format that `convert` reads, with its options."""
    from schedopt.problems import problems
    from schedopt.verbs.convert import WORDS

    text = [
        "# Converters\n\n`schedopt convert FILE --option KEY=VALUE --output FILE`. What a "
        "file does not contain has to be given as an option.\n\n"
    ]
    for row in problems():
        for kind, converter in row.converters.items():
            module = import_module(converter.home)
            words = plain((module.__doc__ or "").split("\n\n")[0])
            text.append(f"## {row.name}: {WORDS[kind]}\n\n{words}\n\n{options(module.OPTIONS)}")
    return "".join(text)


PAGES = {
    "command-line": command_line,
    "formats": formats,
    "constraints": constraints,
    "policies": policies,
    "formulations": formulations,
    "generators": generators,
    "converters": converters,
}


def write(_app: Any) -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / f"{name}.md").write_text(page(), encoding="utf-8")
