"""dssp for users: `schedopt.dssp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.formulations.dssp import Schedule, Season, Selection
from schedopt.instances.dssp import (
    Down,
    Instance,
    Job,
    PlacedTask,
    Scheduled,
    Selected,
    scheduled,
    selected,
)
from schedopt.problems import lazily

if TYPE_CHECKING:
    from schedopt.policies.dssp.dispatchers import dispatcher
    from schedopt.policies.dssp.selectors import selector

__all__ = [
    "Down",
    "Instance",
    "Job",
    "PlacedTask",
    "Schedule",
    "Scheduled",
    "Season",
    "Selected",
    "Selection",
    "dispatcher",
    "scheduled",
    "selected",
    "selector",
]

if not TYPE_CHECKING:  # or every name would have a type
    __getattr__ = lazily(
        __name__,
        {
            "dispatcher": "schedopt.policies.dssp.dispatchers",
            "selector": "schedopt.policies.dssp.selectors",
        },
    )
