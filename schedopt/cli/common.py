"""What the verbs share: how they are registered, what they print, how they exit."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

from schedopt.cli import completing
from schedopt.instances.errors import InputError, printable

if TYPE_CHECKING:
    from schedopt.instances.constraints import Constraint
    from schedopt.instances.protocol import AnyInstance
    from schedopt.solvers.result import Result

T = TypeVar("T")

app = typer.Typer(
    help="Optimization models for cluster scheduling, and the heuristics people run beside them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

DOCUMENTS = (".json", ".json.gz")  # endings of instances and of results
FOUND, FAILED, INFEASIBLE, NOTHING, INTERRUPTED = 0, 1, 3, 4, 130

MEANINGS = {
    "file": "An instance file, .json or .json.gz; or example:NAME.",
    "problem": "The problem, such as dssp.",
    "formulation": "See `schedopt list`.",
    "solver": "See `schedopt list`.",
    "constraints": "A JSON file of further side constraints; repeatable.",
    "time_limit": "Seconds of solving, or a time such as 10m; the best is kept.",
    "gap": "The relative gap that is good enough.",
    "seed": "The random seed.",
    "option": "An option, as KEY=VALUE; repeatable.",
    "policy_file": "A Python file of your own policies. It is RUN, with your rights; repeatable.",
    "json": "Print JSON, and nothing else.",
    "output": "Write it to this file too.",
    "template": "What writes the .sh: see `schedopt list templates`, or a file of your own.",
    "threads": "Threads of the solver.",
}
"""Help for parameters that several verbs share."""

COMPLETED = {
    "file": completing.file,
    "problem": completing.problem,
    "formulation": completing.formulation,
    "solver": completing.solver,
}
_HEADING = "\n\nParameters\n----------\n"
_MEANT = re.compile(r"^(\w+) : (.+(?:\n    .+)*)", re.MULTILINE)


def verb(
    example: str,
    *,
    of: typer.Typer = app,
    name: str | None = None,
    cls: type[TyperCommand] | None = None,
    complete: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a verb, whose parameters are its arguments, and those by keyword alone its flags.

    What each means stands in the docstring below ``Parameters``, or in `MEANINGS`. ``complete``
    says what a shell completes, beyond `COMPLETED`.
    """

    def registered(run: Callable[..., None]) -> Callable[..., None]:
        text, _, told = inspect.cleandoc(run.__doc__ or "").partition(_HEADING)
        own = {key: " ".join(meaning.split()) for key, meaning in _MEANT.findall(told)}
        meanings, completed = MEANINGS | own, COMPLETED | dict(complete or {})
        hints = get_type_hints(run)
        for key, parameter in inspect.signature(run).parameters.items():
            how = {"help": meanings[key], "autocompletion": completed.get(key)}
            if key == "time_limit":
                how |= {"parser": _seconds, "metavar": "<time>"}
            elif (takes := NUMBERS.get(hints[key])) is not None:
                several = key == "seed" and "count" in hints
                how |= {
                    "parser": partial(_number, *takes, several),
                    "metavar": f"<{takes[0].__name__}>",
                }
            if parameter.kind is not parameter.KEYWORD_ONLY:
                info: Any = typer.Argument(**how)
            elif key == "output":
                info = typer.Option("--output", "-o", **how)
            else:
                named = hints[key] is bool or key.endswith("_")  # a word of Python's own
                info = typer.Option(*([f"--{key.rstrip('_')}"] if named else []), **how)
            run.__annotations__[key] = Annotated[hints[key], info]

        @wraps(run)
        def ended(*args: Any, **flags: Any) -> None:
            try:
                run(*args, **flags)
            except KeyboardInterrupt:
                say("interrupted")
                raise typer.Exit(INTERRUPTED) from None

        # Without the line breaks of the source, for a terminal of any width.
        flowing = "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        return of.command(name, cls=cls, help=flowing, epilog=f"Example: {example}")(ended)

    return registered


NUMBERS: dict[Any, tuple[type, str]] = {
    int: (int, "a whole number"),
    int | None: (int, "a whole number"),
    float: (float, "a number such as 0.05"),
}
"""How flags of a kind are read, and what they expect."""


def _number(kind: type, words: str, several: bool, text: str) -> Any:
    """Read a number; of a seed, say how several are asked for."""
    try:
        return kind(text)
    except ValueError:
        more = "; --count 5 makes five, with seeds that count up from it" if several else ""
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


def split(pairs: list[str] | None) -> dict[str, Any]:
    """Return options given as KEY=VALUE."""
    from schedopt.instances.options import split

    return split(pairs or ())


def declared(files: list[Path] | None, instance: AnyInstance) -> list[Constraint]:
    """Read side constraints for an instance."""
    from schedopt.instances.protocol import problem_name
    from schedopt.verbs.constraints import given

    return given(files or (), problem_name(instance), instance)


def constraints_of_any(files: list[Path] | None) -> list[Constraint]:
    """Read side constraints for a bench, before any instance is known: of whichever problem."""
    from schedopt.verbs.constraints import constraints_of_any

    return [declared for file in files or () for declared in constraints_of_any(file)]


def tell(document: T, json: bool, show: Callable[[T], None]) -> None:
    """Print a document as JSON or for people."""
    (print_json if json else show)(document)


def deliver(document: object, json: bool, output: Path | None, show: Callable[[], None]) -> None:
    """Write a document to the file, and print it as JSON or for people."""
    from schedopt.instances.files import dump

    try:
        if output is not None:
            dump(document, output, indent=1)
    finally:  # what was found is told, whatever becomes of the file
        tell(document, json, lambda _: show())


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


def named_in(options: Mapping[str, object]) -> list[str]:
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
