"""dssp for users: `schedopt.dssp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from formulations.dssp import Schedule, Season, Selection
from instances.dssp import Instance, Job, PlacedTask, Scheduled, Selected, scheduled, selected
from instances.dssp.jobtable import convert as from_table

if TYPE_CHECKING:
    from policies.dssp.dispatchers import Key
    from solvers.knapsack.items import Mask

__all__ = [
    "Instance",
    "Job",
    "PlacedTask",
    "Schedule",
    "Scheduled",
    "Season",
    "Selected",
    "Selection",
    "dispatcher",
    "from_table",
    "scheduled",
    "selected",
    "selector",
]


def selector(
    name: str, *, source: str, summary: str
) -> Callable[[Callable[..., Mask]], Callable[..., Mask]]:
    """Register a selector of your own as a policy, which `evaluate` and `bench` then run.

    Parameters
    ----------
    name : str
        The policy's name; ``name+lcpf`` dispatches what it selects.
    source : str
        Where it is defined.
    summary : str
        What it does, in a line.

    Returns
    -------
    callable
        Takes ``choose(items)``, which is given the profits and weights of the jobs that can be in
        time, shape (items,), and the room, and returns a mask over them.
    """
    from policies.dssp.selectors import selector as register

    return register(name, source=source, summary=summary)


def dispatcher(name: str, *, source: str, summary: str) -> Callable[[Key], Key]:
    """Register a dispatcher of your own as a policy, which `evaluate` and `bench` then run.

    Parameters
    ----------
    name : str
        The policy's name; ``core+name`` dispatches what a selector selects.
    source : str
        Where it is defined.
    summary : str
        What it does, in a line.

    Returns
    -------
    callable
        Takes ``key(night)``, which returns a number for each job, shape (jobs,), or for each task,
        shape (tasks,): of what can run, the least goes first.
    """
    from policies.dssp.dispatchers import dispatcher as register

    return register(name, source=source, summary=summary)
