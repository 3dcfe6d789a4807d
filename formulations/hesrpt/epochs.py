"""The epochs of a completion order: who is in the system when, and what ends that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from schedopt.formulations.hesrpt.order import Order
from schedopt.instances.hesrpt import Instance


class Epochs(NamedTuple):
    """The epochs of a completion order, one after the other.

    Attributes
    ----------
    present : list of list of int
        Who is in the system in each epoch, as positions.
    ends : list of (str, int)
        What ends each epoch: the ``completion`` or the ``arrival`` of a job.
    """

    present: list[list[int]]
    ends: list[tuple[str, int]]


def lay_out(instance: Instance, last_first: Order, arrived: Mapping[str, int]) -> Epochs:
    """Return the epochs of an order, each arrival after as many completions as told.

    Parameters
    ----------
    instance : Instance
    last_first : ndarray of int64
        Positions of jobs, the last to complete first, shape (M,).
    arrived : mapping of str to int
        How many jobs complete before each job arrives; none where not given.
    """
    waiting = sorted((float(r), j) for j, r in enumerate(instance.arrivals) if r > 0)
    here = {j for j, r in enumerate(instance.arrivals) if r == 0}
    epochs = Epochs([], [])
    for completed, j in enumerate(last_first[::-1].tolist()):
        while waiting and (
            arrived.get(instance.jobs[waiting[0][1]].name, 0) <= completed
            or j in {other for _, other in waiting}
        ):
            epochs.present.append(sorted(here))
            epochs.ends.append(("arrival", waiting[0][1]))
            here.add(waiting.pop(0)[1])
        epochs.present.append(sorted(here))
        epochs.ends.append(("completion", j))
        here.remove(j)
    return epochs
