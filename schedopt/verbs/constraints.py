"""Read side constraints from files."""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from schedopt.instances.constraints import Constraint
from schedopt.instances.decoding import uncommented
from schedopt.instances.files import decode, read_bytes
from schedopt.problems import problem as record_of
from schedopt.problems import problems


def constraints_from(path: str | Path, problem: str) -> list[Constraint]:
    """Read side constraints of a problem from a file: a list of them, or a single one."""
    return _read(path, record_of(problem).constraint_kinds())


def constraints_of_any(path: str | Path) -> list[Constraint]:
    """Read side constraints of any problem from a file."""
    kinds: dict[str, Any] = {}
    for record in problems():
        kinds |= record.constraint_kinds()
    return _read(path, kinds)


def given(
    constraints: Iterable[Constraint] | Constraint | str | Path, problem: str
) -> list[Constraint]:
    """Return side constraints that are given as they are, one alone, or as a file of them."""
    if isinstance(constraints, str | Path):
        return constraints_from(constraints, problem)
    return [constraints] if isinstance(constraints, Constraint) else list(constraints)


def rules_from(data: bytes, problem: str) -> list[Constraint]:
    """Read side constraints of a problem from JSON: a list of them."""
    union: Any = reduce(or_, record_of(problem).constraint_kinds().values())
    return list(decode(data, tuple[union, ...]))


def _read(path: str | Path, kinds: Mapping[str, Any]) -> list[Constraint]:
    data = uncommented(read_bytes(path))
    union: Any = reduce(or_, kinds.values())
    if data.lstrip().startswith(b"{"):
        return [decode(data, union, file=str(path))]
    return list(decode(data, tuple[union, ...], file=str(path)))
