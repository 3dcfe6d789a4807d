"""Strict decoding of JSON into records: no doubled keys, whole numbers as JSON Schema has them."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, overload

import msgspec

from schedopt.instances.decode_errors import explained
from schedopt.instances.errors import placed
from schedopt.instances.repeated_keys import refuse_repeated_keys

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
    with placed(file=file), _no_collection():
        record = _decoded(data, wanted)
        refuse_repeated_keys(data, record, wanted)
    return record


def decode_part(data: bytes, wanted: type[T], *, file: str | None = None) -> T:
    """Decode a type that takes only some of the keys; at the rest, doubled or not, nobody looks."""
    with placed(file=file):
        record: T = _decoded(uncommented(data), wanted)
    return record


def uncommented(data: bytes) -> bytes:
    """Return a text with spaces in place of each line that begins with ``//``.

    No string of JSON goes over the end of a line, so that none is taken for a comment; and places
    in the text stay what they are.
    """
    if b"/" not in data or b"//" not in data:  # one byte is found ten times as fast as two
        return data
    return _COMMENT.sub(lambda line: b" " * len(line[0]), data)


@overload
def convert(raw: object, wanted: type[T], place: str, *, file: str | None = None) -> T: ...


@overload
def convert(raw: object, wanted: object, place: str, *, file: str | None = None) -> Any: ...


def convert(raw: object, wanted: Any, place: str, *, file: str | None = None) -> Any:
    """Convert what JSON or TOML was decoded to into a type; errors are placed below ``place``."""
    with placed(place, file):
        return _decoded(msgspec.json.encode(raw), wanted)


def _decoded(data: bytes, wanted: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=wanted)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as failure:
        rewritten = _rewritten(data) if _WHOLE.match(str(failure)) else None
        if rewritten is None:
            raise explained(failure, data, wanted) from None
    try:
        return msgspec.json.decode(rewritten, type=wanted)
    except (msgspec.DecodeError, RecursionError) as failure:
        raise explained(failure, rewritten, wanted) from None


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

    def whole(value: Any) -> Any:
        if isinstance(value, float):
            return int(value) if value.is_integer() else value
        if isinstance(value, list):
            return [whole(item) for item in value]
        if isinstance(value, dict):
            return {key: whole(item) for key, item in value.items()}
        return value

    try:
        return msgspec.json.encode(whole(msgspec.json.decode(data)))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None  # what is left out by the type may hold anything
