"""Turns a decoding failure into one message with the place, what was found, what was expected."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import inf, isfinite
from typing import Any

import msgspec
from msgspec import inspect

from schedopt.instances.errors import InputError, joined, listing, shown, suggestion

_PATH = re.compile(r"^(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>.*)`)?$", re.DOTALL)
_TOKEN = re.compile(r"\[\.\.\.\]|\[(\d+)\]|\.([^.\[]+)")
MOST_DIGITS = 4000
"""Digits of a whole number beyond which Python refuses to read it."""
_WORDS = {
    "float": "a number", "int": "a whole number", "str": "a string", "bool": "true or false",
    "array": "a list", "object": "an object", "null": "null",
}  # fmt: skip


def explained(
    failure: msgspec.DecodeError | UnicodeDecodeError | RecursionError, data: bytes, wanted: Any
) -> InputError:
    """Return the `InputError` that says what is wrong with ``data``.

    Parameters
    ----------
    failure : exception
        What msgspec raised.
    data : bytes
        The text that it was given.
    wanted : type
        The type that it should have become.
    """
    if isinstance(failure, UnicodeDecodeError) or not _is_utf8(data):
        return InputError(
            "text in UTF-8", found="bytes that are not", place=_line(data, _bad(data))
        )
    if not isinstance(failure, msgspec.ValidationError | RecursionError):
        return _malformed(str(failure), data)
    try:
        document = lenient(data)
    except RecursionError:
        return InputError("JSON", found="brackets nested thousands deep")
    except json.JSONDecodeError as error:
        return _malformed(f"(byte {len(error.doc[: error.pos].encode())})", data)
    return _located(failure, document, wanted)


def _located(failure: Exception, document: Any, wanted: Any) -> InputError:
    """Find the place of a validation failure in the document, and word it."""
    match = _PATH.match(str(failure))
    what, path = (match["what"], match["path"] or "") if match else (str(failure), "")
    if "out of range" in what and (beyond := _beyond(document, [])) is not None:
        return InputError("a finite number", found="a number too large", place=written(beyond))
    tokens = _resolved(path, document, wanted)
    place = written(tokens)
    info = _type(wanted, document, tokens)
    if isinstance(failure.__cause__, InputError):
        failure.__cause__.expected += _form(wanted, document, tokens)
        return failure.__cause__.within(place)
    wrong = _described(what, place, _value(document, tokens), info)
    if not what.startswith("Invalid"):
        wrong.expected += _form(wanted, document, tokens)
    if match and match["key"]:  # keys are strings always: only an empty one can be wrong
        wrong.found = "an empty key"
    return wrong


def lenient(data: bytes, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Read JSON where msgspec does not: a number that is out of range becomes infinite.

    Parameters
    ----------
    data : bytes
        The text.
    pairs : callable, optional
        Makes each object of its keys and values; the last of equal keys counts if not given.
    """
    return json.loads(data, parse_int=_integer, object_pairs_hook=pairs)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else inf


def _beyond(value: Any, place: list[str | int]) -> list[str | int] | None:
    """Return the place of the first number that is out of range, None if there is none."""
    if isinstance(value, float):
        return None if isfinite(value) else place
    inside: Any = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    for key, item in inside:
        if (found := _beyond(item, [*place, key])) is not None:
            return found
    return None


def _described(what: str, place: str, value: Any, info: Any) -> InputError:
    """Word a validation failure; ``info`` is msgspec's description of the type at that place."""
    if key := re.match(r"Object contains unknown field `(.*)`", what):
        known = _keys(info, value)
        hint = suggestion(key[1], known) or listing(known)
        return InputError(f"only keys of the format{hint}", found=f"key {key[1]!r}", place=place)
    if key := re.match(r"Object missing required field `(.*)`", what):
        return InputError(f"a key {key[1]!r}", found=shown(value), place=place)
    if re.match(r"Invalid (value|enum)", what):
        known = _choices(info)
        return InputError(
            f"one of {', '.join(map(shown, known))}{suggestion(str(value), known)}",
            found=shown(value),
            place=place,
        )
    if "out of range" in what:
        return InputError("a number in range", found=shown(value), place=place)
    if plain := re.match(r"Expected (.*?)(?:, got .*)?$", what):
        words = re.sub(r"`([a-z]+)( \| null)?`", lambda m: _WORDS.get(m[1], m[1]), plain[1])
        words = re.sub(r"(\d)\.0\b", r"\1", words)
        return InputError(words, found=shown(value), place=place)
    return InputError(what, found=shown(value), place=place)


