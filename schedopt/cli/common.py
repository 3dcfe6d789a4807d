"""What the verbs share: the application, their flags, what they print, how they exit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedopt.cli import completing
from schedopt.instances.errors import InputError, printable

if TYPE_CHECKING:
    from schedopt.instances.constraints import Constraint
    from schedopt.instances.protocol import AnyInstance
    from schedopt.solvers.result import Result

app = typer.Typer(
    help="Optimization models for cluster scheduling, and the heuristics people run beside them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

DOCUMENTS = (".json", ".json.gz")
"""Endings of instances and of results."""

FOUND, FAILED, INFEASIBLE, NOTHING, INTERRUPTED = 0, 1, 3, 4, 130

File = Annotated[
    Path,
    typer.Argument(
        help="An instance file, .json or .json.gz; or example:NAME.",
        autocompletion=completing.file,
    ),
]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="An option, as KEY=VALUE; repeatable.")
]
Constraints = Annotated[
    list[Path] | None,
    typer.Option("--constraints", help="A JSON file of further side constraints; repeatable."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write it to this file too.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
PolicyFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--policy-file",
        help="A Python file of your own policies. It is RUN, with your rights; repeatable.",
    ),
]
Seed = Annotated[int, typer.Option(help="The random seed.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds of solving; the best is kept.")]


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
    if result.violations:
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
    from schedopt.verbs.constraints import constraints_from

    problem = problem_name(instance)
    return [declared for file in files or () for declared in constraints_from(file, problem)]


def constraints_of_any(files: list[Path] | None) -> list[Constraint]:
    """Read side constraints for a bench, before any instance is known: of whichever problem."""
    from schedopt.verbs.constraints import constraints_of_any

    return [declared for file in files or () for declared in constraints_of_any(file)]


def deliver(document: object, json: bool, output: Path | None, show: Callable[[], None]) -> None:
    """Write a document to the file, and print it as JSON or for people."""
    from schedopt.instances.files import dump

    if output is not None:
        dump(document, output, indent=1)
    if json:
        print_json(document)
    else:
        show()


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
    """Make a folder, if there is none."""
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
