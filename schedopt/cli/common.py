"""How a verb becomes a command: the parameters of its functions are its arguments and flags."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from schedopt.cli.output import INTERRUPTED, say
from schedopt.instances.errors import InputError
from schedopt.instances.record_fields import parse_docstring

SHARED = {
    "file": "An instance file, .json or .json.gz; or example:NAME.",
    "problem": "The problem, such as dssp.",
    "formulation": "See `schedopt list`.",
    "solver": "See `schedopt list`.",
    "constraints": "A JSON file of further side constraints; repeatable.",
    "time_limit": "Seconds of solving, or a time such as 10m; the best is kept.",
    "gap": "The relative gap that is good enough.",
    "seed": "The random seed.",
    "threads": "Threads of the solver.",
    "option": "An option, as KEY=VALUE; repeatable.",
    "policy_file": "A Python file of your own policies. It is RUN, with your rights; repeatable.",
    "json": "Print JSON, and nothing else.",
    "output": "Write it to this file too.",
    "template": "What writes the .sh: see `schedopt list templates`, or a file of your own.",
}
"""Help for parameters that several verbs share."""

NUMBERS: Mapping[object, tuple[type, str]] = {
    int: (int, "a whole number"),
    int | None: (int, "a whole number"),
    float: (float, "a number such as 0.05, or 5%"),
}
"""How flags of a kind are read, and what they expect."""

KINDS: dict[str, object] = {
    getattr(kind, "__name__", str(kind)): kind for kind in (bool, int, float, str)
} | {str(kind): kind for kind in (int | None, float | None, str | None)}
KINDS |= {"bool | None": bool}
KINDS |= {"Text | None": str | None, "str | Worths | None": str | None}  # in Python also others
KINDS |= {"Pairs | None": list[str] | None, "Texts | None": list[str] | None}
"""Annotations of parameters that are flags as they are."""

REPEATED: Mapping[str, tuple[str, object]] = {
    "options": ("option", list[str] | None),
    "constraints": ("constraints", list[Path] | None),
    "policy_files": ("policy_file", list[Path] | None),
    "resources": ("resource", list[str] | None),
    "pools": ("pool", list[str] | None),
}
"""Parameters of functions whose flags are repeated: the flag of each, and its type."""

SINGULAR = {"seeds": "seed", "policies": "policy", "generated": "generate"}
"""Parameters of functions whose flags have another name, beside those that are repeated."""

PYTHON_ALONE = ("many", "start")  # parameters for calls from Python

_HEADING = "\n\nParameters\n----------\n"
_OWN = re.compile(r"^(\w+) : (.+(?:\n    .+)*)", re.MULTILINE)

app = typer.Typer(
    help="Optimization models for cluster scheduling, and the heuristics people run beside them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def verb(
    example: str,
    like: Callable[..., object] | None = None,
    *,
    of: typer.Typer = app,
    name: str | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a verb, whose parameters are its arguments, and those by keyword alone its flags.

    Parameters
    ----------
    example : str
        What the help ends with.
    like : callable, optional
        The function of Python that it is: its parameters by keyword alone, of the types in `KINDS`
        and `REPEATED`, are flags too, and reach the verb as keyword arguments.
    of : Typer
        The group that it belongs to.
    name : str, optional
        Its name; the function's by default.
    """

    def register(run: Callable[..., None]) -> Callable[..., None]:
        text, _, notes = inspect.cleandoc(run.__doc__ or "").partition(_HEADING)
        helps = {**_first_sentences(like), **SHARED}
        helps |= {key: " ".join(words.split()) for key, words in _OWN.findall(notes)}
        hints = get_type_hints(run)
        own = [
            p.replace(annotation=hints[p.name])
            for p in inspect.signature(run).parameters.values()
            if p.kind is not p.VAR_KEYWORD
        ]
        names = {p.name for p in own}
        derived = [p for p in _flags_of(like) if p.name not in names]
        parameters = [
            p.replace(annotation=Annotated[p.annotation, _info(p, helps[p.name.rstrip("_")])])
            for p in sorted([*own, *derived], key=lambda p: p.kind)
        ]

        @wraps(run)
        def command(**flags: Any) -> None:
            for parameter, (flag, _) in REPEATED.items():
                if any(p.name == flag for p in derived):
                    values = flags.pop(flag) or ()
                    flags[parameter] = split(values) if flag == "option" else tuple(values)
            try:
                run(**flags)
            except InputError as error:
                if error.parameter:
                    name = SINGULAR.get(error.parameter, error.parameter)
                    flag = REPEATED.get(name, (name,))[0]
                    error.parameter = f"--{flag.rstrip('_').replace('_', '-')}"
                raise
            except KeyboardInterrupt:
                say("interrupted")
                raise typer.Exit(INTERRUPTED) from None

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        # Without the line breaks of the source, for a terminal of any width.
        flowing = "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        return of.command(name, help=flowing, epilog=f"Example: {example}")(command)

    return register


