"""What the verbs share: how they are registered, what they print, how they exit."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperGroup

from schedopt.instances.errors import InputError, printable

if TYPE_CHECKING:
    from schedopt.instances.protocol import AnyInstance
    from schedopt.solvers.result import Result

T = TypeVar("T")

DOCUMENTS = (".json", ".json.gz")  # endings of instances and of results
FOUND, FAILED, INFEASIBLE, NOTHING, INTERRUPTED = 0, 1, 3, 4, 130

GONE = {
    "compare": "schedopt summary ROWS --compare A,B",
    "dump": "schedopt VERB ... --output FILE",
    "warm": "schedopt doctor --warm",
    "write": "schedopt solve FILE --write MODEL.lp",
}
"""Verbs that are no more, and what does the same."""

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

KINDS: Mapping[str, object] = {
    "bool": bool,
    "int": int,
    "int | None": int | None,
    "float": float,
    "float | None": float | None,
    "str": str,
    "str | None": str | None,
}
"""Annotations of parameters that are flags as they are."""

SEVERAL: Mapping[str, tuple[str, object]] = {
    "options": ("option", list[str] | None),
    "constraints": ("constraints", list[Path] | None),
    "policy_files": ("policy_file", list[Path] | None),
}
"""Parameters of functions whose flags are repeated: the flag of each, and its type."""

UNSAID = ("many", "start")  # parameters for calls from Python alone

_HEADING = "\n\nParameters\n----------\n"
_OWN = re.compile(r"^(\w+) : (.+(?:\n    .+)*)", re.MULTILINE)
_NUMPY = re.compile(r"^(\w[\w, ]*) : .+\n((?:    .+\n?)+)", re.MULTILINE)


class _Verbs(TyperGroup):
    """The verbs; one that is gone says what does the same."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb that is asked for."""
        if args and args[0] in GONE and args[0] not in self.commands:
            raise InputError(GONE[args[0]], found=f"the verb {args[0]}, which is gone")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Verbs,
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
        and `SEVERAL`, are flags too, and reach the verb as keyword arguments.
    of : Typer
        The group that it belongs to.
    name : str, optional
        Its name; the function's by default.
    """

    def registered(run: Callable[..., None]) -> Callable[..., None]:
        text, _, told = inspect.cleandoc(run.__doc__ or "").partition(_HEADING)
        said = _said_of(like) | SHARED
        said |= {key: " ".join(words.split()) for key, words in _OWN.findall(told)}
        hints = get_type_hints(run)
        own = [
            p.replace(annotation=hints[p.name])
            for p in inspect.signature(run).parameters.values()
            if p.kind is not p.VAR_KEYWORD
        ]
        names = {p.name for p in own}
        derived = [p for p in _flags_of(like) if p.name not in names]
        parameters = sorted([*own, *derived], key=lambda p: p.kind)
        several = "; --count 5 makes five, with seeds that count up from it"
        more = {"seed": several} if "count" in names else {}
        parameters = [
            p.replace(
                annotation=Annotated[p.annotation, _info(p, said[p.name], more.get(p.name, ""))]
            )
            for p in parameters
        ]

        @wraps(run)
        def ended(**flags: Any) -> None:
            for p in derived:
                if p.name in REPEATED:
                    values = flags.pop(p.name) or ()
                    flags[REPEATED[p.name]] = split(values) if p.name == "option" else tuple(values)
            try:
                run(**flags)
            except KeyboardInterrupt:
                say("interrupted")
                raise typer.Exit(INTERRUPTED) from None

        ended.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        ended.__annotations__ = {p.name: p.annotation for p in parameters}
        # Without the line breaks of the source, for a terminal of any width.
        flowing = "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        return of.command(name, help=flowing, epilog=f"Example: {example}")(ended)

    return registered


REPEATED = {flag: parameter for parameter, (flag, _) in SEVERAL.items()}


def _said_of(function: Callable[..., object] | None) -> dict[str, str]:
    """Return the first sentence that a function's docstring has on each parameter."""
    text = inspect.cleandoc(function.__doc__ or "") if function else ""
    return {
        SEVERAL.get(name, (name,))[0]: re.split(r"[.;] ", " ".join(words.split()) + " ")[0] + "."
        for names, words in _NUMPY.findall(text.replace("``", ""))
        for name in names.split(", ")
    }


def _flags_of(function: Callable[..., object] | None) -> Iterator[inspect.Parameter]:
    """Yield a function's parameters that are flags, as a command line takes them."""
    for p in inspect.signature(function).parameters.values() if function else ():
        kind = p.annotation.__name__ if isinstance(p.annotation, type) else str(p.annotation)
        if p.kind is not p.KEYWORD_ONLY or p.name in UNSAID:
            continue
        if p.name in SEVERAL:
            flag, hint = SEVERAL[p.name]
            yield p.replace(name=flag, annotation=hint, default=None)
        elif kind in KINDS:
            yield p.replace(annotation=KINDS[kind])


