"""dssp for users: `schedopt.dssp`."""

from __future__ import annotations

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
