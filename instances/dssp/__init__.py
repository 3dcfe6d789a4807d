"""dssp: choose and schedule staged jobs by a deadline.

Source: Anderson et al., "Value-Maximizing Deadline Scheduling and its Application to Animation
Rendering", SPAA 2005.
"""

from schedopt.instances.dssp.answers import (
    PlacedTask,
    Scheduled,
    Selected,
    SelectedNight,
    SelectedNights,
)
from schedopt.instances.dssp.jobs import Job, Stages
from schedopt.instances.dssp.machine import Down
from schedopt.instances.dssp.placing import (
    bounding,
    bounding_rules,
    scheduled,
    selected,
    selected_nights,
)
from schedopt.instances.dssp.planned import Tasks, Window, refuse_nights, windows
from schedopt.instances.dssp.records import FILL, Instance, SideConstraint
