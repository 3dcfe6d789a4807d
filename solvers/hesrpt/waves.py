"""A quick allocation of very many jobs: waves of jobs that complete together.

It is at hand whatever the time limit, and has few epochs to write: shares epoch by epoch of all
jobs would be too many numbers.
"""

from typing import NamedTuple

import numpy as np

from schedopt.formulations.hesrpt.epochs import Rules, smiths_order
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.hesrpt.speedup_kernels import Floats, Ints

COUNTS = (4, 16, 64)
LARGE, COUNTS_OF_LARGE = 300_000, (8,)
"""Jobs from which on there is time for one number of waves alone: near the best for a million."""
CLOSER = 3
"""How often the lengths of waves are improved."""


class Waves(NamedTuple):
    """Which wave each job is in, shape (M,), how long each lasts, and what they cost."""

    of: Ints
    lengths: Floats
    cost: float


def in_waves(instance: Instance, rules: Rules) -> Allocated | None:
    """Return the cheapest allocation in waves, None for few jobs, or under side constraints."""
    order = smiths_order(instance)[::-1]
    if rules.bounds or len(order) < COUNTS[-1]:
        return None
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    counts = COUNTS if len(order) <= LARGE else COUNTS_OF_LARGE
    waves = (_shortest_waves(instance, ranks * count // len(order), count) for count in counts)
    best = min(waves, key=lambda made: made.cost)
    ends = np.cumsum(best.lengths)
    shares = _servers_for_lengths(instance, best.of, 1.0 / best.lengths) / instance.servers
    who = np.argsort(best.of, kind="stable")
    cuts = np.searchsorted(best.of[who], np.arange(1, len(ends)))
    jobs, held = np.split(who, cuts), np.split(shares[who], cuts)
    epochs = zip([0.0, *ends[:-1].tolist()], ends.tolist(), jobs, held, strict=True)
    return allocated(instance, ends[best.of], epochs)


def _shortest_waves(instance: Instance, of: Ints, count: int) -> Waves:
    """Return waves that have all servers one after the other, about as short as they can be.

    As speedups are concave, the servers that a wave asks for are convex in 1 over its length: a
    line between two lengths finds one that is long enough, and nearer to the shortest.
    """
    servers = float(instance.servers)
    even = (servers / np.bincount(of, minlength=count))[of]
    longest = np.zeros(count)
    np.maximum.at(longest, of, instance.sizes / instance.each("at", np.arange(len(of)), even))
    pace = 1.0 / longest
    asked = np.bincount(of, _servers_for_lengths(instance, of, pace))
    for _ in range(CLOSER):
        further = pace * servers / asked
        more = np.bincount(of, _servers_for_lengths(instance, of, further))
        between = np.where(
            np.isfinite(more) & (more > asked),
            pace + (further - pace) * (servers - asked) / np.maximum(more - asked, 1e-300),
            (pace + further) / 2,
        )
        now = np.bincount(of, _servers_for_lengths(instance, of, between))
        fits = now <= servers
        pace, asked = np.where(fits, between, pace), np.where(fits, now, asked)
    return Waves(of, 1.0 / pace, float(instance.costs @ np.cumsum(1.0 / pace)[of]))


def _servers_for_lengths(instance: Instance, of: Ints, pace: Floats) -> Floats:
    """Return the servers that jobs need to complete with their waves, by 1 over their lengths."""
    return instance.each("servers_for", np.arange(len(of)), instance.sizes * pace[of])
