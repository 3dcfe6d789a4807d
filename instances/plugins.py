"""Plug-ins of other distributions, by entry points: see docs/howto/plugin.md.

They are looked for when something is asked for that is not ours, or when all is listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from schedopt.instances.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

KINDS = ("problems", "policies", "constraints", "converters", "templates")
"""What can be added: the entry points of each are a group, such as ``schedopt.policies``."""


@cache
def points(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points of a kind by name; of two of one name, what Python finds first."""
    from importlib.metadata import entry_points  # which no start need wait for

    points = entry_points(group=f"schedopt.{kind}")
    return {point.name: point for point in reversed(tuple(points))}


def of(kind: str, problem: str) -> dict[str, EntryPoint]:
    """Return those of a problem by what follows its name: ``dssp.budget`` is ``budget`` of dssp."""
    named = {name.partition(".")[::2]: point for name, point in points(kind).items()}
    return {own: point for (row, own), point in named.items() if row == problem}


def values(kind: str) -> list[str]:
    """Return the modules that entry points of a kind name."""
    return [point.value for point in points(kind).values()]


def load(point: EntryPoint) -> Any:
    """Import what an entry point names; `InputError` with its distribution where that fails."""
    try:
        return point.load()
    except Exception as error:
        raise InputError(
            "a plug-in that can be imported",
            found=f"{type(error).__name__}: {error}",
            place=f"{point.group} {point.name}",
            file=point.dist.name if point.dist else None,
        ) from error


class KnownNames(Sequence[str]):
    """Names of ours, then those of other distributions, which are looked for when need be."""

    def __init__(self, *own: str, kind: str) -> None:
        self.own, self._kind = own, kind

    def _all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.own, *points(self._kind))))

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in points(self._kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __getitem__(self, at: Any) -> Any:
        return self._all()[at]

    def __len__(self) -> int:
        return len(self._all())
