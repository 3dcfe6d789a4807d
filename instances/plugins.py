"""Plug-ins of other distributions, found by entry points: see docs/howto/plugin.md.

Entry points are read only when a name is not built in, or when everything is listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from schedopt.instances.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

KINDS = ("problems", "policies", "constraints", "converters", "templates")
"""What can be added: the entry points of each are a group, such as ``schedopt.policies``."""


@cache
def points(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points of a kind by name; the first one that Python finds wins."""
    from importlib.metadata import entry_points  # which no start need wait for

    return {point.name: point for point in reversed(tuple(entry_points(group=f"schedopt.{kind}")))}


def of(kind: str, problem: str) -> dict[str, EntryPoint]:
    """Return a problem's entry points by short name: ``budget`` for ``dssp.budget``."""
    start = f"{problem}."
    named = points(kind).items()
    return {name.removeprefix(start): one for name, one in named if name.startswith(start)}


def load(point: EntryPoint) -> Any:
    """Import an entry point's object; `InputError` names its distribution if the import fails."""
    try:
        return point.load()
    except Exception as error:
        raise InputError(
            "a plug-in that can be imported",
            found=f"{type(error).__name__}: {error}",
            place=f"{point.group} {point.name}",
            file=point.dist.name if point.dist else None,
        ) from error


class KnownNames(Collection[str]):
    """Built-in names followed by those of plug-ins, which are searched only if needed."""

    def __init__(self, *own: str, kind: str) -> None:
        self.own, self._kind = own, kind

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in points(self._kind)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.own, *points(self._kind))))

    def __len__(self) -> int:
        return len(list(iter(self)))
