"""epoch for users: `schedopt.epoch`."""

from formulations.epoch import Partition, Rectangles
from instances.epoch import Epoch, Instance, Job, Partitioned, Rectangle, Scheduled

__all__ = [
    "Epoch",
    "Instance",
    "Job",
    "Partition",
    "Partitioned",
    "Rectangle",
    "Rectangles",
    "Scheduled",
]
