"""hesrpt for users: `schedopt.hesrpt`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from formulations.hesrpt import Allocation
from instances.hesrpt import Allocated, Amdahl, Epoch, Instance, Job, Power, Table, Whole, fit

if TYPE_CHECKING:
    from policies.hesrpt.simulator import Floats

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
    "share_policy",
]


def share_policy(
    name: str, *, source: str, summary: str
) -> Callable[[Callable[..., Floats]], Callable[..., Floats]]:
    """Register a sharing policy of your own, which `evaluate` and `bench` then run.

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
        Takes ``shares(instance, jobs, left)``: positions of the jobs in the system and what is left
        of each, shape (present,), the least first; it returns their shares, which sum to at most 1.
    """
    from policies.hesrpt.shares import share_policy as register

    return register(name, source=source, summary=summary)
