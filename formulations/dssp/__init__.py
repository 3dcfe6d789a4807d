"""dssp as models: which jobs to run by the deadline, and when."""

from schedopt.formulations.dssp.schedule import Schedule
from schedopt.formulations.dssp.season import Season
from schedopt.formulations.dssp.selection import Selection

__all__ = ["Schedule", "Season", "Selection"]
