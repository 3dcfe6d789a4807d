"""The verbs list, explain and doctor: everything that has a name, and whether it works."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import inspect

from schedopt.instances.dssp.columns import FIELDS, PREFIXED
from schedopt.instances.errors import InputError, pick_name
from schedopt.instances.examples import examples, tables
from schedopt.instances.extras import EXTRAS, missing, version_of
from schedopt.instances.files import parse
from schedopt.instances.options import Option
from schedopt.instances.plugins import KINDS, load, points
from schedopt.instances.schema import docstring_of
from schedopt.problems import Problem, problem, problems
from schedopt.solvers.portfolio import engines
from schedopt.verbs.reproduce import titles
from schedopt.verbs.script import templates
from schedopt.verbs.solve import build_formulation, solve

if TYPE_CHECKING:
    from schedopt.instances.recipes import Recipe
    from schedopt.policies.registry import Policy

Entry = dict[str, str]  # an entry of a list: ``problem`` if there is one, ``name``, ``summary``


class Explained(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The explanation of one name."""

    name: str
    what: str  # ``side constraint``, ``policy``, ``formulation`` or ``generator``
    problems: tuple[str, ...]  # the problems that have it
    summary: str  # one line
    definition: str  # its meaning
    source: str = ""  # the reference to the literature, if there is one
    # Its fields in a file: ``name``, ``takes``, ``required``, ``default``, ``says``.
    fields: tuple[dict[str, object], ...] = ()
    # Its options: ``name``, ``takes``, ``default``, and of formulations ``says``.
    options: tuple[dict[str, object], ...] = ()
    # An example in JSON, with the jobs and groups of the file that ``schedopt new`` writes.
    example: dict[str, object] | None = None
    python: str = ""  # the same example in Python
    # Of a table: ``field``, ``titles`` that are recognized, ``example``, ``unit``, ``without`` it.
    columns: tuple[dict[str, str], ...] = ()
    # Of a formulation, in the order in which they are tried: ``name``, ``accepts``, ``proves``,
    # ``certificate``, ``confirmed_by``, ``needs``.
    engines: tuple[dict[str, object], ...] = ()


def list_policies(name: str) -> Mapping[str, Policy]:
    """Return the policies of a problem by name.

    Parameters
    ----------
    name : str
        The problem, such as ``schedopt.list_policies("dssp")``.

    Raises
    ------
    InputError
        If there is no such problem.
    """
    return problem(name).policies()


def explain(name: str) -> list[Explained]:
    """Return the explanations of a name; several things may have the same name.

    Parameters
    ----------
    name : str
        The name of a side constraint, such as ``fair-share``, a policy, a formulation or a
        generator; or ``table``, for the columns of a table of jobs.

    Raises
    ------
    InputError
        If nothing has this name; the message suggests the nearest one.
    """
    by_name: dict[str, list[Explained]] = {"table": [_table()]}
    for entry in everything():
        by_name.setdefault(entry.name, []).append(entry)
    return by_name[
        pick_name(name, by_name, "a side constraint, policy, formulation or generator, or table")
    ]


def everything() -> Iterator[Explained]:
    """Yield everything that can be explained, side constraints first."""
    kinds: dict[str, Explained] = {}
    for record in problems():
        for entry in _constraints(record):
            first = kinds.setdefault(entry.name, entry)
            if first is not entry:
                both = first.problems + entry.problems
                kinds[entry.name] = msgspec.structs.replace(first, problems=both)
    yield from kinds.values()
    for record in problems():
        yield from (*_policies(record), *_formulations(record), *_generators(record))


def sections(wanted: Iterable[str] | None = None) -> dict[str, list[Entry]]:
    """Return the entries of the named sections, by default of all sections."""
    return {title: SECTIONS[title]() for title in (SECTIONS if wanted is None else wanted)}


def _constraints(record: Problem) -> Iterator[Explained]:
    for name, kind in record.constraint_kinds().items():
        example, python = kind.example, ""
        if example is not None:
            names = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
            words = (f"{names[k]}={value!r}" for k, value in example.items() if k != "kind")
            python = f"schedopt.{kind.__name__}({', '.join(words)})"
        yield Explained(
            name=name,
            what="side constraint",
            problems=(record.name,),
            summary=_first_line(kind),
            definition=_plain(docstring_of(kind).text),
            fields=tuple(field | {"says": _plain(field["says"])} for field in fields_of(kind)),
            example=example,
            python=python,
        )


