"""Parsed docstrings of records and formulations: the text, and the notes on each field."""

import inspect
import re
from dataclasses import dataclass, field

_SECTION = re.compile(r"^([A-Z]\w+)\n-{3,}\n", re.MULTILINE)
_NOTE = re.compile(r"^(\w+(?:, \w+)*) : .*\n((?:(?: {4}.*)?(?:\n|\Z))+)", re.MULTILINE)


@dataclass(frozen=True)
class Told:
    """A parsed docstring: its text in one line, and a note on each attribute or parameter."""

    text: str
    notes: dict[str, str] = field(default_factory=dict)


def told(docstring: str) -> Told:
    """Parse a docstring of numpy's style; what is raised is for those who call it."""
    lead, *rest = _SECTION.split(inspect.cleandoc(docstring))  # Python 3.13 has cleaned it
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    listed = "".join(f"{sections.get(title, '')}\n" for title in ("Attributes", "Parameters"))
    notes = {
        name.rstrip("_"): " ".join(found[2].split())
        for found in _NOTE.finditer(listed)
        for name in found[1].split(", ")
    }
    text = " ".join(f"{lead} {sections.get('Notes', '')}".split())
    return Told(text.replace(":: ", ": "), notes)


def told_of(kind: object) -> Told:
    """Parse the docstring of a class, with the notes of its bases on inherited attributes."""
    own = told(kind.__doc__ or "")
    notes: dict[str, str] = {}
    bases = kind.__mro__[1:] if isinstance(kind, type) else ()
    for base in reversed(bases):
        if base.__module__.split(".")[0] == kind.__module__.split(".")[0]:
            notes |= told(base.__doc__ or "").notes
    return Told(own.text, notes | own.notes)
