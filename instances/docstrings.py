"""The docstrings of records, and their notes on each attribute."""

import inspect
import re
from dataclasses import dataclass, field

_FIELD = re.compile(r"^(\w+(?:, \w+)*) : .*$")


@dataclass(frozen=True)
class Told:
    """A parsed docstring: its text in one line, and a note on each attribute."""

    text: str
    notes: dict[str, str] = field(default_factory=dict)


def told(docstring: str) -> Told:
    """Parse a docstring of numpy's style."""
    docstring = inspect.cleandoc(docstring)  # Python 3.13 has done so
    text, _, rest = docstring.partition("Attributes\n")
    notes: dict[str, list[str]] = {}
    names: list[str] = []
    after: list[str] = []
    for line in rest.splitlines():
        if match := _FIELD.match(line):
            names = [name.rstrip("_") for name in match[1].split(", ")]
        elif line.startswith("    ") and names:
            for name in names:
                notes.setdefault(name, []).append(line.strip())
        elif line.strip("- "):
            names = []
            after.append(line.strip())
    said = {name: " ".join(lines) for name, lines in notes.items()}
    return Told(" ".join([*text.split(), *after]), said)


def told_of(kind: object) -> Told:
    """Parse the docstring of a class, with the notes of its bases on inherited attributes."""
    own = told(kind.__doc__ or "")
    notes: dict[str, str] = {}
    bases = kind.__mro__[1:] if isinstance(kind, type) else ()
    for base in reversed(bases):
        if base.__module__.split(".")[0] == kind.__module__.split(".")[0]:
            notes |= told(base.__doc__ or "").notes
    return Told(own.text, notes | own.notes)