def _info(parameter: inspect.Parameter, words: str, more: str) -> object:
    """Return what typer is told of a parameter."""
    name, hint = parameter.name, parameter.annotation
    how: dict[str, Any] = {"help": words}
    takes = NUMBERS.get(hint)
    if name == "time_limit":
        how |= {"parser": _seconds, "metavar": "<time>"}
    elif takes is not None:
        how |= {"parser": partial(_number, *takes, more), "metavar": f"<{takes[0].__name__}>"}
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return typer.Argument(**how)
    if name == "output":
        return typer.Option("--output", "-o", **how)
    named = hint is bool or name.endswith("_")  # a word of Python's own
    return typer.Option(*([f"--{name.rstrip('_')}"] if named else []), **how)


NUMBERS: dict[object, tuple[type, str]] = {
    int: (int, "a whole number"),
    int | None: (int, "a whole number"),
    float: (float, "a number such as 0.05"),
}
"""How flags of a kind are read, and what they expect."""


def _number(kind: type, words: str, more: str, text: str) -> object:
    """Read a number."""
    try:
        return kind(text)
    except ValueError:
        raise typer.BadParameter(f"found {text!r}; expected {words}{more}") from None


def _seconds(text: str) -> float | None:
    """Read a time limit: a number of seconds, or a time with units; ``none`` is none."""
    from schedopt.instances.times import LENGTH, comma, seconds_of

    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        found = seconds_of(text)
    if found is None:
        raise typer.BadParameter(f"found {text!r}; expected {LENGTH}{comma(text)}")
    return float(found)


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from schedopt import __version__

        print(f"schedopt {__version__}")
        raise typer.Exit


def status(result: Result) -> int:
    """Return the exit status that a result asks for."""
    if result.termination == "interrupted":
        return INTERRUPTED
    if result.violations or result.termination == "error":
        return FAILED
    if result.termination == "infeasible":
        return INFEASIBLE
    return FOUND if result.solution_status != "none" else NOTHING


def split(pairs: Sequence[str]) -> dict[str, Any]:
    """Return options given as KEY=VALUE."""
    from schedopt.instances.options import split

    return split(pairs)


def show_or_print(document: T, json: bool, show: Callable[[T], None]) -> None:
    """Print a document as JSON or for people."""
    (print_json if json else show)(document)


def deliver(document: object, json: bool, output: Path | None, show: Callable[[], None]) -> None:
    """Write a document to the file, and print it as JSON or for people."""
    from schedopt.instances.files import dump

    try:
        if output is not None:
            dump(document, output, indent=1)
    finally:  # what was found is told, whatever becomes of the file
        show_or_print(document, json, lambda _: show())


def write_instance(instance: AnyInstance, output: Path | None) -> None:
    """Write an instance to a file, or to standard output."""
    from schedopt.instances.files import beside, dump, encode

    if output is None:
        if names := beside(encode(instance)):
            expected = f"--output FILE: beside it goes {', '.join(names)}"
            raise InputError(expected, found="standard output")
        print_json(instance)
        return
    dump(instance, output)
    say(f"wrote {output}: {instance.name}")


def writable(output: Path | None, endings: Sequence[str], read: Iterable[str | Path] = ()) -> None:
    """Refuse an output that cannot be written before hours of work, not after.

    ``output``: what is to be written; nothing where it is None; ``endings``: those of which one is
    its own; a pipe or a device needs none; ``read``: what must not be written over.
    """
    from schedopt.instances.files import is_stream, keep

    if output is None:
        return
    try:
        if not is_stream(output) and not output.name.lower().endswith(tuple(endings)):
            expected = f"a name ending in {', '.join(endings)}"
            raise InputError(expected, found=repr(output.name), file=str(output))
        if output.is_dir():
            raise InputError("a file", found="a directory", file=str(output))
        if not output.absolute().parent.is_dir():
            raise InputError("a folder that exists", found="nothing", file=str(output.parent))
    except OSError as error:
        raise InputError("a place to write to", found=error.strerror, file=str(output)) from None
    keep(read, output)


def files_in(options: Mapping[str, object]) -> list[str]:
    """Return the options' texts, any of which may name a file that is read."""
    return [value for value in options.values() if isinstance(value, str)]


def folder(path: Path) -> None:
    """Make a folder if it does not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise InputError("a folder to write to", found=found, file=str(path)) from None


def print_json(document: object) -> None:
    """Print a document as JSON, and nothing else."""
    from schedopt.cli.streams import print_bytes
    from schedopt.instances.files import encode

    print_bytes(encode(document))


def say(message: str) -> None:
    """Tell people something, beside the output."""
    print(f"schedopt: {printable(message)}", file=sys.stderr)
