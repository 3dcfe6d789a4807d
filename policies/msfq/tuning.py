"""The parameters of a policy, optimized by simulation with common random numbers.

Every candidate plays the same jobs, so that their differences are told apart long before their
values are. What is chosen is then simulated anew with other jobs: the value of a choice on the very
jobs that it was made by is flattering.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.intervals import interval
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.rule import Plan, slots
from schedopt.policies.msfq.simulation import play
from schedopt.policies.msfq.stability import require_settled
from schedopt.policies.registry import UnstableError

Options = Mapping[str, Any]
Floats = NDArray[np.float64]
MOST_ROUNDS = 8


class TunedOptions(NamedTuple):
    """The chosen options, and the evidence for them, after ``tried`` candidates.

    ``objective`` and ``confidence`` (half of a 95% interval, None for too short a run) are of jobs
    that had no part in the choice; ``gain`` is how much less that is than at the start, on the same
    jobs.
    """

    options: Options
    objective: float
    confidence: float | None
    gain: float
    gain_confidence: float | None
    tried: int


def tune(
    queue: Instance,
    name: str,
    start: Options,
    neighbours: Callable[[Options], Iterator[Options]],
    *,
    arrivals: int = 200_000,
    seed: int = 0,
    others: Sequence[Options] = (),
    verdict: bool = True,
) -> TunedOptions:
    """Search options by local search: move to the best neighbour while it improves.

    Options under which work piles up are worth nothing: their means are of the jobs that complete.
    ``others`` are further starts. Each candidate plays ``arrivals`` jobs; with a ``verdict`` the
    choice is simulated anew, on ten times as many jobs of the next seed, else its figures are those
    of the search.
    """
    known: dict[tuple[Any, ...], Floats] = {}

    def value(options: Options) -> float:
        key = tuple(sorted(options.items()))
        if key not in known:
            known[key] = _by_batch(queue, plan(queue, name, **options), arrivals, seed)
        return float(known[key].mean())

    def climbed(best: Options) -> Options:
        for _ in range(MOST_ROUNDS):
            better = min(neighbours(best), key=value, default=best)
            if value(better) >= value(best):
                break
            best = better
        return best

    tops: list[Options] = [climbed(one) for one in (start, *others)]
    best = dict(tops[int(np.argmin([value(top) for top in tops]))])
    if verdict:
        arrivals, seed = 10 * arrivals, seed + 1
    chosen = _by_batch(queue, plan(queue, name, **best), arrivals, seed)
    before = _by_batch(queue, plan(queue, name, **start), arrivals, seed)
    return TunedOptions(
        options=best,
        objective=float(chosen.mean()),
        confidence=_half_width(chosen, positive=True),
        gain=float((before - chosen).mean()),
        gain_confidence=_half_width(before - chosen),
        tried=len(known),
    )


def _by_batch(queue: Instance, chosen: Plan, arrivals: int, seed: int) -> Floats:
    """Return the objective batch by batch, each class by its expected number of jobs in one."""
    played = play(queue, chosen, arrivals=arrivals, seed=seed, common=True)
    try:
        require_settled(queue, chosen.name, played)
    except UnstableError:
        return np.full(len(played.sums), inf)
    usual = np.maximum(played.counts.mean(axis=0), 1e-300)
    return np.asarray(played.sums / usual @ np.array(queue.weights()))


def _half_width(values: Floats, *, positive: bool = False) -> float | None:
    mean = float(values.mean())
    if not isfinite(mean):
        return None
    return interval(values - mean, mean, positive=positive).half_width


def tune_two_threshold(queue: Instance, *, arrivals: int = 200_000, seed: int = 0) -> TunedOptions:
    """Optimize l, b0, b1 and b2 of the two-threshold rule, from lazy MSFQ on."""
    k = queue.servers

    def neighbours(options: Options) -> Iterator[Options]:
        l, b0, b2 = options["threshold"], options["b0"], options["b2"]
        for other in {max(0, l // 2), max(0, l - 1), min(k - 1, l + 1), min(k - 1, 2 * l + 1)} - {
            l
        }:
            yield {**options, "threshold": other}
        for name, now in (("b0", b0), ("b2", b2)):
            steps = (k, 4 * k) if now == inf else (now / 2, now - 1, now + 1, 2 * now, inf)
            for other in steps:
                if other >= 1:
                    yield {**options, name: float(other)}
        for other in {0.0, options["b1"] / 2, options["b1"] + 0.25, 2 * options["b1"]}:
            if b0 < inf and other != options["b1"]:
                yield {**options, "b1": other}

    start = {"threshold": max(0, k // 2 - 1), "b0": inf, "b1": 0.0, "b2": inf}
    return tune(queue, "two-threshold", start, neighbours, arrivals=arrivals, seed=seed)


def tune_static(
    queue: Instance, *, handover: str = "overlap", arrivals: int = 200_000, seed: int = 0
) -> TunedOptions:
    """Optimize Static Quickswap's threshold of every class, from the default on."""
    room = slots(queue)

    def neighbours(options: Options) -> Iterator[Options]:
        limits = [int(part) for part in str(options["threshold"]).split(",")]
        for c, (l, most) in enumerate(zip(limits, room, strict=True)):
            for other in {l // 2, l - 1, l + 1, 2 * l + 1} - {l}:
                if 0 <= other < most:
                    changed = [*limits[:c], other, *limits[c + 1 :]]
                    yield {**options, "threshold": ",".join(map(str, changed))}

    start = {"threshold": ",".join(str(most - 1) for most in room), "handover": handover}
    return tune(queue, "static-quickswap", start, neighbours, arrivals=arrivals, seed=seed)


def tune_class_thresholds(
    queue: Instance,
    *,
    arrivals: int = 200_000,
    seed: int = 0,
    fixed: Options | None = None,
    verdict: bool = True,
) -> TunedOptions:
    """Optimize the thresholds of every class, from Adaptive Quickswap on, except ``fixed``."""
    room = slots(queue)
    fixed = fixed or {}
    least = {"leave": 0, "rest": 0, "call": 1}

    def neighbours(options: Options) -> Iterator[Options]:
        for name in sorted(least.keys() - fixed.keys()):
            now = [int(part) for part in str(options[name]).split(",")]
            for c, (t, most) in enumerate(zip(now, room, strict=True)):
                highest = most if name == "leave" else inf
                for other in {t // 2, t - 1, t + 1, 2 * t + 1} - {t}:
                    if least[name] <= other <= highest:
                        changed = [*now[:c], other, *now[c + 1 :]]
                        yield {**options, name: ",".join(map(str, changed))}

    free = {"leave": room, "rest": [0] * len(room), "call": [1] * len(room)}
    start = {name: ",".join(map(str, each)) for name, each in free.items()}
    start = {"first": "most", **start, **fixed}
    others = [] if "first" in fixed else [{**start, "first": "least"}]
    return tune(
        queue,
        "class-thresholds",
        start,
        neighbours,
        arrivals=arrivals,
        seed=seed,
        others=others,
        verdict=verdict,
    )
