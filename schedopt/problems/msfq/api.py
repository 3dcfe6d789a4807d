"""msfq for users: `schedopt.msfq`."""

from formulations.msfq import OptimalPolicy, Threshold
from instances.msfq import (
    BoundedPareto,
    ClassTime,
    Deterministic,
    Empirical,
    Exponential,
    Hyperexponential,
    Instance,
    JobClass,
    Lognormal,
    OptimalTable,
    Simulated,
    Thresholded,
)

__all__ = [
    "BoundedPareto",
    "ClassTime",
    "Deterministic",
    "Empirical",
    "Exponential",
    "Hyperexponential",
    "Instance",
    "JobClass",
    "Lognormal",
    "OptimalPolicy",
    "OptimalTable",
    "Simulated",
    "Threshold",
    "Thresholded",
]
