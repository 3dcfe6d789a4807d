"""What the verbs share: the application, their flags, what they print, how they exit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from instances.errors import InputError

app = typer.Typer(
    help="Optimization models for cluster scheduling, and the heuristics people run beside them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

FOUND, FAILED, INFEASIBLE, NOTHING, INTERRUPTED = 0, 1, 3, 4, 130

File = Annotated[Path, typer.Argument(help="An instance file, .json or .json.gz.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="An option, as KEY=VALUE; repeatable.")
]
Constraints = Annotated[
    list[Path] | None,
    typer.Option("--constraints", help="A JSON file of further side constraints; repeatable."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write it to this file too.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
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


def status(result: Any) -> int:
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
    from instances.options import split

    return split(pairs or ())


def declared(files: list[Path] | None, instance: Any) -> list[Any]:
    """Read side constraints for an instance."""
    from schedopt.verbs.generate import constraints_from

    problem = str(type(instance).__struct_config__.tag)
    return [declared for file in files or () for declared in constraints_from(file, problem)]


def constraints_of_any(files: list[Path] | None) -> list[Any]:
    """Read side constraints for a bench, before any instance is known: of whichever problem."""
    from schedopt.verbs.generate import any_constraints_from

    return [declared for file in files or () for declared in any_constraints_from(file)]


def deliver(document: Any, json: bool, output: Path | None, show: Any) -> None:
    """Write a document to the file, and print it as JSON or for people."""
    from instances.files import encode, write_bytes

    if output is not None:
        write_bytes(output, encode(document, indent=1))
    if json:
        sys.stdout.buffer.write(encode(document))
        sys.stdout.buffer.flush()
    else:
        show()


def write_instance(instance: Any, output: Path | None) -> None:
    """Write an instance to a file, or to standard output."""
    from instances.files import dump, encode

    if output is None:
        sys.stdout.buffer.write(encode(instance))
        sys.stdout.buffer.flush()
        return
    dump(instance, output)
    say(f"wrote {output}: {instance.name}")


def writable(output: Path | None) -> None:
    """Refuse an output that cannot be written before hours of work, not after."""
    if output is not None and not output.absolute().parent.is_dir():
        raise InputError("a folder that exists", found="nothing", file=str(output.parent))


def print_json(document: Any) -> None:
    """Print a document as JSON, and nothing else."""
    from instances.files import encode

    sys.stdout.buffer.write(encode(document))
    sys.stdout.buffer.flush()


def say(message: str) -> None:
    """Tell people something, beside the output."""
    print(f"schedopt: {message}", file=sys.stderr)
