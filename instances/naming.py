"""Names of jobs and groups, and lookup of names with suggestions."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, join_places, listing, quote, suggestion


def check_unique(keys: Iterable[Hashable], place: str, what: str, field: str = "") -> None:
    """Raise `InputError` at the first repeated key."""
    seen: dict[Hashable, int] = {}
    for i, key in enumerate(keys):
        if key in seen:
            raise InputError(
                f"{what} of its own: {place}[{seen[key]}] has it already",
                found=quote(key),
                place=join_places(f"{place}[{i}]", field),
            )
        seen[key] = i


Codes = tuple[list[str], NDArray[np.intp]]
"""The groups of a grouping, and which of them each job is of: -1 of none."""


def groups_of(codes: Mapping[str, Codes]) -> dict[str, dict[str, list[int]]]:
    """Return the positions of the jobs of each group, by grouping and group."""
    return {
        by: dict(zip(names, split(own, len(names)), strict=True))
        for by, (names, own) in codes.items()
    }


def split(codes: NDArray[np.intp], groups: int) -> Iterator[list[int]]:
    """Yield the positions of each group index in increasing order."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(groups + 1)).tolist()
    positions = order.tolist()
    return (positions[first:last] for first, last in pairwise(ends))


def pick_name(name: str, known: Collection[str], what: str) -> str:
    """Return a known name; `InputError` suggests the nearest known name, or lists all."""
    if name not in known:
        raise InputError(f"{what}{suggestion(name, known) or listing(known)}", found=quote(name))
    return name
