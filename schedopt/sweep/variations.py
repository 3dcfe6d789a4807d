"""What-ifs: an instance, solved for each combination of values at some of its places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import reduce
from itertools import product
from math import prod
from operator import or_
from typing import Any

import msgspec

from schedopt.instances.constraints import Constraint
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import (
    InputError,
    at_parameter,
    at_place,
    listing,
    quote,
    suggestion,
)
from schedopt.instances.files import decode, encode, parse
from schedopt.instances.protocol import AnyInstance, problem_name
from schedopt.problems import problem as record_of
from schedopt.problems import problem_of
from schedopt.sweep.measure import expect_whole
from schedopt.sweep.pool import Task
from schedopt.verbs.solve import solve

MOST = 10_000  # combinations of one call
Value = float | int | str | bool  # a value at a place

SAME = (
    "instance",
    "problem",
    "termination",
    "solution_status",
    "objective",
    "bound",
    "gap",
    "violations",
    "conflict",
)
"""Fields of a row that equal those of the result's document."""


class Variation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One combination of values, solved."""

    instance: str
    problem: str
    values: dict[str, Value]  # the value at each place
    formulation: str
    solver: str
    termination: str
    solution_status: str
    objective: float | None
    bound: float | None
    gap: float | None
    shares: dict[str, dict[str, float]] = {}  # of a solution with shares: by grouping and group
    violations: tuple[str, ...] = ()
    conflict: tuple[str, ...] = ()
    message: str = ""
    seconds: float = 0.0
    key: str = ""  # a digest of everything that the row depends on


@dataclass(frozen=True, kw_only=True)
class Variant(Task):
    """One combination of values: the documents of an instance and of rules, with the values."""

    document: Mapping[str, Any]
    rules: Sequence[object]
    values: Mapping[str, Value]
    how: Mapping[str, Any]  # further arguments of `schedopt.solve`

    def read(self) -> tuple[AnyInstance, list[Constraint], dict[str, Value]]:
        """Decode and return the instance, further rules, and options."""
        own, more, options = with_values(self.document, self.rules, self.values)
        with at_parameter("vary"):
            instance = parse(encode(own))
            kinds = record_of(problem_name(instance)).constraint_kinds().values()
            union: Any = reduce(or_, kinds)
            return instance, list(decode(encode(more), tuple[union, ...])), options

    def rows(self) -> Iterator[Variation]:
        """Solve the combination, and yield its row."""
        instance, rules, options = self.read()
        how = {**self.how, "options": {**self.how["options"], **options}}
        result = expect_whole(solve(instance, constraints=rules, **how))
        document = result.document()
        yield Variation(
            **{name: getattr(document, name) for name in SAME},
            values=dict(self.values),
            formulation=str(document.formulation),
            solver=str(document.solver),
            shares={by: dict(parts) for by, parts in problem_of(instance).shares(result).items()},
            message=str(document.message or ""),
            seconds=document.seconds.solve,
            key=self.runs[0].key,
        )


def combinations(varied: Sequence[str], number: Callable[[str], float]) -> list[dict[str, Value]]:
    """Return every combination of values at places, the last place changing fastest.

    Parameters
    ----------
    varied : sequence of str
        ``PLACE=VALUES``: values with commas between, each one or ``FIRST:LAST:STEP``.
    number : callable
        Returns a time with a unit, or by the clock, as a number; `InputError` for other texts.
    """
    values_at: dict[str, dict[Value, None]] = {}
    with at_parameter("vary"):
        for text in varied:
            place, _, listed = text.partition("=")
            if not place or not listed:
                raise InputError("PLACE=VALUES", found=quote(text))
            if place in values_at:
                raise InputError("each place once", found=f"{place} twice")
            parts = listed.split(",")
            values = (value for part in parts for value in _values(part.strip(), number))
            values_at[place] = dict.fromkeys(values)
        count = prod(map(len, values_at.values()))
        if count > MOST:
            raise InputError(f"at most {MOST:,} combinations", found=f"{count:,}")
    return [dict(zip(values_at, values, strict=True)) for values in product(*values_at.values())]


def _values(part: str, number: Callable[[str], float]) -> Iterator[Value]:
    """Yield the values of ``VALUE`` or ``FIRST:LAST:STEP``."""
    ends = part.split(":")
    if len(ends) != 3:
        yield _value(part, number)
        return
    try:
        first, last, step = (Decimal(str(_value(end, number))) for end in ends)
        steps = (last - first) / step
    except (InvalidOperation, ZeroDivisionError):
        steps = Decimal("nan")
    if not (steps.is_finite() and 0 <= steps < MOST):
        raise InputError(f"FIRST:LAST:STEP of at most {MOST:,} values", found=quote(part))
    for i in range(int(steps) + 1):
        yield _value(str(first + i * step), number)


def _value(text: str, number: Callable[[str], float]) -> Value:
    """Return a number, a time as a number, a truth value, or the text itself."""
    if not text:
        raise InputError("a value between two commas", found="nothing")
    try:
        value = Decimal(text)
    except InvalidOperation:
        try:
            return number(text)
        except InputError:
            if text.replace(":", "").isdecimal():  # a time by the clock of a night without dates
                raise
            return {"true": True, "false": False}.get(text, text)
    if not value.is_finite():
        raise InputError("a finite number", found=text)
    return int(value) if value == value.to_integral_value() else float(value)


def with_values(
    document: Mapping[str, Any], rules: Sequence[object], values: Mapping[str, Value]
) -> tuple[dict[str, Any], list[Any], dict[str, Value]]:
    """Return an instance's document, further rules and options with values at their places."""
    own: dict[str, Any] = msgspec.json.decode(to_json(document))
    more: list[Any] = msgspec.json.decode(to_json(rules))
    options: dict[str, Value] = {}
    for place, value in values.items():
        first, _, rest = place.partition(".")
        held = own.get("constraints", [])
        with at_parameter("vary"), at_place(place):
            if first == "option" and rest:
                options[rest] = value
            elif place not in own and any(
                rule.get("kind") == "resource" and rule.get("name") == place for rule in held
            ):  # a rule that limits a total, such as a budget
                _set(held, f"{place}.capacity", value)
            elif first == "rules" and rest:
                if more and held and rest.split(".")[0].isdecimal():
                    expected = "a rule's name, since a number may be of a rule of the file"
                    raise InputError(expected, found=quote(place))
                _set([*held, *more], rest, value)
            else:
                _set(own, place, value)
    return own, more, options


