"""epoch as models: jobs partitioned into epochs, and jobs as rectangles of any width."""

from schedopt.formulations.epoch.partition import Partition
from schedopt.formulations.epoch.rectangles import Rectangles

__all__ = ["Partition", "Rectangles"]
