"""Strict decoding of JSON into records: no doubled keys, whole numbers as JSON Schema has them."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, overload

import msgspec

from instances.decode_errors import explained, lenient, written
from instances.errors import InputError, shown

T = TypeVar("T")
_COMMENT = re.compile(rb"^[ \t]*//[^\r\n]*", re.MULTILINE)
_WHOLE = re.compile(r"Expected `[^`]*\bint\b[^`]*`, got `float`")


@overload
def decode(data: bytes, wanted: type[T], *, file: str | None = None) -> T: ...


@overload
def decode(data: bytes, wanted: object, *, file: str | None = None) -> Any: ...


def decode(data: bytes, wanted: Any, *, file: str | None = None) -> Any:
    """Decode JSON strictly into a type.

    A whole number may be written as JSON Schema allows it: ``10``, ``10.0`` or ``1e1``. Lines that
    begin with ``//`` are comments.

    Parameters
    ----------
    data : bytes
        The text.
    wanted : type
        What it should become, such as a record or a union of records.
    file : str, optional
        Where it is from, for messages.

    Raises
    ------
    InputError
        With the file, the place, what was found and what was expected; also where an object has
        the same key twice.
    """
    data = uncommented(data)
    try:
        record = _decoded(data, wanted)
        if _may_repeat_a_key(data):
            _refuse_repeated_keys(data)
    except InputError as error:
        error.file = file
        raise
    return record


def decode_part(data: bytes, wanted: type[T], *, file: str | None = None) -> T:
    """Decode a type that takes only some of the keys; the rest is not looked at.

    Raises
    ------
    InputError
        As `decode` does, but for repeated keys.
    """
    try:
        return _decoded(uncommented(data), wanted)  # type: ignore[no-any-return]
    except InputError as error:
        error.file = file
        raise


def uncommented(data: bytes) -> bytes:
    """Return a text with spaces in place of each line that begins with ``//``.

    No string of JSON goes over the end of a line, so that none is taken for a comment; and places
    in the text stay what they are.
    """
    return _COMMENT.sub(lambda line: b" " * len(line[0]), data) if b"//" in data else data


@overload
def convert(raw: object, wanted: type[T], place: str, *, file: str | None = None) -> T: ...


@overload
def convert(raw: object, wanted: object, place: str, *, file: str | None = None) -> Any: ...


def convert(raw: object, wanted: Any, place: str, *, file: str | None = None) -> Any:
    """Convert what JSON or TOML was decoded to strictly into a type.

    Raises
    ------
    InputError
        With the place below ``place``, what was found and what was expected.
    """
    try:
        return _decoded(msgspec.json.encode(raw), wanted)
    except InputError as error:
        error.file = file
        raise error.within(place) from None


def _decoded(data: bytes, wanted: Any) -> Any:
    try:
        return _typed(data, wanted)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as failure:
        rewritten = _rewritten(data) if _WHOLE.match(str(failure)) else None
        if rewritten is None:
            raise explained(failure, data, wanted) from None
    try:
        return _typed(rewritten, wanted)
    except (msgspec.DecodeError, RecursionError) as failure:
        raise explained(failure, rewritten, wanted) from None


def _typed(data: bytes, wanted: Any) -> Any:
    with _no_collection():
        return msgspec.json.decode(data, type=wanted)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking through what is being read, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _rewritten(data: bytes) -> bytes | None:
    """Return a text with 10 in place of 10.0; where a float is wanted, that is as good."""
    try:
        return msgspec.json.encode(_with_whole_numbers(msgspec.json.decode(data)))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None  # what is left out by the type may hold anything


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_whole_numbers(item) for key, item in value.items()}
    return value


def _may_repeat_a_key(data: bytes) -> bool:
    """Tell whether some object may have a key twice; quick, and sure where it says no.

    Each key has a colon. Decoding keeps one key of those that are equal, so that encoding again
    gives fewer colons than there were, and never more unless one was written as an escape.
    """
    if b"\\u003" in data:
        return True
    try:
        with _no_collection():
            once = msgspec.json.encode(msgspec.json.decode(data))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return True  # what the record skips may hold anything
    return once.count(b":") < data.count(b":")


class _Repeating(dict[str, Any]):
    """An object that had the same key twice."""

    def __init__(self, found: dict[str, Any], key: str) -> None:
        super().__init__(found)
        self.key = key


def _refuse_repeated_keys(data: bytes) -> None:
    def gathered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        keys = [key for key, _ in pairs]
        return _Repeating(found, next(key for i, key in enumerate(keys) if key in keys[:i]))

    try:
        document = lenient(data, gathered)
    except RecursionError:
        raise InputError("JSON", found="brackets nested thousands deep") from None
    except UnicodeDecodeError:
        raise InputError("text in UTF-8", found="bytes that are not") from None
    for place, value in _objects(document):
        if isinstance(value, _Repeating):
            raise InputError(
                "each key once in an object",
                found=f"the key {shown(value.key)} twice",
                place=written(place),
            )


def _objects(document: Any) -> Iterator[tuple[list[str | int], Any]]:
    """Yield every object in a document with its place, outer ones first."""
    waiting: list[tuple[list[str | int], Any]] = [([], document)]
    while waiting:
        place, value = waiting.pop()
        inside: list[tuple[str | int, Any]] = []
        if isinstance(value, dict):
            yield place, value
            inside = list(value.items())
        elif isinstance(value, list):
            inside = list(enumerate(value))
        waiting += [
            ([*place, key], item) for key, item in reversed(inside) if isinstance(item, dict | list)
        ]
