"""dssp for users: `schedopt.dssp`."""

from formulations.dssp import Schedule, Season, Selection
from instances.dssp import Instance, Job, PlacedTask, Scheduled, Selected, scheduled, selected
from instances.dssp.jobtable import convert as from_table

__all__ = [
    "Instance",
    "Job",
    "PlacedTask",
    "Schedule",
    "Scheduled",
    "Season",
    "Selected",
    "Selection",
    "from_table",
    "scheduled",
    "selected",
]