def _first_sentences(function: Callable[..., object] | None) -> dict[str, str]:
    """Return the first sentence that a function's docstring has on each parameter."""
    notes = parse_docstring((function.__doc__ or "").replace("``", "")).notes if function else {}
    return {
        REPEATED.get(name, (name,))[0]: re.split(r"[.;] ", f"{words} ")[0].rstrip(".") + "."
        for name, words in notes.items()
    }


def _flags_of(function: Callable[..., object] | None) -> Iterator[inspect.Parameter]:
    """Yield a function's parameters that are flags, as a command line takes them."""
    for p in inspect.signature(function).parameters.values() if function else ():
        kind = p.annotation.__name__ if isinstance(p.annotation, type) else str(p.annotation)
        if p.kind is not p.KEYWORD_ONLY or p.name in PYTHON_ALONE:
            continue
        if p.name in REPEATED:
            flag, hint = REPEATED[p.name]
            yield p.replace(name=flag, annotation=hint, default=None)
        elif kind in KINDS:
            yield p.replace(annotation=KINDS[kind])


def _info(parameter: inspect.Parameter, words: str) -> object:
    """Return what typer needs of a parameter."""
    name, hint = parameter.name, parameter.annotation
    how: dict[str, Any] = {"help": words}
    if name == "time_limit":
        how |= {"parser": _seconds, "metavar": "<time>"}
    elif hint in NUMBERS:
        kind, expected = NUMBERS[hint]
        how |= {"parser": partial(_number, kind, expected), "metavar": f"<{kind.__name__}>"}
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return typer.Argument(**how)
    if name == "output":
        return typer.Option("--output", "-o", **how)
    named = hint is bool or name.endswith("_")  # a word of Python's own
    return typer.Option(*([f"--{name.rstrip('_')}"] if named else []), **how)


def _number(kind: type, expected: str, text: str) -> object:
    """Read a number, or of a share a percentage."""
    try:
        if kind is float and str(text).endswith("%"):
            from schedopt.instances.decimals import fraction_of

            return float(fraction_of(text))
        return kind(text)
    except ValueError:
        raise typer.BadParameter(f"found {text!r}; expected {expected}") from None


def _seconds(text: str) -> float | None:
    """Read a time limit: a number of seconds, or a time with units; ``none`` is none."""
    from schedopt.instances.times import LENGTH, comma, seconds_of

    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        seconds = seconds_of(text)
    if seconds is None:
        raise typer.BadParameter(f"found {text!r}; expected {LENGTH}{comma(text)}")
    return float(seconds)


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from schedopt import __version__

        print(f"schedopt {__version__}")
        raise typer.Exit


def split(pairs: Sequence[str]) -> dict[str, Any]:
    """Return options given as KEY=VALUE."""
    from schedopt.instances.options import split

    return split(pairs)
