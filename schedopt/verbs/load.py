"""Load: read a file that holds an instance, results, or side constraints."""

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import msgspec

from schedopt.instances.constraints import Constraint, Ruled, check_references
from schedopt.instances.decoding import strip_comments
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.examples import examples
from schedopt.instances.files import decode, expect_instance, parse, read_bytes
from schedopt.instances.files import load as read
from schedopt.instances.protocol import AnyInstance, identity, problem_name
from schedopt.problems import problem as record_of
from schedopt.problems import problems
from schedopt.solvers.result import Document, Result

INSTANCES = (".json", ".json.gz")


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
    held: Any = parse_results(data, path) or parse(data, file=str(path))
    if problem is not None:
        found = "a result" if isinstance(held, Result | list) else problem_name(held)
        if found != problem:
            raise InputError(f"an instance of {problem}", found=quote(found), file=str(path))
    return held


def parse_results(data: bytes, path: str | Path) -> Result[Any] | list[Result[Any]] | None:
    """Return the result or results in a text; None if it holds something else."""
    from schedopt.validation.documents import result_of

    several = is_list(data)
    maybe = b'"termination"' in data  # most often not, and then nobody looks twice
    if several or (maybe and "termination" in decode(data, dict[str, msgspec.Raw], file=str(path))):
        with at_place(file=path):
            results: list[Result[Any]] = [result_of(one) for one in documents(data, path)]
        return results if several else results[0]
    return None


def instance_of_result(result: Result[Any], file: str | Path | None) -> AnyInstance | None:
    """Return the instance that a result answers: its own, or from its file's folder."""
    if result.asked is not None and result.asked.instance is not None:
        return result.asked.instance  # type: ignore[no-any-return]
    asked = result.asked.question if result.asked is not None else None
    if asked is not None:
        for one in _nearby_instances(asked.instance.name, file):
            if identity(one).digest == asked.instance.digest:
                return one
    return None


def _nearby_instances(name: str, file: str | Path | None) -> Iterator[AnyInstance]:
    """Yield instances that may bear a name: beside a file, and the examples."""
    for example in examples().values():
        if name in (example.name, example.path.name.partition(".")[0]):
            yield read(example.path)
    beside = sorted(Path(file).absolute().parent.iterdir()) if file else []
    for path in beside:
        if path.name.lower().endswith(INSTANCES) and path != Path(file or "").absolute():
            try:
                instance = read(path)
            except (InputError, OSError):
                continue  # another file that happens to be there
            if instance.name == name:
                yield instance


def is_list(data: bytes) -> bool:
    """Tell whether a text of JSON is a list."""
    return data.lstrip().startswith(b"[")


def documents(data: bytes, path: str | Path) -> tuple[Document, ...]:
    """Return the results of a file: one document, or the list that several policies make."""
    if is_list(data):
        return decode(data, tuple[Document, ...], file=str(path))
    return (decode(data, Document, file=str(path)),)


Rules = Iterable[Constraint | str | Path] | Constraint | str | Path


def read_constraints(path: str | Path, problem: str | None = None) -> list[Constraint]:
    """Read side constraints from a file, a list or a single one: of a problem, or of any."""
    records = problems() if problem is None else [record_of(problem)]
    kinds = {name: kind for record in records for name, kind in record.constraint_kinds().items()}
    union: Any = reduce(or_, kinds.values())
    data = strip_comments(read_bytes(path))
    if data.lstrip().startswith(b"{"):
        return [decode(data, union, file=str(path))]
    return list(decode(data, tuple[union, ...], file=str(path)))


def read_rules(constraints: Rules, problem: str, instance: Ruled | None = None) -> list[Constraint]:
    """Return side constraints that are given as they are, or as files of them.

    Errors in what a file says of an ``instance`` name the file.
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
