"""JSON: encoding of records, and strict decoding with msgspec's messages after file and place."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, Literal, TypeVar, overload

import msgspec

from schedopt.instances.errors import FormatError, InputError, at_place, decode_utf8, position

T = TypeVar("T")
_COMMENT = re.compile(rb"^[ \t]*//[^\r\n]*", re.MULTILINE)


def to_json(record: object, *, order: Literal["sorted"] | None = None) -> bytes:
    """Return a record, or nested dictionaries and lists, as JSON; numpy's numbers are Python's."""
    return msgspec.json.encode(record, enc_hook=_of_numpy, order=order)


def _of_numpy(value: Any) -> Any:
    if not hasattr(value, "dtype"):
        raise TypeError(f"{type(value).__name__} is nothing that JSON knows")
    return value.tolist()


@overload
def decode(data: bytes, wanted: type[T], *, file: str | None = None) -> T: ...


@overload
def decode(data: bytes, wanted: object, *, file: str | None = None) -> Any: ...


def decode(data: bytes, wanted: Any, *, file: str | None = None) -> Any:
    """Decode JSON into a type; `InputError` names the file and the place.

    A whole number may be written as JSON Schema allows it: ``10``, ``10.0`` or ``1e1``. Lines that
    begin with ``//`` are comments.
    """
    with at_place(file=file):
        if not data.strip():
            raise FormatError("the file is empty; expected JSON")
        return _decode(strip_comments(data), wanted)


def strip_comments(data: bytes) -> bytes:
    """Return the text with spaces in place of ``//`` comment lines; positions stay the same."""
    return _COMMENT.sub(lambda line: b" " * len(line[0]), data) if b"//" in data else data


def convert(raw: object, wanted: Any, place: str, *, file: str | None = None) -> Any:
    """Convert what JSON or TOML was decoded to into a type; errors are placed below ``place``."""
    with at_place(place, file):
        return _decode(to_json(raw), wanted)


def _decode(data: bytes, wanted: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=wanted)
    except msgspec.ValidationError as error:
        failure = error
    except RecursionError:
        raise FormatError("JSON is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        decode_utf8(data)
        what, byte, offset = str(error).removesuffix(")").partition(" (byte ")
        raise FormatError(what, place=position(data, int(offset)) if byte else "") from None
    if "got `float`" in str(failure):
        try:
            return msgspec.convert(json.loads(data, parse_float=_number), wanted)
        except msgspec.ValidationError as error:
            failure = error
        except (ValueError, RecursionError):
            pass
    raise validation_error(failure) from None


def _number(text: str) -> int | float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return int(value) if value.is_integer() else value


def validation_error(failure: msgspec.ValidationError) -> InputError:
    """Return msgspec's error about a wrong value as an `InputError` with its place."""
    what, separator, path = str(failure).rpartition(" - at ")
    place = path.replace("`", "").replace("$.", "").replace("$", "") if separator else ""
    if isinstance(failure.__cause__, InputError):
        return failure.__cause__.within(place)
    return FormatError(what if separator else path, place=place)
