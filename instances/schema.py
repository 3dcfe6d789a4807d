"""JSON Schema of the instance files, generated from the records that read them.

``python -m schedopt.instances.schema`` writes the ``schema.json`` of every problem.
"""

from pathlib import Path
from typing import Any

import msgspec

from schedopt.instances.declarations import EXAMPLES
from schedopt.instances.encoding import to_json
from schedopt.instances.files import PROBLEMS, instance_type, write_bytes
from schedopt.instances.record_fields import Docstring, docstring_of, parse_docstring

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(problem: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a problem's instance files."""
    record = instance_type(problem)
    components = msgspec.json.schema(record)
    definitions = components.pop("$defs")
    for name, definition in definitions.items():
        own = parse_docstring(definition.get("description", ""))
        _describe(definition, docstring_of(record) if name == record.__name__ else own)
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
    """Return where a problem's schema is kept."""
    return Path(__file__).parent / problem / "schema.json"


def _describe(definition: dict[str, Any], said: Docstring) -> None:
    """Move what a docstring says of each attribute to that property's own description."""
    for name, note in said.notes.items():
        if name in definition["properties"]:
            definition["properties"][name]["description"] = note
    definition["description"] = said.text
    (tag,) = definition["properties"].get("kind", {}).get("enum", [""])[:1]
    if tag in EXAMPLES:
        definition["examples"] = [EXAMPLES[tag]]


def main() -> None:
    """Write every problem's schema beside its records."""
    for problem in PROBLEMS.own:
        write_bytes(path(problem), schema_text(problem))


if __name__ == "__main__":
    main()
