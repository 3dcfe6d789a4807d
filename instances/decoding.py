"""Strict decoding of JSON into records: no doubled keys, whole numbers as JSON Schema has them."""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, overload

import msgspec

from schedopt.instances.decimals import may_lose_whole
from schedopt.instances.decode_errors import explained, lost_number, repeated_key
from schedopt.instances.errors import placed

T = TypeVar("T")
LARGE = 100_000  # from this length in bytes, looking for repeated keys by the record type is faster
_COMMENT = re.compile(rb"^[ \t]*//[^\r\n]*", re.MULTILINE)
_WHOLE = re.compile(r"Expected `[^`]*\bint\b[^`]*`, got `float`")


@overload
def decode(data: bytes, wanted: type[T], *, file: str | None = None) -> T: ...


@overload
def decode(data: bytes, wanted: object, *, file: str | None = None) -> Any: ...


def decode(data: bytes, wanted: Any, *, file: str | None = None) -> Any:
    """Decode JSON strictly into a type.

    A whole number may be written as JSON Schema allows it: ``10``, ``10.0`` or ``1e1``. Lines that
    begin with ``//`` are comments. `InputError` tells the file and the place, what was found and
    what was expected; also where a key is repeated, or no double holds a number (see
    `instances.decimals`).
    """
    data = uncommented(data)
    with placed(file=file), no_collection():
        record = _decoded(data, wanted)
        if lost := lost_number(data, wanted):
            raise lost
        if _may_repeat(data, record, wanted) and (repeated := repeated_key(data)):
            raise repeated
    return record


def decode_part(data: bytes, wanted: type[T], *, file: str | None = None) -> T:
    """Decode a type with only some of the keys; others, repeated or not, are ignored."""
    with placed(file=file):
        record: T = _decoded(uncommented(data), wanted)
    return record


def uncommented(data: bytes) -> bytes:
    """Return a text with spaces for lines that begin with ``//``: places stay what they are."""
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
        data = msgspec.json.encode(raw)
        record = _decoded(data, wanted)
        if may_lose_whole(data) and (lost := lost_number(data, wanted)):
            raise lost
        return record


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
def no_collection() -> Iterator[None]:
    """Suspend the garbage collector, which would scan a growing record again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _rewritten(data: bytes) -> bytes | None:
    """Return a text with 10 in place of 10.0, which serves for floats too."""

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


# --- repeated keys ------------------------------------------------------------------------------


def _may_repeat(data: bytes, record: Any, wanted: Any) -> bool:
    r"""Tell quickly whether some object may have a repeated key; False is certain.

    Each key has a colon. Decoding keeps one key of those that are equal, so that encoding again
    gives fewer colons than there were, and never more unless one was written as ``\u003a``.
    """
    if b"\\" in data and b"\\u003" in data:  # one byte is found ten times as fast as several
        return True
    colons = _colons(data)
    tags = _tags_added(wanted) if len(data) > LARGE and _tagged(data, wanted) else None
    if tags is not None:
        again = msgspec.json.encode(record)
        added = sum(again.count(tag) - min(again.count(tag), data.count(tag)) for tag in tags)
        if _colons(again) - again.count(b":null") - added >= colons:
            return False  # else some key was written that holds its default
    try:
        once = msgspec.json.encode(msgspec.json.decode(data))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return True  # what the record skips may hold anything
    return once.count(b":") < colons


def _colons(data: bytes) -> int:
    if len(data) <= LARGE:
        return data.count(b":")
    import numpy as np

    text, block = np.frombuffer(data, np.uint8), 1 << 16
    parts = (text[at : at + block] for at in range(0, len(text), block))
    return sum(int(np.count_nonzero(part == ord(":"))) for part in parts)


def _tagged(data: bytes, wanted: Any) -> bool:
    """Tell whether a text certainly has its outermost record's tag, which encoding adds."""
    config = getattr(wanted, "__struct_config__", None)
    if config is None or config.tag is None:
        return True
    return re.match(rb'\s*\{\s*"%s"\s*:' % re.escape(config.tag_field.encode()), data) is not None


@cache
def _tags_added(wanted: Any) -> frozenset[bytes] | None:
    """Return the tags that encoding may add to what was decoded; None if it may add more."""
    from msgspec import inspect

    plain = (
        inspect.NoneType,
        inspect.BoolType,
        inspect.IntType,
        inspect.FloatType,
        inspect.StrType,
        inspect.LiteralType,
        inspect.AnyType,
    )
    seen: set[type] = set()
    tags: set[bytes] = set()

    def fine(info: inspect.Type, alone: bool = True) -> bool:
        match info:
            case inspect.Metadata():
                sure = fine(info.type, alone)
            case inspect.UnionType():
                records = sum(isinstance(t, inspect.StructType) for t in info.types)
                sure = all(fine(t, alone=records < 2) for t in info.types)
            case inspect.ListType() | inspect.VarTupleType():
                sure = fine(info.item_type)
            case inspect.TupleType():
                sure = all(map(fine, info.item_types))
            case inspect.DictType():
                sure = fine(info.key_type) and fine(info.value_type)
            case inspect.StructType():  # one that is alone in its place need not have its tag
                config = info.cls.__struct_config__
                if alone and config.tag is not None:
                    tags.add(msgspec.json.encode({config.tag_field: config.tag})[1:-1])
                sure = info.cls in seen or whole(info)
            case _:
                sure = isinstance(info, plain)
        return sure

    def whole(info: inspect.StructType) -> bool:
        seen.add(info.cls)
        omits = info.cls.__struct_config__.omit_defaults and not info.array_like
        known = (msgspec.NODEFAULT, list, dict, set)
        return all(
            (field.required or field.default is None or (omits and field.default_factory in known))
            and fine(field.type)
            for field in info.fields
        )

    info = inspect.type_info(wanted)
    sure = whole(info) if isinstance(info, inspect.StructType) else fine(info)
    return frozenset(tags) if sure else None
