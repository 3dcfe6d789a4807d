"""msfq: a queue of multiserver jobs, each of which holds several servers at once.

Source: Chen, Anggraito, Olliaro, Marin, Ajmone Marsan, Berg and Grosof, "Improving Nonpreemptive
Multiserver Job Scheduling with Quickswap", 2025.
"""

from schedopt.instances.msfq.answers import (
    Bracketed,
    ClassTime,
    LogAnswer,
    Measures,
    OptimalTable,
    Replayed,
    Simulated,
    Thresholded,
)
from schedopt.instances.msfq.records import Instance, JobClass, Partition, SideConstraint
from schedopt.instances.msfq.sizes import (
    BoundedPareto,
    Deterministic,
    Empirical,
    Exponential,
    Hyperexponential,
    Lognormal,
    Shape,
)

__all__ = [
    "BoundedPareto",
    "Bracketed",
    "ClassTime",
    "Deterministic",
    "Empirical",
    "Exponential",
    "Hyperexponential",
    "Instance",
    "JobClass",
    "LogAnswer",
    "Lognormal",
    "Measures",
    "OptimalTable",
    "Partition",
    "Replayed",
    "Shape",
    "SideConstraint",
    "Simulated",
    "Thresholded",
]
