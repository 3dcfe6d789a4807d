"""Arguments and options that several verbs share."""

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
Formulation = Annotated[Text, Option(help="See `schedopt list`.")]
Solver = Annotated[Text, Option(help="See `schedopt list`.")]
Constraints = Annotated[Files, Option(help="A JSON file of further side constraints; repeatable.")]
TimeLimit = Annotated[
    float | None,
    Option(
        help="Seconds of solving, or a time such as 10m; the best is kept.",
        parser=_seconds,
        metavar="<time>",
    ),
]
Gap = Annotated[
    float,
    Option(help="The relative gap that is good enough.", parser=number, metavar="<float>"),
]
Seed = Annotated[int, Option(help="The random seed.")]
Threads = Annotated[int | None, Option(help="Threads of the solver.")]
Options = Annotated[Texts, Option("--option", help="An option, as KEY=VALUE; repeatable.")]
PolicyFiles = Annotated[
    Files,
    Option(
        "--policy-file",
        help="A Python file of your own policies. It is RUN, with your rights; repeatable.",
    ),
]
Risk = Annotated[
    Text, Option(help="Maximize over scenarios of run times: mean, cvar:Q or chance:Q.")
]
Json = Annotated[bool, Option("--json", help="Print JSON, and nothing else.")]
Output = Annotated[File, Option("--output", "-o", help="Write it to this file too.")]
PlanOrResult = Annotated[
    File,
    Option("--output", "-o", help="Write it: .json, or the plan as .csv, .parquet or .sh."),
]
PlanFiles = Annotated[
    Files,
    Option(
        "--output",
        "-o",
        help="The plan as .csv, .parquet, .sh or .png; the plan document as .json; repeatable.",
    ),
]
Template = Annotated[
    Text,
    Option(help="What writes the .sh: see `schedopt list templates`, or a file of your own."),
]
PlanReport = Annotated[File, Option(help="An .html page of the plan: pictures, tables.")]
