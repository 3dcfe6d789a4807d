"""epoch: pack memory-bound jobs into epochs, with as few node reallocations as can be.

Source: McCann and Zahorjan, "Scheduling Memory Constrained Jobs on Distributed Memory Parallel
Computers", University of Washington technical report 94-10-05, 1994.
"""

from schedopt.instances.epoch.records import (
    Epoch,
    Instance,
    Job,
    Partitioned,
    Rectangle,
    Scheduled,
    SideConstraint,
    Solution,
    even_shares,
    fits,
    partitioned,
)
