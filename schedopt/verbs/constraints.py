"""Read side constraints from files."""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from schedopt.instances.constraints import Constraint, Ruled, check_references
from schedopt.instances.decoding import strip_comments
from schedopt.instances.errors import placed
from schedopt.instances.files import decode, read_bytes
from schedopt.problems import problem as record_of
from schedopt.problems import problems

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
            with placed(file=one):
                check_references(found, instance.index, instance.groups)
        rules += found
    return rules


def rules_from(data: bytes, problem: str) -> list[Constraint]:
    """Read side constraints of a problem from JSON: a list of them."""
    union: Any = reduce(or_, record_of(problem).constraint_kinds().values())
    return list(decode(data, tuple[union, ...]))
