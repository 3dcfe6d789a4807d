"""hesrpt for users: `schedopt.hesrpt`."""

from formulations.hesrpt import Allocation
from instances.hesrpt import Allocated, Amdahl, Epoch, Instance, Job, Power, Table, Whole, fit

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
    "fit",
]
