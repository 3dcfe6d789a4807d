"""Base classes of records, types of their fields, and the base class of side constraints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
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

        def __call__(self, **given: Any) -> Any:
            names = dict(zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True))
            if given.keys() - names.keys():
                return super().__call__(**given)  # which says what is wrong
            filed = {names[key]: value for key, value in given.items()}
            rules = filed.get("constraints", ())
            is_built = isinstance(rules, list | tuple) and len(rules) > 0
            if is_built := is_built and all(isinstance(rule, Constraint) for rule in rules):
                del filed["constraints"]  # which may be of any kind, such as a plug-in's
            built = _converted(filed, self)
            if is_built:
                msgspec.structs.force_setattr(built, "constraints", tuple(rules))
                built.__post_init__()
            for key in given:  # files hold finite numbers only
                value = getattr(built, key)
                for number in value.values() if isinstance(value, dict) else (value,):
                    if isinstance(number, float) and not isfinite(number):
                        raise InputError("a finite number", found=quote(number), place=names[key])
            return built


class CheckedRecord(Record, metaclass=_Checking):
    """Base class of records that users also create in Python; their fields are validated."""


def _converted(filed: dict[str, Any], record: Any) -> Any:
    """Return a record of fields as a file has them, or of numpy's numbers."""
    try:
        return msgspec.convert(filed, record)
    except msgspec.ValidationError:
        try:
            return msgspec.convert(_without_numpy(filed), record)
        except msgspec.ValidationError as failure:
            raise validation_error(failure) from None


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
        if isinstance(use := getattr(self, "use", None), dict):
            yield from ((f"use.{job}", job) for job in use)

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
