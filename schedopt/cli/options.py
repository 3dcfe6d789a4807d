"""Arguments and options of several verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option

Text = str | None
Texts = list[str] | None
File = Path | None
Files = list[Path] | None


def number(text: str) -> float:
    """Read a number or a percentage."""
    from schedopt.instances.decimals import fraction_of

    try:
        return float(fraction_of(text)) if str(text).endswith("%") else float(text)
    except ValueError:
        raise BadParameter(f"found {text!r}; expected a number such as 0.05, or 5%") from None


def _seconds(text: str) -> float | None:
    """Return the seconds of a time limit: a number, a time with units, or ``none``."""
    from schedopt.instances.times import LENGTH, comma, seconds_of

    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        seconds = seconds_of(text)
    if seconds is None:
        raise BadParameter(f"found {text!r}; expected {LENGTH}{comma(text)}")
    return float(seconds)


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
Output = Annotated[File, Option("--output", "-o", help="The file to write.")]
PlanOrResult = Annotated[
    File,
    Option(
        "--output",
        "-o",
        help="The file to write: the result as .json, or the plan as .csv, .parquet or .sh.",
    ),
]
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
PlanReport = Annotated[
    File, Option(help="Write an .html page with pictures and tables of the plan.")
]