def _table() -> Explained:
    return Explained(
        name="table",
        what="format",
        problems=("dssp",),
        summary="a table of jobs",
        definition="Columns of a table of jobs (CSV, Parquet or a data frame), which are found by "
        "these titles in any spelling, or named by --column FIELD=TITLE.",
        columns=tuple(
            {
                "field": field.name,
                "titles": ", ".join(title.replace("_", " ") for title in field.titles),
                "example": field.example,
                "unit": field.unit,
                "without": field.without,
            }
            for field in (*FIELDS.values(), *PREFIXED.values())
        ),
    )


def fields_of(record: type[msgspec.Struct]) -> tuple[dict[str, Any], ...]:
    """Return the fields of a record as in a file, the required ones first."""
    notes = docstring_of(record).notes
    fields = (
        {
            "name": field.encode_name,
            "takes": _values(field.type),
            "required": field.required,
            "default": msgspec.to_builtins(
                field.default_factory()
                if field.default_factory is not msgspec.NODEFAULT
                else None
                if field.default in (msgspec.NODEFAULT, msgspec.UNSET)
                else field.default
            ),
            "says": notes.get(field.name.rstrip("_"), ""),
        }
        for field in inspect.type_info(record).fields  # type: ignore[attr-defined]
    )
    return tuple(sorted(fields, key=lambda field: not field["required"]))


def _values(kind: Any) -> str:
    """Return the values of a type in words."""
    match kind:
        case inspect.Metadata():
            words = _values(kind.type)
        case inspect.UnionType():
            others = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
            words = " or ".join(dict.fromkeys(map(_values, others)))
            tagged = [one for one in others if isinstance(one, inspect.StructType) and one.tag]
            if len(tagged) == len(others) > 1:
                tags = ", ".join(str(one.tag) for one in tagged)
                words = f"an object, its {tagged[0].tag_field} one of {tags}"
        case inspect.LiteralType():
            words = " or ".join(f'"{value}"' for value in kind.values)
        case inspect.FloatType() | inspect.IntType():
            words = _number(kind)
        case inspect.DictType():
            words = f"an object: for each name {_values(kind.value_type)}"
        case inspect.VarTupleType() | inspect.ListType():
            words = f"a list, each {_values(kind.item_type)}"
        case inspect.TupleType():
            words = f"[{', '.join(map(_values, kind.item_types))}]"
        case inspect.StructType():
            keys = ", ".join(field.encode_name for field in kind.fields)
            few = f", with {keys}" if len(kind.fields) <= 3 else ""
            words = f"an object: {kind.cls.__name__}{few}"
        case inspect.StrType():
            words = "a text"
        case inspect.BoolType():
            words = "true or false"
        case _:
            words = "anything"
    return words


def _number(kind: inspect.FloatType | inspect.IntType) -> str:
    whole = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
    if kind.ge is not None and kind.le is None and kind.lt is None:
        return f"{whole}, {kind.ge:,.12g} or more"
    bounds = (("from", kind.ge), ("above", kind.gt), ("to", kind.le), ("below", kind.lt))
    words = (f"{word} {bound:,.12g}" for word, bound in bounds if bound is not None)
    return " ".join((whole, *words))


def _policies(record: Problem) -> Iterator[Explained]:
    return (_registered(record, "policy", policy) for policy in record.policies().values())


def _generators(record: Problem) -> Iterator[Explained]:
    return (_registered(record, "generator", recipe) for recipe in record.generators().values())


def _registered(record: Problem, what: str, entry: Policy | Recipe) -> Explained:
    """Return the explanation of a policy or a generator."""
    return Explained(
        name=entry.name,
        what=what,
        problems=(record.name,),
        summary=entry.summary,
        definition=entry.summary,
        source=entry.source,
        options=_options(entry.options),
    )


def _formulations(record: Problem) -> Iterator[Explained]:
    for name in record.formulation_names:
        kind = record.formulation(name)
        docstring = docstring_of(kind)
        yield Explained(
            name=name,
            what="formulation",
            problems=(record.name,),
            summary=_first_line(kind),
            definition=_plain(docstring.text),
            options=_options(kind.known_options, docstring.notes),
            engines=tuple(
                {
                    "name": engine.name,
                    "accepts": engine.description,
                    "proves": engine.proves,
                    "certificate": engine.certificate or None,
                    "confirmed_by": engine.confirmed_by or None,
                    "needs": [engine.needs] if engine.needs else [],
                }
                for engine in engines(record.name, name)
            ),
        )