def _form(wanted: Any, document: Any, tokens: list[str | int]) -> str:
    """Return the right form of what is there or around it, where a record knows an example."""
    for depth in range(len(tokens), -1, -1):
        info = _type(wanted, document, tokens[:depth])
        several = isinstance(info, inspect.VarTupleType)
        kind = info.item_type if several else info
        kind = kind.types[0] if several and isinstance(kind, inspect.UnionType) else kind
        example = getattr(getattr(kind, "cls", None), "example", None)
        if example is not None and (found := example()) is not None:
            text = json.dumps(found, ensure_ascii=False)
            return f", as in {f'[{text}]' if several else text}"
    return ""


def _malformed(what: str, data: bytes) -> InputError:
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
    return InputError(words, found=shown(rest) if rest.strip() else None, place=place)


def _line(data: bytes, offset: int) -> str:
    line = data.count(b"\n", 0, offset) + 1
    column = offset - data.rfind(b"\n", 0, offset)
    return f"line {line}, column {column}"


def _is_utf8(data: bytes) -> bool:
    return _bad(data) < 0


def _bad(data: bytes) -> int:
    """Return the offset of the first byte that is not UTF-8, -1 if there is none."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _resolved(path: str, document: Any, wanted: Any) -> list[str | int]:
    """Split a path into keys and indices; find the key that msgspec writes as ``[...]``."""
    tokens: list[str | int] = []
    for match in _TOKEN.finditer(path):
        if match[1]:
            tokens.append(int(match[1]))
        elif match[2]:
            tokens.append(match[2])
        else:
            entries = _value(document, tokens)
            key = _culprit(entries, tokens, document, wanted, path) if entries else None
            if key is None:
                break
            tokens.append(key)
    return tokens


def _culprit(
    entries: dict[str, Any], tokens: list[str | int], document: Any, wanted: Any, path: str
) -> str | None:
    """Find the entry of a dictionary that fails, by leaving half of the entries out at a time."""
    keys = list(entries)
    while len(keys) > 1:
        half = keys[: len(keys) // 2]
        entries_before = dict(entries)
        for key in set(keys) - set(half):
            del entries[key]
        fails = f"`${path}`" in _failure(document, wanted)
        entries.clear()
        entries.update(entries_before)
        keys = half if fails else keys[len(keys) // 2 :]
    return keys[0] if keys else None


def _failure(document: Any, wanted: Any) -> str:
    try:
        msgspec.convert(document, wanted)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _value(document: Any, tokens: list[str | int]) -> Any:
    for token in tokens:
        try:
            document = document[token]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def written(tokens: list[str | int]) -> str:
    """Write the keys and indices that lead to a place: ``jobs[3].stages[0]``."""
    place = ""
    for token in tokens:
        place = joined(place, f"[{token}]" if isinstance(token, int) else token)
    return place


def _type(wanted: Any, document: Any, tokens: list[str | int]) -> Any:
    """Walk msgspec's description of ``wanted`` down to the place, as far as it goes."""
    info: Any = inspect.type_info(wanted)
    for token in tokens:
        info = _chosen(info, document)
        if isinstance(info, inspect.StructType):
            if token == info.tag_field:
                return info
            info = next((f.type for f in info.fields if f.encode_name == token), None)
        elif isinstance(info, inspect.DictType):
            info = info.value_type
        elif isinstance(info, inspect.VarTupleType | inspect.ListType):
            info = info.item_type
        elif isinstance(info, inspect.UnionType):
            return info
        document = _value(document, [token])
    return _chosen(info, document)


def _chosen(info: Any, value: Any) -> Any:
    """Pick the member of a union that the value is meant to be."""
    if isinstance(info, inspect.Metadata):
        info = info.type
    if not isinstance(info, inspect.UnionType):
        return info
    members: list[Any] = [t for t in info.types if not isinstance(t, inspect.NoneType)]
    tagged = [
        t
        for t in members
        if isinstance(t, inspect.StructType)
        and isinstance(value, dict)
        and value.get(t.tag_field or "") == t.tag
    ]
    if tagged:
        return tagged[0]
    return members[0] if len(members) == 1 else info


def _keys(info: Any, value: Any) -> list[str]:
    if not isinstance(info, inspect.StructType):
        return []
    present = value if isinstance(value, dict) else {}
    return [f.encode_name for f in info.fields if f.encode_name not in present]


def _choices(info: Any) -> list[str]:
    if isinstance(info, inspect.UnionType):
        return sorted(str(t.tag) for t in info.types if isinstance(t, inspect.StructType))
    if isinstance(info, inspect.StructType):
        return [str(info.tag)]
    return [str(value) for value in getattr(info, "values", ())]
