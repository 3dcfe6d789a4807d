"""Thresholds of every class, optimized by simulation with common random numbers.

Every candidate plays the same jobs, so that their differences are told apart long before their
values are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.rule import slots
from schedopt.policies.msfq.simulation import play
from schedopt.policies.msfq.stability import require_settled
from schedopt.policies.registry import UnstableError

Options = Mapping[str, Any]
POLICY = "class-thresholds"
MOST_ROUNDS = 8
LEAST = {"leave": 0, "rest": 0, "call": 1}


def tuned(queue: Instance, arrivals: int, fixed: Options) -> Options:
    """Search the thresholds of every class, from Adaptive Quickswap on, except ``fixed`` ones.

    Each candidate plays so many ``arrivals``.
    """
    room = slots(queue)
    free = {"leave": room, "rest": [0] * len(room), "call": [1] * len(room)}
    start = {name: ",".join(map(str, each)) for name, each in free.items()}
    start = {"first": "most", **start, **fixed}

    def neighbours(options: Options) -> Iterator[Options]:
        for name in sorted(LEAST.keys() - fixed.keys()):
            now = [int(part) for part in str(options[name]).split(",")]
            for c, (t, most) in enumerate(zip(now, room, strict=True)):
                highest = most if name == "leave" else inf
                for other in {t // 2, t - 1, t + 1, 2 * t + 1} - {t}:
                    if LEAST[name] <= other <= highest:
                        changed = [*now[:c], other, *now[c + 1 :]]
                        yield {**options, name: ",".join(map(str, changed))}

    others = [] if "first" in fixed else [{**start, "first": "least"}]
    return searched(queue, [start, *others], neighbours, arrivals)


def searched(
    queue: Instance,
    starts: Sequence[Options],
    neighbours: Callable[[Options], Iterator[Options]],
    arrivals: int,
) -> Options:
    """Search from each start: move to the best neighbour while it improves; return the best."""
    known: dict[tuple[Any, ...], float] = {}

    def value(options: Options) -> float:
        key = tuple(sorted(options.items()))
        if key not in known:
            known[key] = _objective(queue, options, arrivals)
        return known[key]

    def climbed(best: Options) -> Options:
        for _ in range(MOST_ROUNDS):
            better = min(neighbours(best), key=value, default=best)
            if value(better) >= value(best):
                break
            best = better
        return best

    return min(map(climbed, starts), key=value)


def _objective(queue: Instance, options: Options, arrivals: int) -> float:
    """Return a simulated objective; infinite where work piles up: means are of who completes."""
    played = play(queue, plan(queue, POLICY, **options), arrivals=arrivals, common=True)
    try:
        require_settled(queue, POLICY, played)
    except UnstableError:
        return inf
    usual = np.maximum(played.counts.mean(axis=0), 1e-300)
    return float((played.sums / usual @ np.array(queue.weights())).mean())
