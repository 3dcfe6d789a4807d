"""Decoding errors in one message: the place, what was found, and what was expected."""

import json
import re
from collections.abc import Iterator
from math import inf, isfinite
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from schedopt.instances.decimals import EXPECTED, fits_double, may_lose
from schedopt.instances.errors import (
    InputError,
    decode_utf8,
    join_places,
    listing,
    position,
    quote,
    suggestion,
)

_AT = re.compile(r" - at (`key` in )?`\$(.*)`$", re.DOTALL)
_TOKEN = re.compile(r"\[\.\.\.\]|\[(\d+)\]|\.([^.\[]+)")
MOST_DIGITS = 4000  # digits of a whole number beyond which Python refuses to read it
MOST_WHOLE = 10**100
"""The largest whole number in a record, so that products of a few stay within doubles."""
TOO_DEEP = "brackets nested thousands deep"
_LONG = re.compile(rb"[\d.]{16,}(?:[eE][+-]?\d+)?|[\d.]+[eE]-\d{3,}")
"""Matches numbers that a double may not hold as written."""
_WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_ARRAYS = inspect.VarTupleType, inspect.TupleType, inspect.ListType
_NUMBERS = {inspect.FloatType: "float", inspect.IntType: "int"}

Place = list[str | int]


class _Step(NamedTuple):
    """A place on the way into a document: its key, its value, and msgspec's word on its type."""

    key: str | int
    value: Any
    info: Any


class _Repeating(dict[str, Any]):
    """An object that had a key twice."""

    key: str


class _Lost(float):
    """A number that a double does not hold, as it was written."""

    text: str


# --- what msgspec takes -------------------------------------------------------------------------


def flaw_of(data: bytes, wanted: Any, *, repeats: bool = True) -> InputError | None:
    """Return the error of the first repeated key, or number that no double holds, if there is one.

    ``repeats``: whether some key may be repeated.
    """
    lost = may_lose(data) and not all(
        len(number) <= 100 and fits_double(number.decode()) for number in set(_LONG.findall(data))
    )
    if not lost and not repeats:
        return None
    try:
        document = _parse(data)
    except RecursionError:
        return InputError("JSON", found=TOO_DEEP)
    except UnicodeDecodeError:
        return InputError("text in UTF-8", found="bytes that are not")
    for place, value in _values_with_places(document):
        if isinstance(value, _Repeating):
            expected, found = "each key once in an object", f"the key {quote(value.key)} twice"
        elif isinstance(value, _Lost):
            expected, found = EXPECTED, quote(value.text)[1:-1]
        elif isinstance(value, int) and not -(2**53) <= value <= 2**53:
            types = _number_types(place, document, wanted)
            if types and abs(value) > MOST_WHOLE:
                expected = "a whole number of at most 100 digits"
            elif types == {"float"} and not fits_double(str(value)):
                expected = EXPECTED
            else:
                continue
            found = quote(value)
        else:
            continue
        return InputError(expected, found=found, place=_format_place(place))
    return None


def _parse(data: bytes) -> Any:
    """Read JSON where msgspec does not, and mark what it does not mind."""

    def decimal(digits: str) -> float:
        if fits_double(digits):
            return float(digits)
        value = _Lost(digits)
        value.text = digits
        return value

    def whole(digits: str) -> int | float:
        return int(digits) if len(digits) <= MOST_DIGITS else inf

    def entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            made = _Repeating(made)
            keys = [key for key, _ in pairs]
            made.key = next(key for i, key in enumerate(keys) if key in keys[:i])
        return made

    return json.loads(data, parse_float=decimal, parse_int=whole, object_pairs_hook=entries)


def _values_with_places(document: Any) -> Iterator[tuple[Place, Any]]:
    """Yield every value of a document with its place, in the order of the text."""
    place: Place = []
    levels: list[Iterator[tuple[str | int, Any]]] = [iter([("", document)])]
    while levels:
        step = next(levels[-1], None)
        if step is None:
            levels.pop()
            continue
        key, value = step
        place[len(levels) - 1 :] = [key]
        yield place[1:], value
        entries = value.items() if isinstance(value, dict) else ()
        levels.append(iter(enumerate(value) if isinstance(value, list) else entries))


