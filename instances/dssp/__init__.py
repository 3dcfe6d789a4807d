"""dssp: choose and schedule staged jobs by a deadline.

Source: Anderson et al., "Value-Maximizing Deadline Scheduling and its Application to Animation
Rendering", SPAA 2005.
"""

from instances.dssp.bounding import bounding
from instances.dssp.placing import scheduled
from instances.dssp.records import (
    FILL,
    Instance,
    Job,
    PlacedTask,
    Scheduled,
    Selected,
    SideConstraint,
    Stages,
)
from instances.dssp.tasks import Tasks

__all__ = [
    "FILL",
    "Instance",
    "Job",
    "PlacedTask",
    "Scheduled",
    "Selected",
    "SideConstraint",
    "Stages",
    "Tasks",
    "bounding",
    "scheduled",
]
