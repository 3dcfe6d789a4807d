"""What jobs are called: names of their own, and the groups that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from instances.errors import InputError, shown


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
