"""Read side constraints from files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedopt.instances.constraints import Constraint
from schedopt.instances.decoding import uncommented
from schedopt.instances.files import decode, read_bytes
from schedopt.problems import problem as record_of
from schedopt.problems import problems


def constraints_from(path: str | Path, problem: str) -> list[Constraint]:
    """Read side constraints of a problem from a file: a list of them, or a single one."""
    return _constraints(path, record_of(problem).constraint_kinds())


def constraints_of_any(path: str | Path) -> list[Constraint]:
    """Read side constraints of any problem from a file."""
    kinds: dict[str, Any] = {}
    for record in problems():
        kinds |= record.constraint_kinds()
    return _constraints(path, kinds)


def rules_from(data: bytes, problem: str) -> list[Constraint]:
    """Read side constraints of a problem from JSON: a list of them."""
    union: Any = None
    for kind in record_of(problem).constraint_kinds().values():
        union = kind if union is None else union | kind
    return list(decode(data, tuple[union, ...]))


def _constraints(path: str | Path, kinds: Mapping[str, Any]) -> list[Constraint]:
    data = uncommented(read_bytes(path))
    union: Any = None
    for kind in kinds.values():
        union = kind if union is None else union | kind
    if data.lstrip().startswith(b"{"):
        return [decode(data, union, file=str(path))]
    return list(decode(data, tuple[union, ...], file=str(path)))
