"""Objects of JSON that have the same key twice, which decoding would let pass."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from schedopt.instances.decode_errors import repeated_key

LARGE = 100_000
"""Bytes of text beyond which it pays to look at the type for a shorter way."""


def refuse_repeated_keys(data: bytes, record: Any, wanted: Any) -> None:
    """Raise `InputError` with place and key if an object of a text, decoded, has a key twice."""
    if _may_repeat(data, record, wanted) and (repeated := repeated_key(data)):
        raise repeated


def _may_repeat(data: bytes, record: Any, wanted: Any) -> bool:
    r"""Tell whether some object may have a key twice; quick, and sure where it says no.

    Each key has a colon. Decoding keeps one key of those that are equal, so that encoding again
    gives fewer colons than there were, and never more unless one was written as ``\u003a``.
    """
    if b"\\" in data and b"\\u003" in data:  # one byte is found ten times as fast as several
        return True
    colons = _colons(data)
    if len(data) > LARGE and _tagged(data, wanted) and _adds_nulls_at_most(wanted):
        again = msgspec.json.encode(record)
        if _colons(again) - again.count(b":null") >= colons:
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
    """Tell whether a text surely has the tag of its outermost record, which encoding adds."""
    config = getattr(wanted, "__struct_config__", None)
    if config is None or config.tag is None:
        return True
    return re.match(rb'\s*\{\s*"%s"\s*:' % re.escape(config.tag_field.encode()), data) is not None


@cache
def _adds_nulls_at_most(wanted: Any) -> bool:
    """Tell whether all keys that encoding a record gives, and decoding did not find, hold null.

    So it is where fields that hold their default are left out, or are null by default.
    """
    from msgspec import inspect

    plain = (
        inspect.NoneType, inspect.BoolType, inspect.IntType, inspect.FloatType, inspect.StrType,
        inspect.LiteralType, inspect.AnyType,
    )  # fmt: skip
    seen: set[type] = set()

    def fine(info: inspect.Type, alone: bool = True) -> bool:
        match info:
            case inspect.Metadata():
                found = fine(info.type, alone)
            case inspect.UnionType():
                records = sum(isinstance(t, inspect.StructType) for t in info.types)
                found = all(fine(t, alone=records < 2) for t in info.types)
            case inspect.ListType() | inspect.VarTupleType():
                found = fine(info.item_type)
            case inspect.TupleType():
                found = all(map(fine, info.item_types))
            case inspect.DictType():
                found = fine(info.key_type) and fine(info.value_type)
            case inspect.StructType():  # one that is alone in its place need not have its tag
                tagged = info.cls.__struct_config__.tag is not None
                found = not (alone and tagged) and (info.cls in seen or whole(info))
            case _:
                found = isinstance(info, plain)
        return found

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
    return whole(info) if isinstance(info, inspect.StructType) else fine(info)
