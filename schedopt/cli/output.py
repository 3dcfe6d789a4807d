"""Standard output, output files, and the exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from schedopt.instances.errors import InputError, printable, quote
from schedopt.instances.extras import require

if TYPE_CHECKING:
    from schedopt.instances.protocol import AnyInstance
    from schedopt.problems.summary import Plan
    from schedopt.solvers.result import Result

DOCUMENTS = (".json", ".json.gz")  # endings of instances and of results
PLANS = (".csv", ".parquet", ".sh")  # endings of plans; a template writes the last
REQUIRES = {".parquet": "polars", ".html": "matplotlib", ".png": "matplotlib"}
"""The package that writes a file, by its ending."""
FOUND, FAILED, INFEASIBLE, NOTHING, INTERRUPTED = 0, 1, 3, 4, 130
PIPE = 128 + 13  # exit status if the reader of the output has gone, as of SIGPIPE


def status(result: Result) -> int:
    """Return the exit status of a result."""
    if result.termination == "interrupted":
        return INTERRUPTED
    if result.violations or result.termination == "error":
        return FAILED
    if result.termination == "infeasible":
        return INFEASIBLE
    return FOUND if result.solution_status != "none" else NOTHING


# --- standard output and standard error -------------------------------------------------------


def prepare() -> None:
    """Make standard output escape the characters that its encoding lacks."""
    if sys.stdout is None:  # closed from the start
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  open as long as we run
    elif isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def discard() -> None:
    """Discard the remaining standard output."""
    with suppress(OSError, ValueError):  # standard output may be a buffer in memory
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def print_bytes(data: bytes) -> None:
    """Print bytes, such as JSON."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_json(document: object) -> None:
    """Print a document as JSON."""
    from schedopt.instances.files import encode

    print_bytes(encode(document))


def say(message: str) -> None:
    """Print a message on standard error."""
    print(f"schedopt: {printable(message)}", file=sys.stderr)


# --- files, refused before anything is solved ---------------------------------------------------


def expect_writable(
    output: Path | None, endings: Sequence[str], read: Iterable[str | Path | None] = ()
) -> None:
    """Raise `InputError` unless an output file can be written.

    It must have one of the endings, its folder must exist, and it must not be an input file.

    A pipe or a device needs no ending.
    """
    from schedopt.instances.files import is_stream, refuse_overwriting

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
    if output.suffix.lower() in REQUIRES:
        require(REQUIRES[output.suffix.lower()], str(output))
    refuse_overwriting(filter(None, read), output)


def expect_template(template: str | None, outputs: Iterable[Path | None]) -> None:
    """Raise `InputError` about a template that cannot be read, or has no script to write."""
    from schedopt.verbs.script import read_template

    if template is None:
        return
    if not any(path is not None and path.suffix.lower() == ".sh" for path in outputs):
        raise InputError("--output FILE.sh", found="none", place="--template")
    read_template(template)


def files_in(options: Mapping[str, object]) -> list[str]:
    """Return the values of options that are texts, and may be names of input files."""
    return [value for value in options.values() if isinstance(value, str)]


def is_plan(output: Path | None) -> bool:
    """Return True if the ending of a file is that of a plan."""
    return output is not None and output.name.lower().endswith(PLANS)


def expect_plan(instance: AnyInstance, output: Path | None) -> None:
    """Raise `InputError` about the plan of an instance that has no plans."""
    from schedopt.problems import problem_of

    if is_plan(output) and not problem_of(instance).has_plans:
        what = f"{instance.name} ({problem_of(instance).name})"
        expected = f"a name ending in .json: {what} has no plan of jobs"
        raise InputError(expected, found=quote(str(output)))


# --- results ----------------------------------------------------------------------------------


def deliver(
    document: object,
    show: Callable[[], None],
    *,
    json: bool,
    output: Path | None = None,
    template: str | None = None,
    plan: Callable[[], Plan | None] | None = None,
) -> None:
    """Write a document or its plan to a file, and print it as JSON or as tables."""
    from schedopt.instances.files import dump
    from schedopt.verbs import plan_table, script

    try:
        if output is not None and plan is not None and is_plan(output):
            table = plan()
            if table is None:
                say(f"no solution was found, so {output} is not written")
                return
            if output.suffix.lower() == ".sh":
                script.write(table, output, template or script.PLAIN)
            else:
                plan_table.write(table, output)
            say(f"wrote {output}")
        elif output is not None:
            dump(document, output, indent=1)
    finally:  # the result is printed even if the file cannot be written
        if json:
            print_json(document)
        else:
            show()


def plan_of(instance: AnyInstance, result: Result) -> Plan | None:
    """Return the plan of a result, and print how its jobs are dispatched."""
    from schedopt.verbs import plan_table

    if result.solution is None:
        return None
    run = plan_table.carried_out(instance, result)
    if run is None:
        say("the plan has no start times, because some jobs have no tasks")
    elif run.message and run is not result:
        say(str(run.message))
    for violation in () if run is None else run.violations:
        say(f"violation: {violation}")
    return plan_table.plan_of(instance, result, run)
