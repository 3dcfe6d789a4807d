"""Names: of jobs, each its own, and their groups; and the look-up of a name among those known."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from schedopt.instances.errors import InputError, joined, listing, shown, suggestion


def index_of(jobs: Sequence[Any]) -> dict[str, int]:
    """Return the position of each job by name; `InputError` if two have the same name."""
    index = dict(zip([job.name for job in jobs], range(len(jobs)), strict=True))
    if len(index) < len(jobs):
        check_unique(jobs)
    return index


def check_unique(jobs: Sequence[Any]) -> None:
    """Raise `InputError` if two jobs have the same name."""
    if len({job.name for job in jobs}) < len(jobs):
        refuse_twice([job.name for job in jobs], "jobs", "a name", "name")


def refuse_twice(keys: Iterable[Hashable], place: str, what: str, field: str = "") -> None:
    """Raise `InputError` with the place of the first key that was there before."""
    seen: dict[Hashable, int] = {}
    for i, key in enumerate(keys):
        if key in seen:
            raise InputError(
                f"{what} of its own: {place}[{seen[key]}] has it already",
                found=shown(key),
                place=joined(f"{place}[{i}]", field),
            )
        seen[key] = i


def groups_of(jobs: Sequence[Any]) -> dict[str, dict[str, list[int]]]:
    """Return, for each grouping and each of its groups, the positions of its jobs."""
    groups: dict[str, dict[str, list[int]]] = {}
    for j, job in enumerate(jobs):
        for by, group in getattr(job, "groups", {}).items():
            groups.setdefault(by, {}).setdefault(group, []).append(j)
    return groups


def pick(name: str, known: Iterable[str], what: str) -> str:
    """Return a name that is known; `InputError` with the nearest, or with all, if it is not."""
    names = list(known)
    if name not in names:
        raise InputError(f"{what}{suggestion(name, names) or listing(names)}", found=shown(name))
    return name
