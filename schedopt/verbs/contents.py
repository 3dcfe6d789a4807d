"""What `schedopt list` lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from schedopt.instances.options import Option
from schedopt.problems import Problem, problem, problems

if TYPE_CHECKING:
    from schedopt.policies.registry import Policy
    from schedopt.solvers.engine import Engine

Entry = dict[str, str | list[str]]
T = TypeVar("T")


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


def sections(wanted: Iterable[str] | None = None) -> dict[str, list[Entry]]:
    """Return the entries of each section that is wanted, by default of all."""
    return {name: SECTIONS[name]() for name in (SECTIONS if wanted is None else wanted)}


def _each(
    known: Callable[[Problem], Mapping[str, T]], told: Callable[[T], Mapping[str, str | list[str]]]
) -> Callable[[], list[Entry]]:
    """Return what makes the entries of a section of which every problem has some, by name."""
    return lambda: [
        {"problem": record.name, "name": name, **told(one)}
        for record in problems()
        for name, one in known(record).items()
    ]


def _engine(engine: Engine) -> Entry:
    return {
        "takes": engine.description,
        "proves": engine.proves,
        "here": "yes" if engine.available else f"no: needs {' or '.join(engine.needs)}",
        "module": engine.solve.partition(":")[0],
    }


def _policy(policy: Policy) -> Entry:
    told: Entry = {"phase": policy.phase, "source": policy.source}
    return {"summary": policy.summary, "options": _options(policy.options), **told}


def _examples() -> list[Entry]:
    from schedopt.instances.examples import examples

    return [
        {"problem": example.problem, "name": example.name, "summary": example.summary}
        for example in examples().values()
    ]


def _reproductions() -> list[Entry]:
    from schedopt.verbs.reproduce import titles

    return [
        {"problem": name.partition("/")[0], "name": name, "summary": title}
        for name, title in titles().items()
    ]


def _templates() -> list[Entry]:
    from schedopt.verbs.script import templates

    said = {name: text.split("\n")[1].removeprefix("# ") for name, text in templates().items()}
    return [{"name": name, "summary": summary} for name, summary in said.items()]


SECTIONS: Mapping[str, Callable[[], list[Entry]]] = {
    "problems": lambda: [{"name": one.name, "summary": one.title} for one in problems()],
    "formulations": _each(
        lambda record: {name: record.formulation(name) for name in record.formulation_homes},
        lambda kind: {"summary": _first_line(kind), "options": _options(kind.known_options)},
    ),
    "solvers": _each(
        lambda record: {
            f"{formulation} {engine.name}": engine
            for formulation in record.formulation_homes
            for engine in record.engines(formulation)
        },
        _engine,
    ),
    "policies": _each(lambda record: record.policies(), _policy),
    "constraints": _each(
        lambda record: record.constraint_kinds(), lambda kind: {"summary": _first_line(kind)}
    ),
    "generators": _each(
        lambda record: record.generators(),
        lambda recipe: {"summary": recipe.summary, "options": _options(recipe.options)},
    ),
    "examples": _examples,
    "reproductions": _reproductions,
    "templates": _templates,
}
"""Each section, and what makes its entries."""


def _options(options: Mapping[str, Option]) -> list[str]:
    return [f"{key}={option.default} ({option.expected})" for key, option in options.items()]


def _first_line(kind: object) -> str:
    return str(kind.__doc__).strip().splitlines()[0]
