"""Explain: what a side constraint, a policy, a formulation or a generator is, in words and data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from schedopt.instances.constraints import Constraint
from schedopt.instances.encoding import to_json
from schedopt.instances.naming import pick
from schedopt.instances.options import Option
from schedopt.instances.record_fields import Field, docstring_of, fields_of
from schedopt.problems import Problem, problems

if TYPE_CHECKING:
    from schedopt.solvers.engine import Engine


class Explained(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The explanation of one name."""

    name: str
    what: str  # ``side constraint``, ``policy``, ``formulation``, ``generator`` or ``problem``
    problems: tuple[str, ...]  # what it is for
    definition: str  # what it means or does
    source: str = ""  # empty where nothing is to be cited
    # What a file may say of it: ``name``, ``takes``, ``required``, ``default``, ``says``.
    fields: tuple[dict[str, object], ...] = ()
    # Its options on the command line: ``name``, ``takes``, ``default``, of formulations ``says``.
    options: tuple[dict[str, object], ...] = ()
    # One of it as a file writes it, with the jobs and groups of what ``schedopt new`` writes.
    example: dict[str, object] | None = None
    python: str = ""  # the same in Python
    use: str = ""  # a command line that uses it
    # Of a formulation, in the order in which they are asked: ``name``, ``accepts``, ``proves``,
    # ``certificate``, ``confirmed_by``, ``needs``.
    engines: tuple[dict[str, object], ...] = ()


def explain(name: str) -> list[Explained]:
    """Return the explanations of a name, which may stand for several things.

    Parameters
    ----------
    name : str
        Of a side constraint, such as ``fair-share``, a policy, a formulation, a generator or a
        problem.

    Raises
    ------
    InputError
        If nothing does, with the nearest name.
    """
    known: dict[str, list[Explained]] = {}
    for entry in everything():
        known.setdefault(entry.name, []).append(entry)
    return known[pick(name, known, "a side constraint, policy, formulation or generator")]


def everything() -> Iterator[Explained]:
    """Yield everything that can be explained, side constraints first."""
    kinds: dict[str, list[tuple[str, type[Constraint]]]] = {}
    for record in problems():
        for name, kind in record.constraint_kinds().items():
            kinds.setdefault(name, []).append((record.name, kind))
    for name, found in kinds.items():
        yield _constraint(name, found[0][1], tuple(problem for problem, _ in found))
    for record in problems():
        yield from _policies(record)
        yield from _formulations(record)
        yield from _generators(record)
        yield Explained(
            name=record.name,
            what="problem",
            problems=(record.name,),
            definition=f"{record.title}; {len(record.policies())} policies; formulations: "
            f"{', '.join(record.formulation_homes)}; side constraints: "
            f"{', '.join(record.constraint_kinds())}",
            use=f"schedopt new {record.name} --output mine.json",
        )


def _constraint(name: str, kind: type[Constraint], of: tuple[str, ...]) -> Explained:
    example = kind.example()
    return Explained(
        name=name,
        what="side constraint",
        problems=of,
        definition=_plain(docstring_of(kind).text),
        fields=tuple(_field(field) for field in fields_of(kind)),
        example=example,
        python="" if example is None else _call(kind, example),
        use="schedopt solve FILE --constraints rules.json",
    )


def _field(field: Field) -> dict[str, object]:
    found: dict[str, object] = msgspec.to_builtins(field)
    return found | {"says": _plain(field.says)}


def _plain(words: str) -> str:
    """Return words of a docstring without its markup."""
    return words.replace("`", "")


def _call(kind: type[Constraint], example: Mapping[str, object]) -> str:
    names = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
    words = (f"{names[key]}={value!r}" for key, value in example.items() if key != "kind")
    return f"schedopt.{kind.__name__}({', '.join(words)})"


def _policies(record: Problem) -> Iterator[Explained]:
    for policy in record.policies().values():
        yield Explained(
            name=policy.name,
            what="policy",
            problems=(record.name,),
            definition=policy.summary,
            source=policy.source,
            options=_options(policy.options),
            use=f"schedopt evaluate FILE --policy {policy.name}{_setting(policy.options)}",
        )


def _formulations(record: Problem) -> Iterator[Explained]:
    for name in record.formulation_homes:
        kind = record.formulation(name)
        told = docstring_of(kind)
        yield Explained(
            name=name,
            what="formulation",
            problems=(record.name,),
            definition=_plain(told.text),
            options=_options(kind.known_options, told.notes),
            use=f"schedopt solve FILE --formulation {name}{_setting(kind.known_options)}",
            engines=tuple(_engine(engine) for engine in record.engines(name)),
        )


def _engine(engine: Engine) -> dict[str, object]:
    return {
        "name": engine.name,
        "accepts": engine.description,
        "proves": engine.proves,
        "certificate": engine.certificate or None,
        "confirmed_by": engine.confirmed_by or None,
        "needs": list(engine.needs),
    }


def _generators(record: Problem) -> Iterator[Explained]:
    for name, recipe in record.generators().items():
        yield Explained(
            name=name,
            what="generator",
            problems=(record.name,),
            definition=recipe.summary,
            source=recipe.source,
            options=_options(recipe.options),
            use=f"schedopt generate {record.name} --generator {name} --seed 1 --output FILE.json",
        )


def _options(
    options: Mapping[str, Option], notes: Mapping[str, str] | None = None
) -> tuple[dict[str, object], ...]:
    """Return options as data, with what a docstring notes on them."""
    said = {name: {"says": _plain(note)} for name, note in (notes or {}).items()}
    return tuple(
        {"name": name, "takes": option.expected, "default": option.default} | said.get(name, {})
        for name, option in options.items()
    )


def _setting(options: Mapping[str, Option]) -> str:
    """Return the first option with a default, as a command line gives it."""
    for name, option in options.items():
        if option.default not in (None, ""):
            return f" --option {name}={_text(option.default)}"
    return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