def _set(holder: Any, path: str, value: Value) -> None:
    """Put a value at the place that a path leads to from an object or a list."""
    names = _names(holder)
    inside = max((name for name in names if path.startswith(f"{name}.")), key=len, default=None)
    if path in names and isinstance(holder, dict):
        holder[path] = value
    elif inside is not None:
        inner = holder[names[inside]]
        if not isinstance(inner, dict | list):
            raise InputError("a field that contains other fields", found=quote(inside))
        _set(inner, path[len(inside) + 1 :], value)
    elif isinstance(holder, dict) and "." not in path:
        holder[path] = value  # a field that the file omits; decoding checks it
    else:
        head = path if path in names else path.split(".", maxsplit=1)[0]
        hint = suggestion(head, names) or listing(names)
        raise InputError(f"a place in the file{hint}", found=quote(head))


def _names(holder: Any) -> dict[str, Any]:
    """Return the names in an object or a list, and their places."""
    if isinstance(holder, dict):
        return {key: key for key in holder}
    fields: dict[str, Any] = {}
    for i, one in enumerate(holder):
        fields.setdefault(str(i), i)
        if isinstance(one, dict):
            kind = str(one.get("kind", ""))
            for name in (one.get("name"), kind and f"{kind}[{i}]", kind):
                if isinstance(name, str) and name:
                    fields.setdefault(name, i)
    return fields
