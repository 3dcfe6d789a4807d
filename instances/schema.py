"""JSON Schema of the instance files, generated from the records that read them.

``python -m instances.schema`` writes ``instances/<problem>/schema.json`` for every problem.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import msgspec

from instances.files import PROBLEMS, instance_type, write_bytes

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_FIELD = re.compile(r"^(\w+(?:, \w+)*) : .*$")
_ONE_OF_TWO = [{"required": ["jobs"]}, {"required": ["by", "group"]}]
_ALTERNATIVES: dict[tuple[str, str], dict[str, Any]] = {
    ("dssp", "Job"): {
        "anyOf": [{"required": ["stages"]}, {"required": ["demand", "critical_path"]}]
    },
    ("dssp", "FairShare"): {"anyOf": [{"required": ["at_most"]}, {"required": ["at_least"]}]},
    ("dssp", "AtMost"): {"oneOf": _ONE_OF_TWO},
    ("dssp", "AtLeast"): {"oneOf": _ONE_OF_TWO},
    ("msfq", "Instance"): {"oneOf": [{"required": ["classes"]}, {"required": ["log"]}]},
}
"""Of the rules that records check in code, those that a schema can say: by problem and type."""


def schema(problem: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a problem's instance files.

    It refuses unknown keys and wrong types. What spans several objects (unique names, references
    to jobs and groups, finite sums) it cannot say: loading a file checks these too.

    Parameters
    ----------
    problem : str
        A problem, such as ``dssp``.

    Raises
    ------
    InputError
        If there is no such problem.
    """
    components = msgspec.json.schema(instance_type(problem))
    definitions = components.pop("$defs")
    for name, definition in definitions.items():
        _described(definition)
        definition.update(_ALTERNATIVES.get((problem, name), {}))
    return {
        "$schema": DIALECT,
        "title": f"{problem} instance",
        **components,
        "$defs": definitions,
    }


def encoded(problem: str) -> bytes:
    """Return the text of a problem's ``schema.json``."""
    return msgspec.json.format(msgspec.json.encode(schema(problem)), indent=2) + b"\n"


def path(problem: str) -> Path:
    """Return where a problem's schema is kept."""
    return Path(__file__).parent / problem / "schema.json"


def _described(definition: dict[str, Any]) -> None:
    """Move what a docstring says of each attribute to that property's own description."""
    docstring = inspect.cleandoc(definition.get("description", ""))  # Python 3.13 has done so
    text, _, rest = docstring.partition("Attributes\n")
    notes: dict[str, list[str]] = {}
    names: list[str] = []
    after: list[str] = []
    for line in rest.splitlines():
        if field := _FIELD.match(line):
            names = [name.rstrip("_") for name in field[1].split(", ")]
        elif line.startswith("    ") and names:
            for name in names:
                notes.setdefault(name, []).append(line.strip())
        elif line.strip("- "):
            names = []
            after.append(line.strip())
    for name, lines in notes.items():
        if name in definition["properties"]:
            definition["properties"][name]["description"] = " ".join(lines)
    definition["description"] = " ".join([*text.split(), *after])


def main() -> None:
    """Write every problem's schema beside its records."""
    for problem in PROBLEMS:
        write_bytes(path(problem), encoded(problem))


if __name__ == "__main__":
    main()
