"""epoch for users: `schedopt.epoch`."""

from __future__ import annotations

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Epoch, Instance, Job, Partitioned, Rectangle, Scheduled
from schedopt.policies.epoch.heuristics import packing

__all__ = [
    "Epoch",
    "Instance",
    "Job",
    "Partition",
    "Partitioned",
    "Rectangle",
    "Rectangles",
    "Scheduled",
    "packing",
]
