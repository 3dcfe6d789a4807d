"""How far online policies fall short of the clairvoyant optimum: ``python -m ...hesrpt_regret``.

Eight jobs arrive one after the other, as a Poisson process does. The optimum knows when: branch and
bound proves it over all timelines. Instances whose optimum is not proven in time do not count, and
it is said how many do.
"""

from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from benchmarks.hesrpt import SERVERS, weighted
from benchmarks.tables import Measured, all_of, judged, measurement, row, run
from benchmarks.timing import best_of
from schedopt.instances.hesrpt import Instance, Power
from schedopt.policies.registry import registered
from schedopt.verbs.solve import solve

JOBS, LIMIT = 8, 60.0
INSTANCES = 10
POLICIES = ("hesrpt", "equi", "srpt", "hell", "knee", "replan")
"""KNEE with the alpha that is best for the instance, which nobody online would know."""


class Kind(NamedTuple):
    """What jobs are drawn: their common p, or None for p and weights of their own; and the load."""

    p: float | None
    load: float


KINDS = tuple(Kind(p, load) for p in (0.5, 0.9, None) for load in (0.5, 0.9))


def drawn(kind: Kind, seed: int) -> Instance:
    """Return jobs of Pareto(1.5) sizes that come at a rate of load / (mean time on all servers)."""
    random = np.random.Generator(np.random.PCG64(seed))
    sizes = (1.0 + random.pareto(1.5, JOBS)).round(3)
    gaps = random.exponential(1.0, JOBS - 1)
    powers, weights = np.full(JOBS, kind.p or 0.0), np.ones(JOBS)
    if kind.p is None:
        powers = random.uniform(0.3, 0.95, JOBS).round(2)
        weights = random.integers(1, 4, JOBS, endpoint=True).astype(float)
    mean = float(np.mean(sizes / SERVERS**powers))
    arrivals = np.concatenate([[0.0], np.cumsum(gaps * mean / kind.load)]).round(6).tolist()
    made = weighted(sizes, weights, [Power(p=float(p)) for p in powers])
    jobs = tuple(
        msgspec.structs.replace(job, arrival=at)
        for job, at in zip(made.jobs, arrivals, strict=True)
    )
    return msgspec.structs.replace(made, jobs=jobs)


def ratios(instance: Instance, best: float) -> dict[str, float]:
    """Return the cost of each policy by the optimum; heSRPT takes the mean p where jobs differ."""
    found = {}
    for name in POLICIES:
        options = {}
        if name == "hesrpt" and instance.power is None:
            exponents = [s.p for s in instance.speedups if isinstance(s, Power)]
            options = {"p": float(np.mean(exponents))}
        played = registered("hesrpt")[name].run(instance, **options)
        found[name] = instance.objective_of(played) / best
    return found


@measurement
def regret() -> Measured:
    """Print the mean and the worst ratio of each policy's weighted flow time to the optimum."""
    yield (
        f"(h3) {JOBS} jobs arriving over time, N = {SERVERS}, {INSTANCES} instances of each kind:"
        " total weighted flow time by the clairvoyant optimum, mean (worst)"
    )
    proven, below = 0, 0
    for kind in KINDS:
        times: list[float] = []
        costs: list[dict[str, float]] = []
        for seed in range(1, INSTANCES + 1):
            instance = drawn(kind, seed)
            spent, result = best_of(1, partial(solve, instance, time_limit=LIMIT))
            times.append(spent)
            if result.proven:
                costs.append(ratios(instance, result.objective))
        proven += len(costs)
        below += sum(ratio < 1.0 - 2e-6 for cost in costs for ratio in cost.values())
        by_policy = {name: [cost[name] for cost in costs] for name in POLICIES}
        told = {n: f"{np.mean(r):.3f} ({max(r):.2f})" if r else "-" for n, r in by_policy.items()}
        p = "own p, weights 1-4" if kind.p is None else f"p = {kind.p:g}"
        proven_here = f"{len(costs)} of {INSTANCES}"
        seconds = float(np.median(times))
        what = f"{p}, load {kind.load:g}"
        yield row(what, seconds, "s", slowest=max(times), proven=proven_here, **told)
    yield judged("no policy costs less than a proven optimum", below == 0)
    yield all_of(
        f"{JOBS} jobs with arrivals proven in {LIMIT:.0f} s", proven, INSTANCES * len(KINDS)
    )


if __name__ == "__main__":
    run(regret)
