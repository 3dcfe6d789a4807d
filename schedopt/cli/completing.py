"""Shell completion of names and options, given the instance on the line.

Each function is given what was typed so far and returns what it may become. A completion never
fails: where the file cannot be read, names of every problem are offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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


def _named(
    names: Callable[[Problem], Iterable[str]],
) -> Callable[[typer.Context, str], list[str]]:
    """Return completions among the names of the problem on the line."""

    def completed(ctx: typer.Context, incomplete: str) -> list[str]:
        known = (name for record in _records(ctx) for name in names(record))
        return _beginning(incomplete, dict.fromkeys(known))

    return completed


formulation = _named(lambda record: record.formulation_homes)
solver = _named(
    lambda record: (
        engine.name for name in record.formulation_homes for engine in record.engines(name)
    )
)
generator = _named(lambda record: record.generators())


def reproduction(incomplete: str) -> list[str]:
    """Complete a figure, table or theorem."""
    from schedopt.verbs.reproduce import titles

    return _beginning(incomplete, titles())


def _option(
    flag: str, known: Callable[[Problem], Iterable[tuple[str, Mapping[str, Option]]]]
) -> Callable[[typer.Context, str], list[str]]:
    """Return completions of an option, as ``KEY=``, among a flag's, or all."""

    def completed(ctx: typer.Context, incomplete: str) -> list[str]:
        given = ctx.params.get(flag) or ()
        names = set(",".join([given] if isinstance(given, str) else given).split(",")) - {""}
        keys = (
            f"{key}="
            for record in _records(ctx)
            for name, options in known(record)
            if not names or name in names
            for key in options
        )
        return _beginning(incomplete, dict.fromkeys(keys))

    return completed


formulation_option = _option(
    "formulation",
    lambda record: ((n, record.formulation(n).known_options) for n in record.formulation_homes),
)
policy_option = _option(
    "policy", lambda record: ((name, one.options) for name, one in record.policies().items())
)
generator_option = _option(
    "generator", lambda record: ((name, one.options) for name, one in record.generators().items())
)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _records(ctx: typer.Context) -> list[Problem]:
    """Return the record of the problem on the line, or all where that is unknown."""
    from schedopt.problems import problems

    given = [ctx.params.get("problem"), ctx.params.get("file"), *ctx.args]
    return next((found for word in given if word and (found := _spoken_of(str(word)))), problems())


def _spoken_of(word: str) -> list[Problem]:
    """Return the record of the problem that a word names, or that a file's instance is of."""
    from schedopt.instances.files import PROBLEMS, problem_of, read_bytes
    from schedopt.problems import problem as record_of

    if word in PROBLEMS:
        return [record_of(word)]
    try:
        return [record_of(problem_of(read_bytes(word)))]
    except InputError:
        return []
