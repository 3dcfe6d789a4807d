"""hesrpt for users: `schedopt.hesrpt`."""

from __future__ import annotations

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import (
    Allocated,
    Amdahl,
    Epoch,
    Instance,
    Job,
    Power,
    Table,
)
from schedopt.policies.hesrpt.shares import share_policy

__all__ = [
    "Allocated",
    "Allocation",
    "Amdahl",
    "Epoch",
    "Instance",
    "Job",
    "Power",
    "Table",
    "share_policy",
]