def _options(
    options: Mapping[str, Option], notes: Mapping[str, str] | None = None
) -> tuple[dict[str, object], ...]:
    """Return options as data, with the notes of a docstring."""
    said = {name: {"says": _plain(note)} for name, note in (notes or {}).items()}
    return tuple(
        {"name": name, "takes": option.expected, "default": option.default} | said.get(name, {})
        for name, option in options.items()
    )


def _plain(words: str) -> str:
    """Return the text of a docstring without its markup."""
    return words.replace("`", "")


def _first_line(kind: object) -> str:
    return _plain(str(kind.__doc__).strip().splitlines()[0])


def _section_of(explain: Callable[[Problem], Iterator[Explained]]) -> Callable[[], list[Entry]]:
    """Return a function that makes the entries of a section from explanations."""
    return lambda: [
        {"problem": record.name, "name": entry.name, "summary": entry.summary}
        for record in problems()
        for entry in explain(record)
    ]


def _solvers() -> list[Entry]:
    return [
        {
            "problem": record.name,
            "name": f"{formulation} {engine.name}",
            "summary": engine.description,
            "here": "yes" if engine.available else f"no: needs {engine.needs}",
        }
        for record in problems()
        for formulation in record.formulation_names
        for engine in engines(record.name, formulation)
    ]


def _examples() -> list[Entry]:
    return [
        {"problem": example.problem, "name": example.name, "summary": example.summary}
        for example in (*examples().values(), *tables().values())
    ]


def _reproductions() -> list[Entry]:
    return [
        {"problem": name.partition("/")[0], "name": name, "summary": title}
        for name, title in titles().items()
    ]


def _templates() -> list[Entry]:
    said = {name: text.split("\n")[1].removeprefix("# ") for name, text in templates().items()}
    return [{"name": name, "summary": summary} for name, summary in said.items()]


SECTIONS: Mapping[str, Callable[[], list[Entry]]] = {
    "problems": lambda: [{"name": one.name, "summary": one.title} for one in problems()],
    "formulations": _section_of(_formulations),
    "solvers": _solvers,
    "policies": _section_of(_policies),
    "constraints": _section_of(_constraints),
    "generators": _section_of(_generators),
    "examples": _examples,
    "reproductions": _reproductions,
    "templates": _templates,
}
"""The sections, and the functions that make their entries."""


# The verb doctor.

BASE = ("numpy", "highspy", "pyomo", "msgspec", "typer", "rich")
NEAR = 1e-5  # relative difference within which the optima of two engines agree


class Finding(msgspec.Struct, frozen=True):
    """What was tested, whether it works (None if it is not installed), and details."""

    name: str
    ok: bool | None
    detail: str


def doctor() -> list[Finding]:
    """Return the versions of packages, and whether each engine solves a tiny model correctly."""
    findings = [Finding("python", True, platform.python_version())]
    for package in (*BASE, *EXTRAS):
        here = version_of(package)
        absent = "not installed" if package in BASE else f"opens {missing(package).expected}"
        ok = True if here is not None else False if package in BASE else None
        findings.append(Finding(package, ok, here or absent))
    findings += [_plugin_finding(point) for kind in KINDS for point in points(kind).values()]
    for record in problems():
        for formulation in record.formulation_names:
            findings += _engine_findings(record, formulation)
    return findings


def _plugin_finding(point: EntryPoint) -> Finding:
    """Return the finding on a plug-in: its additions, or the reason why the import fails."""
    whose = f"{point.dist.name} {point.dist.version}" if point.dist else "unknown"
    try:
        load(point)
    except InputError as error:
        return Finding(f"plug-in {point.name}", False, str(error))
    return Finding(f"plug-in {point.name}", True, f"{point.group} of {whose}")


def _engine_findings(record: Problem, formulation: str) -> Iterator[Finding]:
    """Yield whether each engine solves the problem's tiny instance with the same optimum."""
    tiny, optimum = parse(record.tiny), None
    try:
        model = build_formulation(tiny, formulation, None)
    except InputError:  # the formulation does not accept the instance
        return
    for engine in engines(record.name, formulation):
        if not (engine.available and engine.accepts(model)):
            continue
        name = f"engine {engine.name} of {formulation}"
        try:
            result = solve(tiny, formulation=formulation, solver=engine.name)
        except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
            yield Finding(name, False, f"{type(error).__name__}: {error}")
            continue
        objective = result.objective
        optimum = objective if optimum is None and result.proven else optimum
        agrees = objective is not None and (
            optimum is None or abs(objective - optimum) <= NEAR * max(1.0, abs(optimum))
        )
        right = not result.violations and (agrees or not result.proven)
        yield Finding(name, right, f"objective {objective}, {result.termination}")
