"""Standard output, output files, and the exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from schedopt.instances.errors import InputError, printable
from schedopt.instances.extras import require
from schedopt.instances.files import dump, encode, is_stream, refuse_overwriting

if TYPE_CHECKING:
    from schedopt.solvers.result import Result

DOCUMENTS = (".json", ".json.gz")  # endings of instances and of results
REQUIRES = {".parquet": "polars", ".html": "matplotlib", ".png": "matplotlib"}
"""The package that writes a file, by its ending."""
FOUND, FAILED, BAD_INPUT, INFEASIBLE, NOTHING, INTERRUPTED = 0, 1, 2, 3, 4, 130


def status(result: Result) -> int:
    """Return the exit status of a result."""
    if result.termination == "interrupted":
        return INTERRUPTED
    if result.violations or result.termination == "error":
        return FAILED
    if result.termination == "infeasible":
        return INFEASIBLE
    return FOUND if result.solution_status != "none" else NOTHING


def print_bytes(data: bytes) -> None:
    """Print bytes, such as JSON."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_json(document: object) -> None:
    """Print a document as JSON."""
    print_bytes(encode(document))


def say(message: str) -> None:
    """Print a message on standard error."""
    print(f"schedopt: {printable(message)}", file=sys.stderr)


def deliver(
    document: object, show: Callable[[], None], *, json: bool, output: Path | None = None
) -> None:
    """Write a document to a file, and print it as JSON or as tables."""
    try:
        if output is not None:
            dump(document, output, indent=1)
    finally:  # the document is printed even if the file cannot be written
        print_json(document) if json else show()


# Files, which are refused before anything is solved.


def expect_writable(
    output: Path | None, endings: Sequence[str], read: Iterable[str | Path | None] = ()
) -> None:
    """Raise `InputError` unless an output file can be written.

    It must have one of the endings, its folder must exist, and it must not be an input file. A
    pipe or a device needs no ending.
    """
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


def files_in(options: Mapping[str, object]) -> list[str]:
    """Return the values of options that are texts, and may be names of input files."""
    return [value for value in options.values() if isinstance(value, str)]


def make_folder(path: Path) -> None:
    """Make a folder if it does not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("a folder to write to", found=error.strerror, file=str(path)) from None
