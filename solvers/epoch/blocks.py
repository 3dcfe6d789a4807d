"""Inequity 0: equal allotments, for which the fewest epochs are a shortest path."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from schedopt.instances.arithmetic import divisors


def blocks(descending: Sequence[int], nodes: int) -> tuple[list[int], list[int]]:
    """Return the sizes of the fewest epochs with equal allotments, and the path's distances.

    Jobs of the largest leader's epoch can change places with larger ones elsewhere: all fit, and
    what comes in exchange is smaller. So epochs are blocks of the jobs by size, and a path through
    these is shortest: from i jobs done to i + h where h divides N and the next job fits on N/h.

    Parameters
    ----------
    descending : sequence of int
        Minima, not increasing.
    nodes : int
        N.

    Returns
    -------
    counts : list of int
        How many jobs each epoch holds, from the largest on.
    distances : list of int
        The fewest epochs for the i largest jobs; one more than there are jobs.
    """
    jobs = len(descending)
    ways = np.array(divisors(nodes)[::-1])
    distance = np.full(jobs + 1, jobs + 1, dtype=np.int64)
    last = np.zeros(jobs + 1, dtype=np.int64)
    distance[0] = 0
    for i, minimum in enumerate(descending):
        able = ways[: np.searchsorted(ways, min(jobs - i, nodes // minimum), side="right")]
        nearer = able[distance[i + able] > distance[i] + 1]
        distance[i + nearer] = distance[i] + 1
        last[i + nearer] = nearer
    counts, done = [], jobs
    while done:
        counts.append(int(last[done]))
        done -= counts[-1]
    return counts[::-1], distance.tolist()


def dealt(order: Sequence[int], counts: Sequence[int]) -> list[list[int]]:
    """Return jobs dealt out to epochs of so many, in order."""
    ends = list(accumulate(counts))
    return [list(order[end - count : end]) for count, end in zip(counts, ends, strict=True)]
