"""dssp for users: `schedopt.dssp`."""

from formulations.dssp import Schedule, Selection
from instances.dssp import Instance, Job, PlacedTask, Scheduled, Selected, scheduled, selected

__all__ = [
    "Instance",
    "Job",
    "PlacedTask",
    "Schedule",
    "Scheduled",
    "Selected",
    "Selection",
    "scheduled",
    "selected",
]
