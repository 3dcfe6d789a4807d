"""Load: what a file holds, an instance or results."""

from pathlib import Path
from typing import Any

import msgspec

from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import decode, expect_instance, parse, read_bytes
from schedopt.instances.protocol import problem_name
from schedopt.solvers.result import Document, Result


def load(path: str | Path, *, problem: str | None = None) -> Any:
    """Read an instance file of any problem, or results that a verb wrote.

    Parameters
    ----------
    path : str or Path
        A file, or a bundled instance as ``example:NAME``.
    problem : str, optional
        Of which problem it has to be an instance; a type checker then knows the record.

    Returns
    -------
    Instance, Result, or list of Result
        The record of the file's problem, such as `schedopt.dssp.Instance`; or the result, or
        results, that a file holds.

    Raises
    ------
    InputError
        With the file, the place, what was found and what was expected.
    """
    expect_instance(path)
    data = read_bytes(path)
    held: Any = results(data, path) or parse(data, file=str(path))
    if problem is not None:
        found = "a result" if isinstance(held, Result | list) else problem_name(held)
        if found != problem:
            raise InputError(f"an instance of {problem}", found=shown(found), file=str(path))
    return held


def results(data: bytes, path: str | Path) -> Result[Any] | list[Result[Any]] | None:
    """Return the result, or the results, that a text holds; None where it holds something else."""
    if data.lstrip().startswith(b"["):
        return [_result(d, path) for d in decode(data, tuple[Document, ...], file=str(path))]
    told = b'"termination"' in data  # most often not, and then nobody looks twice
    if told and "termination" in decode(data, dict[str, msgspec.Raw], file=str(path)):
        return _result(decode(data, Document, file=str(path)), path)
    return None


def _result(document: Document, path: str | Path) -> Result[Any]:
    from schedopt.validation.documents import result_of

    try:
        return result_of(document)
    except InputError as error:
        error.file = str(path)
        raise
