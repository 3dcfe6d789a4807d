"""Ready jobs many of which are alike, for the tests of `schedopt.ready`."""

from typing import NamedTuple

import numpy as np

from schedopt.instances.ready import Integers

KINDS = ("priorities of four", "one scarce", "correlated")


class Jobs(NamedTuple):
    """Ready jobs: objectives (priority, cores), resources used, and resources available."""

    goals: Integers
    uses: Integers
    room: Integers


def tying_jobs(kind: str, count: int, seed: int) -> Jobs:
    """Return jobs of which many are alike in all but a resource, or in everything."""
    rng = np.random.default_rng(seed)
    priority, cores = np.full(count, 3), rng.integers(1, 17, count)
    uses, room = [cores, rng.integers(500, 64_001, count)], [500, 2_000_000]
    if kind == "priorities of four":
        priority = rng.choice((0, 0, 0, 1, 5), count)
        uses[0] = cores = rng.choice((1, 1, 2, 4, 8, 16), count)
    elif kind == "one scarce":
        priority = rng.choice((0, 1, 2, 5), count)
        more = [rng.integers(0, most, count) for most in (3, 2, 50)]
        uses += [*more, rng.integers(1, 1_000, count)]
        room = [10**6, 10**10, 10**6, 10**6, 10**7, 20_000]
    elif kind == "correlated":
        priority = 5 * cores + rng.integers(-2, 3, count)
        uses[1] = 4_000 * cores + rng.integers(-500, 501, count)
    return Jobs(np.array([priority, uses[0]]), np.array(uses), np.array(room))
