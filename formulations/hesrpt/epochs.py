"""The epochs of a timeline: the jobs in the system, and the event that ends each epoch."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from schedopt.formulations.hesrpt.order import Order
from schedopt.instances.hesrpt import Instance

Timeline = tuple[list[int], dict[str, int]]
"""An order from the last job to complete, and how many complete before each arrival."""
MANY = 12
"""The most jobs whose timelines are counted."""


class Epochs(NamedTuple):
    """The epochs of a completion order, one after the other.

    ``present`` holds the positions of the jobs in the system in each epoch, ``ends`` the event that
    ends it: the ``completion`` or the ``arrival`` of a job.
    """

    present: list[list[int]]
    ends: list[tuple[str, int]]


def lay_out(instance: Instance, last_first: Order, arrived: Mapping[str, int]) -> Epochs:
    """Return the epochs of an order, given from the last job to complete to the first.

    ``arrived`` says after how many completions each job arrives, 0 where it does not.
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


def timelines(instance: Instance, order: Sequence[int] | None = None) -> Iterator[Timeline]:
    """Yield every feasible timeline, or those of one ``order`` (from the last job)."""
    arrivals = sorted((float(r), j) for j, r in enumerate(instance.arrivals) if r > 0)
    here = {j for j, r in enumerate(instance.arrivals) if r == 0}
    wanted = None if order is None else list(reversed(order))

    def grown(
        waiting: list[int], here: set[int], done: list[int], arrived: dict[str, int]
    ) -> Iterator[Timeline]:
        if not waiting and not here:
            yield list(reversed(done)), dict(arrived)
        if waiting:
            j = waiting[0]
            also = {**arrived, instance.jobs[j].name: len(done)}
            yield from grown(waiting[1:], here | {j}, done, also)
        for j in sorted(here):
            if wanted is None or wanted[len(done)] == j:
                yield from grown(waiting, here - {j}, [*done, j], arrived)

    yield from grown([j for _, j in arrivals], here, [], {})


def count_timelines(instance: Instance, order: Sequence[int] | None = None) -> int:
    """Return how many timelines there are; 10^9 where there are many."""
    late = sum(job.arrival > 0 for job in instance.jobs)
    if order is not None:
        return min(int(len(instance.jobs) ** late), 10**9)
    if len(instance.jobs) > MANY:
        return 10**9
    # How many are here and how many are to come says all: a completion is any of those here.
    ways = {(len(instance.jobs) - late, late): 1}
    total = 0
    while ways:
        following: dict[tuple[int, int], int] = {}
        for (here, waiting), count in ways.items():
            if not here and not waiting:
                total += count
                continue
            if waiting:
                key = (here + 1, waiting - 1)
                following[key] = following.get(key, 0) + count
            if here:
                key = (here - 1, waiting)
                following[key] = following.get(key, 0) + count * here
        ways = following
    return min(total, 10**9)
