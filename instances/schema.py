"""JSON Schema of the instance files, generated from the records.

``python -m schedopt.instances.schema`` writes the ``schema.json`` of every problem.
"""

import inspect
import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from schedopt.instances import constraints
from schedopt.instances.encoding import to_json
from schedopt.instances.files import PROBLEMS, instance_type, write_bytes

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SECTION = re.compile(r"^([A-Z]\w+)\n-{3,}\n", re.MULTILINE)
_NOTE = re.compile(r"^(\w+(?:, \w+)*) : .*\n((?:(?: {4}.*)?(?:\n|\Z))+)", re.MULTILINE)


class Docstring(NamedTuple):
    """A parsed docstring: its text, and the description of each attribute."""

    text: str
    notes: dict[str, str]


def parse_docstring(docstring: str) -> Docstring:
    """Parse a numpydoc docstring; sections on errors and return values are skipped."""
    lead, *rest = _SECTION.split(inspect.cleandoc(docstring))  # Python 3.13 has cleaned it
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    listed = "".join(f"{sections.get(title, '')}\n" for title in ("Attributes", "Parameters"))
    notes = {
        name.rstrip("_"): " ".join(note[2].split())
        for note in _NOTE.finditer(listed)
        for name in note[1].split(", ")
    }
    return Docstring(_paragraphs(f"{lead}\n\n{sections.get('Notes', '')}"), notes)


def _paragraphs(text: str) -> str:
    """Return the paragraphs of a text in one line, between its indented equations."""
    joined = ""
    for part in text.replace("::\n", ":\n").split("\n\n"):
        if part.startswith("    "):
            joined += f"\n{part.rstrip()}\n"
        elif part.strip():
            joined += " " * bool(joined[-1:].strip()) + " ".join(part.split())
    return joined.strip()


def docstring_of(kind: Any) -> Docstring:
    """Parse the docstring of a class, including its base classes' inherited attributes."""
    notes: dict[str, str] = {}
    home = kind.__module__.split(".")[0]
    for base in reversed(getattr(kind, "__mro__", (kind,))):
        if base.__module__.split(".")[0] == home:
            notes |= parse_docstring(base.__doc__ or "").notes
    return Docstring(parse_docstring(kind.__doc__ or "").text, notes)


def schema(problem: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a problem's instance files."""
    record = instance_type(problem)
    components = msgspec.json.schema(record)
    definitions = components.pop("$defs")
    for name, definition in definitions.items():
        own = parse_docstring(definition.get("description", ""))
        _describe(definition, docstring_of(record) if name == record.__name__ else own)
        if example := getattr(getattr(constraints, name, None), "example", None):
            definition["examples"] = [example]
    return {
        "$schema": DIALECT,
        "title": f"{problem} instance",
        **components,
        "$defs": definitions,
    }


def schema_text(problem: str) -> bytes:
    """Return the text of a problem's ``schema.json``."""
    return msgspec.json.format(to_json(schema(problem)), indent=2) + b"\n"


def path(problem: str) -> Path:
    """Return the path of a problem's schema."""
    return Path(__file__).parent / problem / "schema.json"


def _describe(definition: dict[str, Any], said: Docstring) -> None:
    """Move descriptions of attributes from the docstring to the schema's properties."""
    for name, note in said.notes.items():
        if name in definition["properties"]:
            definition["properties"][name]["description"] = note
    definition["description"] = said.text


def main() -> None:
    """Write the schema of every problem beside its records."""
    for problem in PROBLEMS.own:
        write_bytes(path(problem), schema_text(problem))


if __name__ == "__main__":
    main()
