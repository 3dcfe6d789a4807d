"""What a shell completes: files by itself; names and options by what there is for the instance.

Each function is given what was typed so far and returns what it may become. A completion never
fails: where the file cannot be read, names of every problem are offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import typer

from schedopt.instances.errors import InputError

if TYPE_CHECKING:
    from schedopt.instances.options import Option
    from schedopt.problems import Problem

BUNDLED = "example:"


def file(incomplete: str) -> list[str]:
    """Complete the names of bundled instances; other paths are the shell's own."""
    from schedopt.instances.examples import examples

    if not incomplete or not (BUNDLED.startswith(incomplete) or incomplete.startswith(BUNDLED)):
        return []
    return _beginning(incomplete, (f"{BUNDLED}{name}" for name in examples()))


def problem(incomplete: str) -> list[str]:
    """Complete the name of a problem."""
    from schedopt.instances.files import PROBLEMS

    return _beginning(incomplete, PROBLEMS)


def section(incomplete: str) -> list[str]:
    """Complete a section of what `list` lists."""
    from schedopt.verbs.contents import SECTIONS

    return _beginning(incomplete, SECTIONS)


def explained(incomplete: str) -> list[str]:
    """Complete a name that can be explained."""
    from schedopt.verbs.explain import everything

    return _beginning(incomplete, dict.fromkeys(entry.name for entry in everything()))


def policies(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the last of several policies with commas between."""
    before, comma, last = incomplete.rpartition(",")
    names = dict.fromkeys(name for record in _records(ctx) for name in record.policies())
    return [f"{before}{comma}{name}" for name in _beginning(last, names)]


def formulation(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a formulation of the instance's problem."""
    names = (name for record in _records(ctx) for name in record.formulation_homes)
    return _beginning(incomplete, dict.fromkeys(names))


def solver(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a solver."""
    names = (
        engine.name
        for record in _records(ctx)
        for formulation in record.formulation_homes
        for engine in record.engines(formulation)
    )
    return _beginning(incomplete, dict.fromkeys(names))


def generator(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a generator of the problem."""
    names = (name for record in _records(ctx) for name in record.generators())
    return _beginning(incomplete, dict.fromkeys(names))


def reproduction(incomplete: str) -> list[str]:
    """Complete a figure, table or theorem."""
    from schedopt.verbs.reproduce import titles

    return _beginning(incomplete, titles())


def formulation_option(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete an option of the formulation, as ``KEY=``."""
    given = ctx.params.get("formulation")
    return _keys(
        incomplete,
        (
            record.formulation(name).known_options
            for record in _records(ctx)
            for name in record.formulation_homes
            if given in (None, name)
        ),
    )


def policy_option(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete an option of the policies, as ``KEY=``."""
    given = ctx.params.get("policy") or ()
    names = set(",".join([given] if isinstance(given, str) else given).split(",")) - {""}
    return _keys(
        incomplete,
        (
            policy.options
            for record in _records(ctx)
            for name, policy in record.policies().items()
            if not names or name in names
        ),
    )


def generator_option(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete an option of the generator, as ``KEY=``."""
    given = ctx.params.get("generator")
    return _keys(
        incomplete,
        (
            recipe.options
            for record in _records(ctx)
            for name, recipe in record.generators().items()
            if given in (None, name)
        ),
    )


def _keys(incomplete: str, known: Iterable[Mapping[str, Option]]) -> list[str]:
    keys = dict.fromkeys(f"{key}=" for options in known for key in options)
    return _beginning(incomplete, keys)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _records(ctx: typer.Context) -> list[Problem]:
    """Return the record of the problem that is spoken of, or all where that is not known."""
    from schedopt.problems import problems

    given = [ctx.params.get("problem"), ctx.params.get("file"), *ctx.args]
    return next((found for word in given if word and (found := _spoken_of(str(word)))), problems())


def _spoken_of(word: str) -> list[Problem]:
    """Return the record of the problem that a word names, or an instance file is of."""
    from schedopt.instances.files import PROBLEMS, problem_of, read_bytes
    from schedopt.problems import problem as record_of

    if word in PROBLEMS:
        return [record_of(word)]
    try:
        return [record_of(problem_of(read_bytes(word)))]
    except InputError:
        return []
