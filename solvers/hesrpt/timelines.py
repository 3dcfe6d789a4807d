"""Timelines of instances with arrivals: in which order jobs complete, and arrive between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedopt.instances.hesrpt import Instance

Timeline = tuple[list[int], dict[str, int]]


def timelines(instance: Instance, order: Sequence[int] | None = None) -> Iterator[Timeline]:
    """Yield every (order from the last, completions before each arrival) that can be.

    Parameters
    ----------
    instance : Instance
    order : sequence of int, optional
        Only this order of completions (positions, from the last to complete).
    """
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
    """Return how many timelines there are."""
    late = sum(job.arrival > 0 for job in instance.jobs)
    if order is not None:
        return min(int(len(instance.jobs) ** late), 10**9)
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
    return total
