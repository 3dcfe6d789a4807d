"""Names: of jobs, each its own, and their groups; and the look-up of a name among those known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from instances.errors import InputError, listing, shown, suggestion


def index_of(jobs: Sequence[Any]) -> dict[str, int]:
    """Return the position of each job by name.

    Raises
    ------
    InputError
        If two have the same name.
    """
    seen: dict[str, int] = {}
    for j, job in enumerate(jobs):
        if job.name in seen:
            raise InputError(
                f"a name of its own: jobs[{seen[job.name]}] has it already",
                found=shown(job.name),
                place=f"jobs[{j}].name",
            )
        seen[job.name] = j
    return seen


def groups_of(jobs: Sequence[Any]) -> dict[str, dict[str, list[int]]]:
    """Return, for each grouping and each of its groups, the positions of its jobs."""
    found: dict[str, dict[str, list[int]]] = {}
    for j, job in enumerate(jobs):
        for by, group in job.groups.items():
            found.setdefault(by, {}).setdefault(group, []).append(j)
    return found


def pick(name: str, known: Iterable[str], what: str) -> str:
    """Return a name that is known.

    Raises
    ------
    InputError
        If it is not, with the nearest name, or with those that are.
    """
    names = list(known)
    if name not in names:
        raise InputError(f"{what}{suggestion(name, names) or listing(names)}", found=shown(name))
    return name
