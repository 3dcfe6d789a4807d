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
from schedopt.instances.errors import InputError, at_parameter, listing, quote, suggestion
from schedopt.instances.files import decode, encode, parse
from schedopt.instances.protocol import AnyInstance, problem_name
from schedopt.problems import problem as record_of
from schedopt.problems import problem_of
from schedopt.sweep.measure import Task, expect_whole
from schedopt.sweep.sources import Source
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


@dataclass(frozen=True)
class VariedSource(Source):
    """The documents of an instance and of further rules, with values at some of their places."""

    label: str
    document: Mapping[str, Any]
    rules: tuple[object, ...]
    values: Mapping[str, Value]

    def read(self) -> tuple[AnyInstance, list[Constraint], dict[str, Value]]:
        """Decode and return the instance, further rules, and options."""
        own, more, options = with_values(self.document, self.rules, self.values)
        with at_parameter("vary"):
            instance = parse(encode(own))
            return instance, _rules_from(encode(more), problem_name(instance)), options


@dataclass(frozen=True, kw_only=True)
class Variant(Task):
    """One combination of values to be solved."""

    source: VariedSource
    how: Mapping[str, Any]  # further arguments of `schedopt.solve`

    def compute(self, rows: list[Any]) -> None:
        """Solve the combination, and append its row."""
        instance, rules, options = self.source.read()
        how = {**self.how, "options": {**self.how["options"], **options}}
        result = expect_whole(solve(instance, constraints=rules, **how))
        document = result.document()
        row = Variation(
            **{name: getattr(document, name) for name in SAME},
            values=dict(self.source.values),
            formulation=str(document.formulation),
            solver=str(document.solver),
            shares={by: dict(parts) for by, parts in problem_of(instance).shares(result).items()},
            message=str(document.message or ""),
            seconds=document.seconds.solve,
            key=self.digest,
        )
        rows.append(row)


@dataclass(frozen=True)
class Vary:
    """A place, and the values that it takes."""

    place: str
    values: tuple[Value, ...]

    @classmethod
    def of(cls, text: str, number: Callable[[str], float]) -> Vary:
        """Read ``PLACE=VALUES``: values with commas between, each one or ``FIRST:LAST:STEP``."""
        place, _, listed = text.partition("=")
        if not place or not listed:
            raise InputError("PLACE=VALUES", found=quote(text), parameter="vary")
        values = [value for part in listed.split(",") for value in _values(part.strip(), number)]
        return cls(place, tuple(dict.fromkeys(values)))


def _values(part: str, number: Callable[[str], float]) -> Iterator[Value]:
    ends = part.split(":")
    if len(ends) == 3:
        if units := sum(end[-1:].isalpha() for end in ends):
            if units < 3:
                expected = "a unit on each of FIRST:LAST:STEP, or on none"
                raise InputError(expected, found=quote(part), parameter="vary")
            ends = [str(number(end)) for end in ends]
        try:
            first, last, step = map(Decimal, ends)
        except InvalidOperation:
            expected = "three numbers as FIRST:LAST:STEP, perhaps each with a unit"
            raise InputError(expected, found=quote(part), parameter="vary") from None
        steps = (last - first) / step if step else Decimal(-1)
        if not (steps.is_finite() and 0 <= steps < MOST):
            expected = f"FIRST:LAST:STEP of at most {MOST:,} values"
            raise InputError(expected, found=quote(part), parameter="vary")
        for i in range(int(steps) + 1):
            yield _plain(first + i * step)
        return
    if not part:
        raise InputError("a value between two commas", found="nothing", parameter="vary")
    try:
        yield _plain(Decimal(part))
    except InvalidOperation:
        try:
            yield number(part)
        except InputError:
            if len(ends) == 2 and "".join(ends).isdecimal():  # a time by the clock of a night
                raise
            yield {"true": True, "false": False}.get(part, part)


def _plain(value: Decimal) -> float | int:
    if not value.is_finite():
        raise InputError("a finite number", found=str(value), parameter="vary")
    return int(value) if value == value.to_integral_value() else float(value)


def combinations(varied: Sequence[Vary]) -> list[dict[str, Value]]:
    """Return every combination of values, the last place changing fastest."""
    places = [vary.place for vary in varied]
    for place in places:
        if places.count(place) > 1:
            raise InputError("each place once", found=f"{place} twice", parameter="vary")
    count = prod(len(vary.values) for vary in varied)
    if count > MOST:
        raise InputError(f"at most {MOST:,} combinations", found=f"{count:,}", parameter="vary")
    return [
        dict(zip(places, values, strict=True)) for values in product(*(v.values for v in varied))
    ]


def with_values(
    document: Mapping[str, Any], rules: Sequence[object], values: Mapping[str, Value]
) -> tuple[dict[str, Any], list[Any], dict[str, Value]]:
    """Return an instance's document, further rules and options with values at their places."""
    own: dict[str, Any] = msgspec.json.decode(to_json(document))
    more: list[Any] = msgspec.json.decode(to_json(rules))
    options: dict[str, Value] = {}
    for place, value in values.items():
        first, _, rest = place.partition(".")
        if first == "option" and rest:
            options[rest] = value
        elif _is_resource(place, own):
            _set(own["constraints"], f"{place}.capacity", value, place)
        elif first == "rules" and rest:
            if more and own.get("constraints") and rest.split(".")[0].isdecimal():
                expected = "a rule's name: the file has rules, too, and a number may be of either"
                raise InputError(expected, found=quote(place), parameter="vary")
            _set([*own.get("constraints", []), *more], rest, value, place)
        else:
            _set(own, place, value, place)
    return own, more, options


def _is_resource(name: str, document: Mapping[str, Any]) -> bool:
    """Return True if an instance has a rule of this name that limits a total, such as a budget."""
    rules = [rule for rule in document.get("constraints", ()) if rule.get("name") == name]
    return name not in document and any(rule.get("kind") == "resource" for rule in rules)


def _set(holder: Any, path: str, value: Value, place: str) -> None:
    """Put a value at the place that a path leads to from an object or a list."""
    names = _names(holder)
    if path in names:
        if isinstance(holder, list):
            raise InputError(
                "a field of this object", found=quote(path), parameter="vary", place=place
            )
        holder[path] = value
        return
    longest = max((name for name in names if path.startswith(f"{name}.")), key=len, default=None)
    if longest is not None:
        inner = holder[names[longest]]
        if not isinstance(inner, dict | list):
            raise InputError(
                "a field that contains other fields",
                found=quote(longest),
                parameter="vary",
                place=place,
            )
        _set(inner, path[len(longest) + 1 :], value, place)
    elif isinstance(holder, dict) and "." not in path:
        holder[path] = value  # a field that the file omits; decoding checks it
    else:
        head = path.split(".", maxsplit=1)[0]
        hint = suggestion(head, names) or listing(names)
        raise InputError(
            f"a place in the file{hint}", found=quote(head), parameter="vary", place=place
        )


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


def _rules_from(data: bytes, problem: str) -> list[Constraint]:
    """Read side constraints of a problem from JSON: a list of them."""
    union: Any = reduce(or_, record_of(problem).constraint_kinds().values())
    return list(decode(data, tuple[union, ...]))
