"""dssp as models: which jobs to run by the deadline, and when."""

from formulations.dssp.schedule import Schedule
from formulations.dssp.season import Season
from formulations.dssp.selection import Selection

__all__ = ["Schedule", "Season", "Selection"]
