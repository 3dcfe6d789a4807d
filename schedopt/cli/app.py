"""The application, to which verbs are registered."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from schedopt.cli.output import INTERRUPTED, say
from schedopt.instances.errors import InputError

F = TypeVar("F", bound=Callable[..., None])

FLAGS = {
    "options": "option",
    "policy_files": "policy_file",
    "resources": "resource",
    "pools": "pool",
    "seeds": "seed",
    "policies": "policy",
    "generated": "generate",
}
"""Parameters of Python functions whose flag has another name."""


def flag_of(parameter: str) -> str:
    """Return the flag for a parameter of a Python function, such as ``--time-limit``."""
    return f"--{FLAGS.get(parameter, parameter).rstrip('_').replace('_', '-')}"


class Verbs(TyperGroup):
    """The group of all verbs. Its messages name flags, and Ctrl-C has an exit status of its own."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb of a command line."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            if error.parameter:
                error.parameter = flag_of(error.parameter)
            raise
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=Verbs,
    help="Optimization models for cluster scheduling, and policies to compare with the optimum.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def verb(example: str, name: str | None = None, of: typer.Typer = app) -> Callable[[F], F]:
    """Register a function as a verb, with its docstring and an example as the help.

    Parameters
    ----------
    example : str
        A command line.
    name : str, optional
        The name of the verb; the function's by default.
    of : Typer
        The group that the verb belongs to.
    """

    def register(function: F) -> F:
        paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
        text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        return of.command(name, help=text, epilog=f"Example: {example}")(function)

    return register


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from schedopt import __version__

        print(f"schedopt {__version__}")
        raise typer.Exit
