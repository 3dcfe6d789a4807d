"""Decoding errors in one message: the place, what was found, and what was expected."""

import json
import re
from collections.abc import Callable, Iterator
from math import inf, isfinite
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from schedopt.instances.decimals import EXPECTED, held, may_lose
from schedopt.instances.errors import InputError, joined, listing, shown, suggestion

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


class _Step(NamedTuple):
    """A place on the way into a document: its key, its value, and msgspec's word on its type."""

    key: str | int
    value: Any
    info: Any


class _Repeating(dict[str, Any]):
    """An object that had a key twice."""

    key: str


def decode_error(
    failure: msgspec.DecodeError | UnicodeDecodeError | RecursionError, data: bytes, wanted: Any
) -> InputError:
    """Return the `InputError` that says why msgspec could not decode a text."""
    bad = _utf8_error_offset(data)
    if isinstance(failure, UnicodeDecodeError) or bad >= 0:
        place = _line(data, bad)
        return InputError("text in UTF-8", found="bytes that are not", place=place)
    if not isinstance(failure, msgspec.ValidationError | RecursionError):
        return _syntax_error(str(failure), data)
    try:
        document = _parse_leniently(data)
    except RecursionError:
        return InputError("JSON", found=TOO_DEEP)
    except json.JSONDecodeError as error:
        return _syntax_error(f"(byte {len(error.doc[: error.pos].encode())})", data)
    return _validation_error(failure, document, wanted)


def repeated_key(data: bytes) -> InputError | None:
    """Return the `InputError` that names the first key that an object has twice, if one has."""
    try:
        document = _parse_leniently(data, _object_of_pairs)
    except RecursionError:
        return InputError("JSON", found=TOO_DEEP)
    except UnicodeDecodeError:
        return InputError("text in UTF-8", found="bytes that are not")
    for place, value in _values_with_places(document):
        if isinstance(value, _Repeating):
            found = f"the key {shown(value.key)} twice"
            return InputError("each key once in an object", found=found, place=_format_place(place))
    return None


class _Lost(float):
    """A number that a double does not hold, as it was written."""

    text: str


def lost_number(data: bytes, wanted: Any) -> InputError | None:
    """Return the error of the first number that no double holds, or beyond `MOST_WHOLE`."""
    if not may_lose(data):
        return None
    if all(len(one) <= 100 and held(one.decode()) for one in set(_LONG.findall(data))):
        return None

    def decimal(digits: str) -> float:
        value = _Lost(digits)
        value.text = digits
        return value if not held(digits) else float(digits)

    def whole(digits: str) -> int:
        return int(digits) if len(digits) <= MOST_DIGITS else MOST_WHOLE * 10

    document = json.loads(data, parse_float=decimal, parse_int=whole)
    for place, value in _values_with_places(document):
        if isinstance(value, _Lost):
            return InputError(EXPECTED, found=shown(value.text)[1:-1], place=_format_place(place))
        if isinstance(value, int) and not -(2**53) <= value <= 2**53:
            types = _number_types(place, document, wanted)
            if abs(value) > MOST_WHOLE and types & {"float", "int"}:
                expected = "a whole number of at most 100 digits"
                return InputError(expected, found=shown(value), place=_format_place(place))
            if types & {"float", "int"} == {"float"} and not held(str(value)):
                return InputError(EXPECTED, found=shown(value), place=_format_place(place))
    return None


