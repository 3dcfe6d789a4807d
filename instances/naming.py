"""Names: of jobs, each its own, and their groups; and the look-up of a name among those known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from schedopt.instances.errors import InputError, listing, shown, suggestion


def index_of(jobs: Sequence[Any]) -> dict[str, int]:
    """Return the position of each job by name.

    Raises
    ------
    InputError
        If two have the same name.
    """
    names = [job.name for job in jobs]
    found = dict(zip(names, range(len(names)), strict=True))
    return found if len(found) == len(names) else _same_name(jobs)


def check_unique(jobs: Sequence[Any]) -> None:
    """Raise `InputError` if two jobs have the same name; quicker than `index_of`."""
    if len({job.name for job in jobs}) < len(jobs):
        _same_name(jobs)


def _same_name(jobs: Sequence[Any]) -> NoReturn:
    """Raise `InputError` with the place of the first name that was there before."""
    seen: dict[str, int] = {}
    for j, job in enumerate(jobs):
        if job.name in seen:
            raise InputError(
                f"a name of its own: jobs[{seen[job.name]}] has it already",
                found=shown(job.name),
                place=f"jobs[{j}].name",
            )
        seen[job.name] = j
    raise AssertionError("names that differ")


def groups_of(jobs: Sequence[Any]) -> dict[str, dict[str, list[int]]]:
    """Return, for each grouping and each of its groups, the positions of its jobs."""
    found: dict[str, dict[str, list[int]]] = {}
    for j, its in enumerate([job.groups for job in jobs]):
        if its:
            for by, group in its.items():
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
