"""The fields of a record and its parsed docstring, for messages, schemas and pages."""

import inspect as python_inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

import msgspec
from msgspec import inspect

FEW = 3  # fields are listed by name for objects with at most this many
_SECTION = re.compile(r"^([A-Z]\w+)\n-{3,}\n", re.MULTILINE)
_NOTE = re.compile(r"^(\w+(?:, \w+)*) : .*\n((?:(?: {4}.*)?(?:\n|\Z))+)", re.MULTILINE)


@dataclass(frozen=True)
class Docstring:
    """A parsed docstring: its text in one line, and a note on each attribute or parameter."""

    text: str
    notes: dict[str, str] = dataclass_field(default_factory=dict)


def parse_docstring(docstring: str) -> Docstring:
    """Parse a docstring of numpy's style; what is raised is for those who call it."""
    lead, *rest = _SECTION.split(python_inspect.cleandoc(docstring))  # Python 3.13 has cleaned it
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    listed = "".join(f"{sections.get(title, '')}\n" for title in ("Attributes", "Parameters"))
    notes = {
        name.rstrip("_"): " ".join(note[2].split())
        for note in _NOTE.finditer(listed)
        for name in note[1].split(", ")
    }
    text = " ".join(f"{lead} {sections.get('Notes', '')}".split())
    return Docstring(text.replace(":: ", ": "), notes)


def docstring_of(kind: object) -> Docstring:
    """Parse the docstring of a class, with the notes of its bases on inherited attributes."""
    own = parse_docstring(kind.__doc__ or "")
    notes: dict[str, str] = {}
    bases = kind.__mro__[1:] if isinstance(kind, type) else ()
    for base in reversed(bases):
        if base.__module__.split(".")[0] == kind.__module__.split(".")[0]:
            notes |= parse_docstring(base.__doc__ or "").notes
    return Docstring(own.text, notes | own.notes)


@dataclass(frozen=True)
class Field:
    """A field of a record in words, as a file writes it; ``default`` is None if there is none."""

    name: str
    takes: str
    required: bool
    default: Any
    says: str


def fields_of(record: type[msgspec.Struct]) -> list[Field]:
    """Return the fields of a record, the required ones first."""
    info = inspect.type_info(record)
    if not isinstance(info, inspect.StructType):
        raise TypeError(f"{record} is no record")
    notes = docstring_of(record).notes
    listed = [
        Field(
            name=field.encode_name,
            takes=words(field.type),
            required=field.required,
            default=_default(field),
            says=notes.get(field.name.rstrip("_"), ""),
        )
        for field in info.fields
    ]
    return sorted(listed, key=lambda field: not field.required)


def _default(field: inspect.Field) -> Any:
    value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return None if value in (msgspec.NODEFAULT, msgspec.UNSET) else msgspec.to_builtins(value)


def words(info: inspect.Type) -> str:
    """Describe in words the values of a type."""
    for kind, said in _WORDS.items():
        if isinstance(info, kind):
            return said(info)
    return "anything"


def _either(info: inspect.UnionType) -> str:
    kept = [t for t in info.types if not isinstance(t, inspect.NoneType)]
    tagged = [t for t in kept if isinstance(t, inspect.StructType) and t.tag is not None]
    if len(tagged) == len(kept) > 1:
        tags = ", ".join(str(t.tag) for t in tagged)
        return f"an object, its {tagged[0].tag_field} one of {tags}"
    return " or ".join(dict.fromkeys(words(t) for t in kept))


def _object(info: inspect.StructType) -> str:
    keys = ", ".join(field.encode_name for field in info.fields)
    few = f", with {keys}" if len(info.fields) <= FEW else ""
    return f"an object: {info.cls.__name__}{few}"


def _number(info: inspect.FloatType | inspect.IntType) -> str:
    whole = "a whole number" if isinstance(info, inspect.IntType) else "a number"
    low = "" if info.ge is None else f"from {info.ge:,.12g}"
    low = low if info.gt is None else f"above {info.gt:,.12g}"
    high = "" if info.le is None else f"to {info.le:,.12g}"
    high = high if info.lt is None else f"below {info.lt:,.12g}"
    if low.startswith("from") and not high:
        return f"{whole}, {info.ge:,.12g} or more"
    return " ".join(filter(None, (whole, low, high)))


_WORDS: Mapping[Any, Callable[[Any], str]] = {
    inspect.Metadata: lambda info: words(info.type),
    inspect.UnionType: _either,
    inspect.LiteralType: lambda info: " or ".join(f'"{value}"' for value in info.values),
    inspect.FloatType: _number,
    inspect.IntType: _number,
    inspect.StrType: lambda info: "a text",
    inspect.BoolType: lambda info: "true or false",
    inspect.DictType: lambda info: f"an object: for each name {words(info.value_type)}",
    inspect.VarTupleType: lambda info: f"a list, each {words(info.item_type)}",
    inspect.ListType: lambda info: f"a list, each {words(info.item_type)}",
    inspect.TupleType: lambda info: f"[{', '.join(words(t) for t in info.item_types)}]",
    inspect.StructType: _object,
}
