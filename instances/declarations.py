"""Base classes of records, types of their fields, and the base class of side constraints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
import msgspec.inspect
from typing_extensions import dataclass_transform

from schedopt.instances.encoding import validation_error
from schedopt.instances.errors import InputError, quote

if TYPE_CHECKING:
    from schedopt.instances.rows import Choice, Columns, Row

Name = Annotated[str, msgspec.Meta(min_length=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
Integer = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
"""A whole number of a solution; floats hold it exactly."""
Jobs = Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base class of immutable file records that refuse unknown keys."""

    def __reduce__(self) -> tuple[object, ...]:
        """Return the state for pickling and copying; fields at their defaults stay omitted."""
        names, defaults = self.__struct_fields__, self.__struct_defaults__
        omitted = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        fields = {name: getattr(self, name) for name in names}
        given = {n: v for n, v in fields.items() if n not in omitted or v is not omitted[n]}
        return partial(_unpickled, type(self), **given), ()


def _unpickled(record: type[Record], **fields: Any) -> Record:
    """Return a record of fields that are already validated."""
    built: Record = msgspec.StructMeta.__call__(record, **fields)
    return built


class _Checking(msgspec.StructMeta):
    """Metaclass that validates records created in Python; decoded records are validated already."""

    if not TYPE_CHECKING:  # constructors take what the fields say

        def __call__(self, *values: Any, **given: Any) -> Any:
            if values:
                named = dict(zip(self.__struct_fields__, values, strict=False))
                if len(named) < len(values) or named.keys() & given.keys():
                    return super().__call__(*values, **given)  # which says what is wrong
                given |= named
            return super().__call__(**_checked_fields(self, given))


class CheckedRecord(Record, metaclass=_Checking):
    """Base class of records that users also create in Python; their fields are validated."""


def _checked_fields(record: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return fields as a file reader would decode them; `InputError` if no file could hold them."""
    rules = given.get("constraints", ())
    others = isinstance(rules, list | tuple) and all(isinstance(r, Constraint) for r in rules)
    shape = _shape(record, others)
    names = dict(zip(record.__struct_fields__, record.__struct_encode_fields__, strict=True))
    filed = {names[key]: value for key, value in given.items() if key in names}
    try:
        seen = msgspec.convert(filed, shape)
    except msgspec.ValidationError:
        try:
            seen = msgspec.convert(_without_numpy(filed), shape)
        except msgspec.ValidationError as failure:
            raise validation_error(failure) from None
    fields = {key: getattr(seen, key) if key in names else value for key, value in given.items()}
    for key, value in fields.items():  # files hold finite numbers only
        for number in value.values() if isinstance(value, dict) else (value,):
            if isinstance(number, float) and not isfinite(number):
                raise InputError("a finite number", found=quote(number), place=names[key])
    return fields


@cache
def _shape(record: Any, other_kinds: bool) -> Any:
    """Return a type with the fields of a record, without the checks of several fields together.

    With ``other_kinds`` the side constraints may be of any kind, such as a plug-in's.
    """
    fields = list[tuple[str, Any, Any]]()
    for field in msgspec.structs.fields(record):
        kind: Any = tuple[Any, ...] if other_kinds and field.name == "constraints" else field.type
        try:
            msgspec.inspect.type_info(kind)
        except TypeError:  # a kind of a user's own may hold what no file does
            kind = Any
        fields.append((field.name, kind, None))
    names = dict(zip(record.__struct_fields__, record.__struct_encode_fields__, strict=True))
    return msgspec.defstruct(record.__name__, fields, rename=names, gc=False)


def _without_numpy(value: Any) -> Any:
    """Return numpy numbers and arrays, and lists of these, as Python objects."""
    if isinstance(value, list | tuple):
        return tuple(map(_without_numpy, value))
    if isinstance(value, dict):
        return {_without_numpy(key): _without_numpy(inner) for key, inner in value.items()}
    return _without_numpy(value.tolist()) if hasattr(value, "dtype") else value


def check_bounds(at_least: float | None, at_most: float | None, whose: str) -> None:
    """Raise `InputError` if a share has neither a floor nor a cap, or a floor above its cap."""
    if at_most is None and at_least is None:
        raise InputError("`at_most` or `at_least`, or both")
    if (at_least or 0.0) > (1.0 if at_most is None else at_most):
        expected = f"at most {at_most}, {whose} own `at_most`"
        raise InputError(expected, found=quote(at_least), place="at_least")


class Constraint(CheckedRecord, kw_only=True, tag_field="kind"):
    """Base class of side constraints: a kind (the JSON tag) and an optional name.

    A kind for selections of jobs overrides `rows` and `violations`.

    Attributes
    ----------
    name : str, optional
        The name that conflicts and violations report.
    """

    example: ClassVar[dict[str, Any] | None] = None
    """An example as a file writes it, for ``explain``, the schema and the manual.

    Its jobs and groups are those of the instances that ``schedopt new`` writes.
    """

    name: Name | None = None

    @classmethod
    def kind(cls) -> str:
        """Return the JSON tag of this kind, such as ``fair-share``."""
        return str(cls.__struct_config__.tag)

    def jobs_named(self) -> Iterator[tuple[str, str]]:
        """Yield the jobs that the constraint refers to, as (place in the constraint, name)."""
        for i, job in enumerate(getattr(self, "jobs", None) or ()):
            yield f"jobs[{i}]", job
        for job in getattr(self, "use", ()):
            yield f"use.{job}", job

    def groups_named(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield the groups that the constraint refers to, as (place, grouping, group or None)."""
        yield from ()

    def rows(self, columns: Columns) -> Iterable[Row]:
        """Return what the constraint means for a model: linear rows over its 0-1 columns.

        `NotImplementedError` if the kind does not apply to selected jobs.
        """
        raise NotImplementedError

    def violations(self, choice: Choice) -> Iterable[str]:
        """Return how selected jobs violate the constraint, independently of `rows`.

        `NotImplementedError` if the kind cannot be judged on selected jobs.
        """
        raise NotImplementedError
