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
from schedopt.instances.msfq.records import (
    Empirical,
    Exponential,
    Instance,
    JobClass,
    Partition,
    Shape,
    SideConstraint,
)
