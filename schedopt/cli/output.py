"""Where output goes: standard output, files of every kind, and the exit status."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from schedopt.instances.errors import InputError, printable, quote
from schedopt.instances.extras import require

if TYPE_CHECKING:
    import polars as pl
    from _typeshed import ReadableBuffer

    from schedopt.instances.protocol import AnyInstance
    from schedopt.problems.summary import Plan
    from schedopt.solvers.result import Result

DOCUMENTS = (".json", ".json.gz")  # endings of instances and of results
PLANS = (".csv", ".parquet", ".sh")  # endings of plans; a template writes the last
FOUND, FAILED, INFEASIBLE, NOTHING, INTERRUPTED = 0, 1, 3, 4, 130
PIPE = 128 + 13  # exit status where the reader of the output has gone: that of SIGPIPE

_ACTING = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"  # UTF-8, as below
)


def status(result: Result) -> int:
    """Return the exit status that a result asks for."""
    if result.termination == "interrupted":
        return INTERRUPTED
    if result.violations or result.termination == "error":
        return FAILED
    if result.termination == "infeasible":
        return INFEASIBLE
    return FOUND if result.solution_status != "none" else NOTHING


# Standard output and standard error.


class ReaderGoneError(Exception):
    """Nobody reads standard output any more."""


class _Output(io.FileIO):
    """Standard output, whose failures have names of their own."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ReaderGoneError from None
        except OSError as error:
            where = "standard output"
            raise InputError("room to write", found=error.strerror, file=where) from None


def prepare() -> None:
    """Replace standard output: what its encoding cannot say is written as an escape."""
    if sys.stdout is None:  # closed from the start
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  open as long as we run
        return
    try:
        raw = _Output(sys.stdout.fileno(), "w", closefd=False)
    except (OSError, ValueError):  # a buffer, of a caller in Python
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=sys.stdout.encoding,
        errors="backslashreplace",
        line_buffering=raw.isatty(),
    )


@contextmanager
def standard_error_off() -> Iterator[None]:
    """Discard what is written to file descriptor 2, by all threads of the process."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def discard() -> None:
    """Discard what is still to be written to standard output."""
    with suppress(OSError, ValueError):  # a buffer takes all there is
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def print_bytes(data: bytes) -> None:
    """Print JSON; characters that act on a terminal become JSON's own escapes."""
    safe = _ACTING.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), data)
    sys.stdout.buffer.write(safe)
    sys.stdout.buffer.flush()


def print_json(document: object) -> None:
    """Print a document as JSON, and nothing else."""
    from schedopt.instances.files import encode

    print_bytes(encode(document))


def say(message: str) -> None:
    """Tell people something, beside the output."""
    print(f"schedopt: {printable(message)}", file=sys.stderr)


# Files, refused before hours of work, not after.


def expect_writable(
    output: Path | None, endings: Sequence[str], read: Iterable[str | Path] = ()
) -> None:
    """Refuse an output of another ending or place, or one that would replace what is read.

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
    refuse_overwriting(read, output)


def expect_result_file(
    output: Path | None, read: Iterable[str | Path], template: str | None = None
) -> None:
    """Refuse a file that a result or a plan cannot be written to."""
    from schedopt.verbs.script import read_template

    expect_writable(output, (*DOCUMENTS, *PLANS), [*read, *([template] if template else [])])
    if output is not None and output.name.lower().endswith(".parquet"):
        require("polars", str(output))
    if template is not None:
        if output is None or output.suffix.lower() != PLANS[-1]:
            found = "none" if output is None else quote(output.name)
            raise InputError(f"--output FILE{PLANS[-1]}", found=found, place="--template")
        read_template(template)


def expect_drawable(
    report: Path | None, read: Iterable[str | Path], endings: Sequence[str] = (".html",)
) -> None:
    """Refuse a page or picture that cannot be drawn or written before anything is solved."""
    expect_writable(report, endings, read)
    if report is not None:
        require("matplotlib", str(report))


def is_plan(output: Path | None) -> bool:
    """Tell whether a file is to hold a plan."""
    return output is not None and output.name.lower().endswith(PLANS)


def files_in(options: Mapping[str, object]) -> list[str]:
    """Return the options' texts, any of which may name a file that is read."""
    return [value for value in options.values() if isinstance(value, str)]


# Results.


def deliver(
    document: object,
    show: Callable[[], None],
    *,
    json: bool,
    output: Path | None = None,
    template: str | None = None,
    plan: Callable[[], pl.DataFrame | Plan | None] | None = None,
) -> None:
    """Write a document, or the plan that follows from it, and print it as JSON or for people."""
    from schedopt.instances.files import dump

    try:
        if output is not None and is_plan(output) and plan is not None:
            columns = plan()
            if columns is not None:
                write_plan(columns, output, template)
            text = "wrote {}" if columns is not None else "there is no solution: {} is not written"
            say(text.format(output))
        elif output is not None:
            dump(document, output, indent=1)
    finally:  # what was found is told, whatever becomes of the file
        if json:
            print_json(document)
        else:
            show()


def plan_of(instance: AnyInstance, result: Result) -> Plan | None:
    """Return the plan that follows from a result, and say how its jobs are dispatched."""
    from schedopt.verbs import plan_table

    if result.solution is None:
        return None
    run = plan_table.carried_out(instance, result)
    if run is None:
        say("the plan does not say when, since not every job has tasks")
    elif run.message and run is not result:
        say(str(run.message))
    for violation in () if run is None else run.violations:
        say(f"violation: {violation}")
    return plan_table.plan_of(instance, result, run)


def write_plan(columns: pl.DataFrame | Plan, output: Path, template: str | None) -> None:
    """Write a plan as a table, or as a script by a template."""
    from schedopt.verbs import plan_table, script

    if output.suffix.lower() == PLANS[-1]:
        script.write(columns, output, template or script.PLAIN)
    else:
        plan_table.write(columns, output)
