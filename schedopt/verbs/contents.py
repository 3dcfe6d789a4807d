"""What `schedopt list` lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from schedopt.instances.options import Option
from schedopt.problems import problem, problems

if TYPE_CHECKING:
    from schedopt.policies.registry import Policy

Entry = dict[str, str | list[str]]


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


def formulations_in_words() -> list[str]:
    """Return a line for each formulation: its problem, its options, and an example of their use."""
    from schedopt.verbs.explain import explain

    lines = []
    for record in problems():
        for i, name in enumerate(record.formulation_homes):
            for entry in explain(name):
                if entry.what != "formulation" or entry.problems != (record.name,):
                    continue
                takes = "; ".join(f"{o['name']}: {o['takes']}" for o in entry.options)
                default = ", the default" if i == 0 else ""
                lines.append(f"{record.name} {name}{default}. {takes or 'No options'}.")
                lines.append(f"  {entry.use}")
    return lines


def _problems() -> list[Entry]:
    return [{"name": record.name, "summary": record.title} for record in problems()]


def _formulations() -> list[Entry]:
    return [
        {
            "problem": record.name,
            "name": name,
            "summary": _first_line(record.formulation(name)),
            "options": _options(record.formulation(name).known_options),
        }
        for record in problems()
        for name in record.formulation_homes
    ]


def _solvers() -> list[Entry]:
    return [
        {
            "problem": record.name,
            "name": f"{formulation} {engine.name}",
            "takes": engine.when,
            "proves": engine.proves,
            "here": "yes" if engine.available else f"no: needs {' or '.join(engine.needs)}",
            "module": engine.solve.partition(":")[0],
        }
        for record in problems()
        for formulation in record.formulation_homes
        for engine in record.engines(formulation)
    ]


def _policies() -> list[Entry]:
    return [
        {
            "problem": record.name,
            "name": policy.name,
            "summary": policy.summary,
            "options": _options(policy.options),
            "phase": policy.phase,
            "source": policy.source,
        }
        for record in problems()
        for policy in record.policies().values()
    ]


def _constraints() -> list[Entry]:
    return [
        {"problem": record.name, "name": name, "summary": _first_line(kind)}
        for record in problems()
        for name, kind in record.constraint_kinds().items()
    ]


def _generators() -> list[Entry]:
    return [
        {
            "problem": record.name,
            "name": name,
            "summary": generator.summary,
            "options": _options(generator.options),
        }
        for record in problems()
        for name, generator in record.generators().items()
    ]


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
    "problems": _problems,
    "formulations": _formulations,
    "solvers": _solvers,
    "policies": _policies,
    "constraints": _constraints,
    "generators": _generators,
    "examples": _examples,
    "reproductions": _reproductions,
    "templates": _templates,
}
"""Each section, and what makes its entries."""


def _options(options: Mapping[str, Option]) -> list[str]:
    return [f"{key}={option.default} ({option.expected})" for key, option in options.items()]


def _first_line(kind: object) -> str:
    return str(kind.__doc__).strip().splitlines()[0]
