"""The application, and the arguments and options of several verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, BadParameter, Option
from typer.core import TyperGroup

from schedopt.cli.output import INTERRUPTED, say
from schedopt.instances.decimals import fraction_of
from schedopt.instances.errors import InputError
from schedopt.instances.times import LENGTH, comma, seconds_of

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
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from schedopt import __version__

        print(f"schedopt {__version__}")
        raise typer.Exit


def number(text: str) -> float:
    """Read a number or a percentage."""
    try:
        return float(fraction_of(text)) if str(text).endswith("%") else float(text)
    except ValueError:
        raise BadParameter(f"found {text!r}; expected a number such as 0.05, or 5%") from None


def _seconds(text: str) -> float | None:
    """Return the seconds of a time limit: a number, a time with units, or ``none``."""
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        seconds = seconds_of(text)
    if seconds is None:
        raise BadParameter(f"found {text!r}; expected {LENGTH}{comma(text)}")
    return float(seconds)


Text = str | None
Texts = list[str] | None
File = Path | None
Files = list[Path] | None

InstanceFile = Annotated[
    Path, Argument(help="An instance file, .json or .json.gz; or example:NAME.")
]
Formulation = Annotated[
    Text, Option(help="The formulation to solve: see `schedopt list formulations`.")
]
Solver = Annotated[Text, Option(help="The engine to use alone: see `schedopt list solvers`.")]
Constraints = Annotated[
    Files, Option(help="A JSON file of additional side constraints; repeatable.")
]
TimeLimit = Annotated[
    float | None,
    Option(
        help="Seconds, or a time such as 10m; keeps the best solution found.",
        parser=_seconds,
        metavar="<time>",
    ),
]
Gap = Annotated[
    float,
    Option(help="Stop at this relative gap, such as 0.05 or 5%.", parser=number, metavar="<float>"),
]
Seed = Annotated[int, Option(help="The random seed.")]
Threads = Annotated[int | None, Option(help="Number of threads of the solver.")]
Options = Annotated[Texts, Option("--option", help="An option, as KEY=VALUE; repeatable.")]
PolicyFiles = Annotated[
    Files,
    Option(
        "--policy-file",
        help="A Python file with your own policies. It is RUN, with your rights; repeatable.",
    ),
]
Risk = Annotated[
    Text, Option(help="Maximize over scenarios of run times: mean, cvar:Q or chance:Q.")
]
Json = Annotated[bool, Option("--json", help="Print JSON only.")]
Jobs = Annotated[int, Option(help="Number of processes.")]
Output = Annotated[File, Option("--output", "-o", help="The file to write.")]
PlanFiles = Annotated[
    Files,
    Option(
        "--output",
        "-o",
        help="The file to write: the plan as .csv, .parquet, .sh or .png, or the plan document as "
        ".json; repeatable.",
    ),
]
Template = Annotated[
    Text,
    Option(help="The template of the .sh: see `schedopt list templates`; or a file of your own."),
]
Report = Annotated[File, Option(help="Write an .html page with pictures and tables.")]
Explain = Annotated[
    bool, Option("--explain", help="Explain what rules cost and why jobs are left out.")
]
