"""All timelines of completions and arrivals, in the order that certificates use."""

from collections.abc import Iterator, Sequence

from schedopt.instances.hesrpt import Instance

MOST = 5_000
"""The most timelines."""
Epochs = list[tuple[list[int], float | None]]
"""The jobs present in each epoch, and its end where that is an arrival."""


def timelines(instance: Instance, order: Sequence[int] | None = None) -> Iterator[Epochs]:
    """Yield the epochs of each timeline: at each point the next arrival first, then completions.

    With ``order`` only this order of completions, as positions from the last to complete.
    """
    arrivals = sorted((job.arrival, j) for j, job in enumerate(instance.jobs) if job.arrival > 0)
    here = frozenset(j for j, job in enumerate(instance.jobs) if job.arrival == 0)
    first_first = None if order is None else list(reversed(order))
    seen = 0

    def grown(come: int, here: frozenset[int], done: int, epochs: Epochs) -> Iterator[Epochs]:
        nonlocal seen
        if come == len(arrivals) and not here:
            seen += 1
            if seen > MOST:
                raise ValueError(f"more than {MOST} timelines")
            yield epochs
        if come < len(arrivals):
            time, j = arrivals[come]
            yield from grown(come + 1, here | {j}, done, [*epochs, (sorted(here), time)])
        for j in sorted(here):
            if first_first is None or first_first[done] == j:
                yield from grown(come, here - {j}, done + 1, [*epochs, (sorted(here), None)])

    yield from grown(0, here, 0, [])