def _parse_leniently(
    data: bytes, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """Read JSON where msgspec does not: a number that is out of range becomes infinite."""

    def integer(digits: str) -> int | float:
        return int(digits) if len(digits) <= MOST_DIGITS else inf

    return json.loads(data, parse_int=integer, object_pairs_hook=pairs)


def _object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object from its pairs, marked where a key is repeated."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        keys = [key for key, _ in pairs]
        entries = _Repeating(entries)
        entries.key = next(key for i, key in enumerate(keys) if key in keys[:i])
    return entries


def _values_with_places(document: Any) -> Iterator[tuple[list[str | int], Any]]:
    """Yield every value of a document with its place, in the order of the text."""
    place: list[str | int] = []
    levels: list[Iterator[tuple[str | int, Any]]] = [iter([("", document)])]
    while levels:
        step = next(levels[-1], None)
        if step is None:
            levels.pop()
        else:
            place[len(levels) - 1 :] = [step[0]]
            yield place[1:], step[1]
            levels.append(_children(step[1]))


def _children(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return iter(value.items())
    return iter(enumerate(value if isinstance(value, list) else ()))


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
        failure.__cause__.expected += _example_record(steps)
        return failure.__cause__.within(place)
    expected, found = _describe_mismatch(what, steps[-1].value, steps[-1].info)
    if not what.startswith("Invalid"):
        expected += _example_record(steps)
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


def _number_types(place: list[str | int], document: Any, wanted: Any) -> set[str]:
    """Return which of `float` and `int` a type takes at a place of a document."""
    info = _union_member(inspect.type_info(wanted), document)
    for key in place:
        document = document[key]
        info = _union_member(_part_type(info, key), document)
    kinds = info.types if isinstance(info, inspect.UnionType) else (info,)
    plain = [kind.type if isinstance(kind, inspect.Metadata) else kind for kind in kinds]
    known = {inspect.FloatType: "float", inspect.IntType: "int"}
    return {known[type(kind)] for kind in plain if type(kind) in known}


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


def _example_record(steps: list[_Step]) -> str:
    """Return an example of the record at, or around, a place, if there is one."""
    for step in reversed(steps):
        several = isinstance(step.info, inspect.VarTupleType)
        kind = step.info.item_type if several else step.info
        kind = kind.types[0] if several and isinstance(kind, inspect.UnionType) else kind
        example = getattr(getattr(kind, "cls", None), "example", None)
        if example is not None and (found := example()) is not None:
            text = json.dumps(found, ensure_ascii=False)
            return f", as in {f'[{text}]' if several else text}"
    return ""


def _describe_mismatch(what: str, value: Any, info: Any) -> tuple[str, str]:
    """Return what was expected and what was found; ``info`` describes the type at that place."""
    if key := re.match(r"Object contains unknown field `(.*)`", what):
        fields = info.fields if isinstance(info, inspect.StructType) else ()
        present = value if isinstance(value, dict) else {}
        every = [f.encode_name for f in fields]
        known = [name for name in every if name not in present]
        hint = suggestion(key[1], known) or suggestion(key[1], every) or listing(known)
        return f"only keys of the format{hint}", f"key {key[1]!r}"
    if key := re.match(r"Object missing required field `(.*)`", what):
        expected = f"a key {key[1]!r}"
    elif re.match(r"Invalid (value|enum)", what):
        known = _choices(info)
        expected = f"one of {', '.join(map(shown, known))}{suggestion(str(value), known)}"
    elif "out of range" in what:
        expected = "a number in range"
    elif plain := re.match(r"Expected (.*?)(?:, got .*)?$", what):
        words = re.sub(r"`([a-z]+(?: \| [a-z]+)*)`", _type_names, plain[1])
        expected = re.sub(r"(\d)\.0\b", r"\1", words)
    else:
        expected = what
    return expected, shown(value)


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
    place = _line(data, offset)
    if word := re.match(r"-?(NaN|Infinity|Inf|nan|inf)", rest):
        return InputError("a finite number", found=word[0], place=place)
    reason = re.search(r"malformed: (.*?) \(byte", what)
    words = f"JSON ({reason[1]})" if reason else "JSON"
    words = "JSON, whose texts stand in double quotes" if rest.startswith("'") else words
    return InputError(words, found=shown(rest) if rest.strip() else None, place=place)


def _line(data: bytes, offset: int) -> str:
    line = data.count(b"\n", 0, offset) + 1
    column = offset - data.rfind(b"\n", 0, offset)
    return f"line {line}, column {column}"


def _utf8_error_offset(data: bytes) -> int:
    """Return the offset of the first byte that is not UTF-8, -1 if there is none."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _format_place(keys: list[str | int]) -> str:
    """Write the keys and indices that lead to a place: ``jobs[3].stages[0]``."""
    place = ""
    for key in keys:
        place = joined(place, f"[{key}]" if isinstance(key, int) else key)
    return place
