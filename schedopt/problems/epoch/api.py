"""epoch for users: `schedopt.epoch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Epoch, Instance, Job, Partitioned, Rectangle, Scheduled
from schedopt.problems import lazily

if TYPE_CHECKING:
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

if not TYPE_CHECKING:  # or every name would have a type
    __getattr__ = lazily(__name__, {"packing": "schedopt.policies.epoch.heuristics"})
