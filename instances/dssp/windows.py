"""Windows: jobs live from their release to their deadline, and what fits between the two."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from instances.constraints import Constraint, Seats
from instances.errors import InputError, shown

if TYPE_CHECKING:
    from instances.dssp.records import Instance


def refuse_windows(night: Instance, who: str) -> None:
    """Raise `InputError` at the first release after 0 or deadline of a job's own.

    Parameters
    ----------
    night : Instance
    who : str
        What does not respect them.
    """
    for j, job in enumerate(night.jobs):
        for field, value, default in (
            ("release", job.release, 0.0),
            ("deadline", job.deadline, None),
        ):
            if value != default:
                words = f"no {field} of a job's own: {who} does not respect them yet"
                raise InputError(words, found=shown(value), place=f"jobs[{j}].{field}")


def refuse_seats(constraints: Iterable[Constraint], who: str) -> None:
    """Raise `InputError` at the first side constraint on seats.

    Parameters
    ----------
    constraints : iterable of Constraint
    who : str
        What does not respect them.
    """
    for i, constraint in enumerate(constraints):
        if isinstance(constraint, Seats):
            words = f"no seats: {who} does not respect them yet"
            raise InputError(words, found="'seats'", place=f"constraints[{i}].kind")
