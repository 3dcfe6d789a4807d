"""epoch for users: `schedopt.epoch`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from formulations.epoch import Partition, Rectangles
from instances.epoch import Epoch, Instance, Job, Partitioned, Rectangle, Scheduled

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

Packing = Callable[[Instance], Sequence[Sequence[int]]]
"""From an instance to the jobs of each epoch, by position."""


def packing(name: str, *, source: str, summary: str) -> Callable[[Packing], Packing]:
    """Register a policy of your own that packs jobs into epochs, for `evaluate` and `bench`.

    Parameters
    ----------
    name : str
        The policy's name.
    source : str
        Where it is defined.
    summary : str
        What it does, in a line.

    Returns
    -------
    callable
        Takes ``pack(instance)``, which returns the positions of the jobs of each epoch; an epoch's
        nodes are shared out as the instance's inequity allows.
    """
    from policies.epoch.greedy import packing as register

    return register(name, source=source, summary=summary)
