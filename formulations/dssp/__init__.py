"""dssp as models: which jobs to run by the deadline."""

from formulations.dssp.selection import Selection

__all__ = ["Selection"]
