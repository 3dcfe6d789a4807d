"""hesrpt for users: `schedopt.hesrpt`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import (
    Allocated,
    Amdahl,
    Epoch,
    Instance,
    Job,
    Power,
    Table,
    Whole,
)
from schedopt.problems import lazily

if TYPE_CHECKING:
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
    "Whole",
    "share_policy",
]

if not TYPE_CHECKING:  # or every name would have a type
    __getattr__ = lazily(__name__, {"share_policy": "schedopt.policies.hesrpt.shares"})
