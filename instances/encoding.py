"""Encoding of records as JSON, with numpy numbers, strings and arrays as Python's."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


def to_json(record: object, *, order: Literal["sorted"] | None = None) -> bytes:
    """Return a record, or nested dictionaries and lists, as JSON."""
    return msgspec.json.encode(record, enc_hook=_of_numpy, order=order)


def to_builtins(record: object) -> Any:
    """Return a record as dictionaries, lists, numbers, strings and dates."""
    return msgspec.to_builtins(record, enc_hook=_of_numpy)


def _of_numpy(value: Any) -> Any:
    if not hasattr(value, "dtype"):
        raise TypeError(f"{type(value).__name__} is nothing that JSON knows")
    return value.tolist()
