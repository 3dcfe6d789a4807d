"""hesrpt: share servers between parallelizable jobs.

Source: Berg, Vesilo and Harchol-Balter, "heSRPT: Optimal Parallel Scheduling of Jobs With Known
Sizes", 2019.
"""

from schedopt.instances.hesrpt.records import (
    Allocated,
    Epoch,
    Instance,
    Job,
    SideConstraint,
    allocated,
    check_meaning,
)
from schedopt.instances.hesrpt.speedups import (
    Amdahl,
    Power,
    Speedup,
    Table,
)