def _number_types(place: Place, document: Any, wanted: Any) -> set[str]:
    """Return which of `float` and `int` a type takes at a place of a document."""
    info = _union_member(inspect.type_info(wanted), document)
    for key in place:
        document = document[key]
        info = _union_member(_part_type(info, key), document)
    kinds = info.types if isinstance(info, inspect.UnionType) else (info,)
    plain = (kind.type if isinstance(kind, inspect.Metadata) else kind for kind in kinds)
    return {_NUMBERS[type(kind)] for kind in plain if type(kind) in _NUMBERS}


# --- what it does not -----------------------------------------------------------------------------


def decode_error(failure: Exception, data: bytes, wanted: Any) -> InputError:
    """Return the `InputError` that says why msgspec could not decode a text."""
    try:
        decode_utf8(data)
        if not isinstance(failure, msgspec.ValidationError | RecursionError):
            return _syntax_error(str(failure), data)
        return _validation_error(failure, _parse(data), wanted)
    except InputError as error:
        return error
    except RecursionError:
        return InputError("JSON", found=TOO_DEEP)
    except json.JSONDecodeError as error:
        return _syntax_error(f"(byte {len(error.doc[: error.pos].encode())})", data)


def _validation_error(failure: Exception, document: Any, wanted: Any) -> InputError:
    """Find the place of a validation failure in the document, and word it."""
    said = str(failure)
    at = _AT.search(said)
    what, path = (said[: at.start()], at[2]) if at else (said, "")
    if "out of range" in what:
        for beyond, value in _values_with_places(document):
            if isinstance(value, float) and not isfinite(value):
                place = _format_place(beyond)
                return InputError("a finite number", found="a number too large", place=place)
    steps = _follow_path(path, document, wanted)
    place = _format_place([step.key for step in steps[1:]])
    if isinstance(failure.__cause__, InputError):
        return failure.__cause__.within(place)
    expected, found = _describe_mismatch(what, steps[-1].value, steps[-1].info)
    if at and at[1]:  # keys are strings always: only an empty one can be wrong
        found = "an empty key"
    return InputError(expected, found=found, place=place)


def _follow_path(path: str, document: Any, wanted: Any) -> list[_Step]:
    """Follow a path into the document and into the type; find the key written as ``[...]``."""
    steps = [_Step("", document, _union_member(inspect.type_info(wanted), document))]
    for token in _TOKEN.finditer(path):
        _, value, info = steps[-1]
        key = int(token[1]) if token[1] else token[2] or _failing_key(value, path, document, wanted)
        if key is None:
            break
        try:
            inner = value[key]
        except (KeyError, IndexError, TypeError):
            inner = None
        steps.append(_Step(key, inner, _union_member(_part_type(info, key), inner)))
    return steps


