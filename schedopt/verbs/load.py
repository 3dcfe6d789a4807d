"""The verb load: reads files of instances, results, or side constraints."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec

from schedopt.instances.constraints import Constraint, check_references
from schedopt.instances.encoding import strip_comments
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.files import decode, expect_instance, parse, read_bytes
from schedopt.instances.protocol import AnyInstance, problem_name
from schedopt.problems import problem as record_of
from schedopt.problems import problems
from schedopt.solvers.result import Document, Result
from schedopt.validation.documents import result_of

if TYPE_CHECKING:
    from schedopt.problems import dssp, epoch, hesrpt, msfq


@overload
def load(path: str | Path, *, problem: Literal["dssp"]) -> dssp.Instance: ...


@overload
def load(path: str | Path, *, problem: Literal["hesrpt"]) -> hesrpt.Instance: ...


@overload
def load(path: str | Path, *, problem: Literal["epoch"]) -> epoch.Instance: ...


@overload
def load(path: str | Path, *, problem: Literal["msfq"]) -> msfq.Instance: ...


@overload
def load(path: str | Path, *, problem: None = None) -> Any: ...
def load(path: str | Path, *, problem: str | None = None) -> Any:
    """Read an instance of any problem, or results.

    Parameters
    ----------
    path : str or Path
        A file, or a bundled instance as ``example:NAME``.
    problem : str, optional
        The problem that the instance must be of; a type checker then knows the type.

    Returns
    -------
    Instance, Result, or list of Result
        An instance, such as `schedopt.dssp.Instance`, or the results in the file.

    Raises
    ------
    InputError
        If the file cannot be read or its content is not valid.
    """
    expect_instance(path)
    data = read_bytes(path)
    held: Any = parse_results(data, path) or parse(data, file=str(path))
    if problem is not None:
        found = "a result" if isinstance(held, Result | list) else problem_name(held)
        if found != problem:
            raise InputError(f"an instance of {problem}", found=quote(found), file=str(path))
    return held


def parse_results(data: bytes, path: str | Path) -> Result[Any] | list[Result[Any]] | None:
    """Return the result or results in the text of a file; None if it holds something else."""
    several = is_list(data)
    maybe = b'"termination"' in data  # a quick test before decoding
    if several or (maybe and "termination" in decode(data, dict[str, msgspec.Raw], file=str(path))):
        with at_place(file=path):
            results: list[Result[Any]] = [result_of(one) for one in documents(data, path)]
        return results if several else results[0]
    return None


def is_list(data: bytes) -> bool:
    """Return True if a JSON text is a list."""
    return data.lstrip().startswith(b"[")


def documents(data: bytes, path: str | Path) -> tuple[Document, ...]:
    """Return the results in the text of a file: one document or a list of them."""
    if is_list(data):
        return decode(data, tuple[Document, ...], file=str(path))
    return (decode(data, Document, file=str(path)),)


Rules = Iterable[Constraint | str | Path] | Constraint | str | Path


def read_constraints(path: str | Path, problem: str | None = None) -> list[Constraint]:
    """Return the side constraints in a file, which holds one or a list of them."""
    records = problems() if problem is None else [record_of(problem)]
    kinds = {name: kind for record in records for name, kind in record.constraint_kinds().items()}
    union: Any = reduce(or_, kinds.values())
    data = strip_comments(read_bytes(path))
    if data.lstrip().startswith(b"{"):
        return [decode(data, union, file=str(path))]
    return list(decode(data, tuple[union, ...], file=str(path)))


def read_rules(
    constraints: Rules, problem: str, instance: AnyInstance | None = None
) -> list[Constraint]:
    """Return side constraints that are given as records or as files.

    If an ``instance`` is given, a reference of a file to an unknown job or group is an error.
    """
    if isinstance(constraints, str | Path | Constraint):
        constraints = [constraints]
    rules: list[Constraint] = []
    for one in constraints:
        found = [one] if isinstance(one, Constraint) else read_constraints(one, problem)
        if instance is not None and not isinstance(one, Constraint):
            with at_place(file=one):
                check_references(found, instance.index, instance.groups)
        rules += found
    return rules
