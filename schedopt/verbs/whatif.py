"""The verb whatif: solves an instance for every combination of values at some places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import reduce
from itertools import product
from math import prod
from operator import or_
from pathlib import Path
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
from schedopt.instances.options import Options
from schedopt.instances.protocol import AnyInstance, problem_name
from schedopt.problems import problem as record_of
from schedopt.problems import problem_of
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import finishing
from schedopt.sweep.measure import digest_of, expect_whole
from schedopt.sweep.pool import PlannedRun, Task, expect_jobs, finish_tasks
from schedopt.sweep.rows import LINES, Journal
from schedopt.verbs.load import load
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


def whatif(
    what: AnyInstance | str | Path,
    vary: Sequence[str],
    *,
    formulation: str | None = None,
    solver: str | None = None,
    constraints: Sequence[Constraint] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
    jobs: int = 1,
    output: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Variation]:
    """Solve an instance for every combination of values at some of its places.

    Parameters
    ----------
    what : Instance, str or Path
        The instance; a path is loaded. The night of a plan document is solved as a schedule, with
        the side constraints of the plan.
    vary : sequence of str
        ``PLACE=VALUES``. A place is a path of names separated by points: ``processors``,
        ``deadline``, ``jobs.hero.reward``, ``rules.cap.at_most.fx`` (a side constraint by its name,
        or by kind and position), ``option.fill``. Values are separated by commas, or are
        ``FIRST:LAST:STEP``; times may have units, such as ``12h``, or be times of day.
    formulation, solver, constraints, time_limit, gap, seed, options
        See `solve`.
    jobs : int
        The number of processes.
    output : path, optional
        A .jsonl file, to which rows are appended, and whose rows are not computed again.
    progress : callable, optional
        Called with the number of combinations that are done, and the number of all.

    Returns
    -------
    list of Variation
        A row for each combination; the values of the last place change fastest.

    Raises
    ------
    InputError
        If a place, a value or another argument is not valid, before anything is solved.
    SweepInterrupt
        At Ctrl-C: a `KeyboardInterrupt` with the ``rows`` that are done.
    """
    expect_jobs(jobs)
    if output is not None and Path(output).suffix.lower() != LINES:
        raise InputError(f"a name ending in {LINES}", file=str(output))
    if isinstance(what, str | Path):
        what, of_plan, planned = question_of(what)
        constraints, formulation = [*of_plan, *constraints], formulation or planned
    how = {
        "formulation": formulation,
        "solver": solver,
        "time_limit": time_limit,
        "gap": gap,
        "seed": seed,
        "options": dict(options or {}),
    }
    if not vary:
        raise InputError("PLACE=VALUES", found="nothing", parameter="vary")
    record = problem_of(what)
    document = msgspec.json.decode(to_json(what))
    rules = tuple(msgspec.json.decode(to_json(list(constraints))))
    variants = []
    for values in combinations(vary, lambda text: record.quantity(text, what)):
        run = PlannedRun(digest_of(document, rules, values, how))
        asked = {"document": document, "rules": rules, "values": values, "how": how}
        variants.append(Variant(label=what.name, runs=(run,), **asked))
        variants[-1].read()  # raises errors before anything is solved
    keys = [variant.runs[0].key for variant in variants]
    rows = Journal(None if output is None else Path(output), keys, Variation)
    try:
        for _, why in finish_tasks(variants, rows, jobs, progress=progress):
            raise CompleteMessageError(why)
    finally:
        with finishing():
            variations: list[Variation] = rows.finish()
    return variations


def question_of(
    path: str | Path,
) -> tuple[AnyInstance, Sequence[Constraint], str | None]:
    """Return the instance of a file, and the side constraints and formulation if it is a plan."""
    held = load(path)
    if not isinstance(held, Result):
        return held, (), None
    night = held.asked.instance if held.asked is not None else None
    if night is None:
        raise InputError("an instance, or a plan document with its night", file=str(path))
    return night, held.constraints, held.formulation or None


class CompleteMessageError(InputError):
    """An error whose message is complete."""

    def __str__(self) -> str:
        return self.expected


def combinations(varied: Sequence[str], number: Callable[[str], float]) -> list[dict[str, Value]]:
    """Return every combination of values of ``PLACE=VALUES``, the last place changing fastest.

    ``number`` returns a time with a unit, or by the clock, as a number; `InputError` otherwise.
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