def _failing_key(entries: Any, path: str, document: Any, wanted: Any) -> str | None:
    """Find the failing entry of a dictionary by bisection."""
    whole: dict[str, Any] = dict(entries or {})
    keys = list(whole)
    while len(keys) > 1:
        half = keys[: len(keys) // 2]
        entries.clear()
        entries.update((key, whole[key]) for key in half)
        try:
            msgspec.convert(document, wanted)
            fails = False
        except msgspec.ValidationError as error:
            fails = f"`${path}`" in str(error)
        keys = half if fails else keys[len(half) :]
        entries.update(whole)
    return keys[0] if keys else None


def _part_type(info: Any, key: str | int) -> Any:
    """Return msgspec's description of the value under a key, if there is one."""
    if isinstance(info, inspect.StructType) and key != info.tag_field:
        return next((f.type for f in info.fields if f.encode_name == key), None)
    if isinstance(info, inspect.DictType):
        return info.value_type
    if isinstance(info, inspect.VarTupleType | inspect.ListType):
        return info.item_type
    if isinstance(info, inspect.TupleType) and isinstance(key, int) and key < len(info.item_types):
        return info.item_types[key]
    return info


def _union_member(info: Any, value: Any) -> Any:
    """Pick the member of a union that the value is meant to be."""
    if isinstance(info, inspect.Metadata):
        info = info.type
    if not isinstance(info, inspect.UnionType):
        return info
    plain = (t.type if isinstance(t, inspect.Metadata) else t for t in info.types)
    members: list[Any] = [t for t in plain if not isinstance(t, inspect.NoneType)]
    if isinstance(value, list):
        members = [t for t in members if isinstance(t, _ARRAYS)] or members
    for member in members if isinstance(value, dict) else ():
        if isinstance(member, inspect.StructType) and value.get(member.tag_field) == member.tag:
            return member
    return members[0] if len(members) == 1 else info


def _describe_mismatch(what: str, value: Any, info: Any) -> tuple[str, str]:
    """Return what was expected and what was found; ``info`` describes the type at that place."""
    if key := re.match(r"Object contains unknown field `(.*)`", what):
        fields = info.fields if isinstance(info, inspect.StructType) else ()
        every = [f.encode_name for f in fields]
        known = [name for name in every if name not in (value or ())]
        hint = suggestion(key[1], known) or suggestion(key[1], every) or listing(known)
        return f"only keys of the format{hint}", f"key {key[1]!r}"
    if key := re.match(r"Object missing required field `(.*)`", what):
        expected = f"a key {key[1]!r}"
    elif re.match(r"Invalid (value|enum)", what):
        known = _choices(info)
        expected = f"one of {', '.join(map(quote, known))}{suggestion(str(value), known)}"
    elif plain := re.match(r"Expected (.*?)(?:, got .*)?$", what):
        words = re.sub(r"`([a-z]+(?: \| [a-z]+)*)`", _type_names, plain[1])
        expected = re.sub(r"(\d)\.0\b", r"\1", words)
    else:
        expected = "a number in range" if "out of range" in what else what
    return expected, quote(value)


def _type_names(found: re.Match[str]) -> str:
    """Return in words what types may stand at a place; that it may be null is left out."""
    kinds = [kind for kind in found[1].split(" | ") if kind != "null"] or ["null"]
    return " or ".join(_WORDS.get(kind, kind) for kind in kinds)


def _choices(info: Any) -> list[str]:
    if isinstance(info, inspect.UnionType):
        return sorted(str(t.tag) for t in info.types if isinstance(t, inspect.StructType))
    if isinstance(info, inspect.StructType):
        return [str(info.tag)]
    return [str(value) for value in getattr(info, "values", ())]


def _syntax_error(what: str, data: bytes) -> InputError:
    """Word a failure of the JSON itself, with line and column."""
    at = re.search(r"\(byte (\d+)\)", what)
    if at is None:
        return InputError("JSON; the text ends too early or holds an invalid string")
    offset = int(at[1])
    if "trailing characters" in what or data[offset - 1 : offset] == b"-":
        offset -= 1  # msgspec points behind the first wrong byte here
    rest = data[offset : offset + 12].decode("utf-8", "replace")
    place = position(data, offset)
    if word := re.match(r"-?(NaN|Infinity|Inf|nan|inf)", rest):
        return InputError("a finite number", found=word[0], place=place)
    reason = re.search(r"malformed: (.*?) \(byte", what)
    words = f"JSON ({reason[1]})" if reason else "JSON"
    return InputError(words, found=quote(rest) if rest.strip() else None, place=place)


def _format_place(keys: Place) -> str:
    """Write the keys and indices that lead to a place: ``jobs[3].stages[0]``."""
    place = ""
    for key in keys:
        place = join_places(place, f"[{key}]" if isinstance(key, int) else key)
    return place
