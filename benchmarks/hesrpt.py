"""Gaps of policies to optimal allocations.

``python -m benchmarks.hesrpt [TABLE ...]``.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import msgspec
import numpy as np
from scipy.optimize import curve_fit

from benchmarks.tables import Measured, measurement, row, run
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Speedup, Table
from schedopt.verbs.bench import bench

SERVERS = 100

SEEDS, LIMIT = range(1, 6), 10.0

ONLINE = ("hesrpt", "equi", "srpt", "hell", "knee", "replan")
ARRIVING, INSTANCES = 8, 10
"""Jobs of an instance of `regret`, and instances of each kind."""

SHARING = ("smartfill", "hesrpt", "wham", "fw-cam", "equi", "knee", "hell", "srpt")
COMMON = {
    "k^0.5": Power(p=0.5),
    "Amdahl's law, 0.95": Amdahl(parallel=0.95),
    "saturating at 32": Table(points=((32.0, 32.0),)),
    "measured": Table(points=((1.0, 1.0), (4.0, 3.4), (16.0, 9.0), (64.0, 16.0), (100.0, 17.0))),
    "unlike": None,
}
"""Speedups that all jobs have; the last family has random speedups and weights."""


def weighted(
    sizes: Sequence[float], weights: Sequence[float], speedups: Sequence[Speedup]
) -> Instance:
    """Return jobs with these sizes, weights and speedups, for the weighted flow time."""
    return Instance(
        name=f"{len(sizes)} jobs",
        servers=SERVERS,
        objective="weighted-flow-time",
        jobs=tuple(
            Job(name=f"j{i}", size=float(x), weight=float(w), speedup=speedup)
            for i, (x, w, speedup) in enumerate(zip(sizes, weights, speedups, strict=True))
        ),
    )


def unlike(jobs: int, kind: str, seed: int) -> Instance:
    """Return jobs of Pareto sizes, weights from 1 to 4 and different speedups.

    The kinds are ``powers`` of 0.2 to 0.95, ``tables`` of eight random slopes, Amdahl's law with
    parallel parts from 0.7 to 0.999, and ``mixed``, all three.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    x, w = random.pareto(1.5, jobs) + 1, random.integers(1, 5, jobs)
    speedups: list[Speedup] = []
    for _ in range(jobs):
        drawn = random.integers(3)
        number = drawn if kind == "mixed" else {"Amdahl's law": 1, "tables": 2}.get(kind, 0)
        speedup: Speedup = Power(p=float(random.uniform(0.2, 0.95)))
        if number == 1:
            speedup = Amdahl(parallel=round(float(random.uniform(0.7, 0.999)), 3))
        elif number == 2:
            servers = np.array([1.0, 2, 4, 8, 16, 32, 64, SERVERS])
            slopes = np.sort(random.uniform(0.05, 1.0, len(servers)))[::-1]
            rise = np.cumsum(np.diff(servers, prepend=0.0) * slopes).round(6)
            speedup = Table(points=tuple(zip(servers.tolist(), rise.tolist(), strict=True)))
        speedups.append(speedup)
    return weighted(x, w, speedups)


def arriving(p: float | None, load: float, seed: int) -> Instance:
    """Return jobs that arrive at a rate of ``load`` divided by the mean time on all servers.

    Their speedup is k^p; with p = None each job has a random power and weight.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    sizes = (1.0 + random.pareto(1.5, ARRIVING)).round(3)
    gaps = random.exponential(1.0, ARRIVING - 1)
    powers, weights = np.full(ARRIVING, p or 0.0), np.ones(ARRIVING)
    if p is None:
        powers = random.uniform(0.3, 0.95, ARRIVING).round(2)
        weights = random.integers(1, 4, ARRIVING, endpoint=True).astype(float)
    mean = float(np.mean(sizes / SERVERS**powers))
    arrivals = np.concatenate([[0.0], np.cumsum(gaps * mean / load)]).round(6).tolist()
    night = weighted(sizes, weights, [Power(p=float(p)) for p in powers])
    jobs = tuple(
        msgspec.structs.replace(job, arrival=at)
        for job, at in zip(night.jobs, arrivals, strict=True)
    )
    return msgspec.structs.replace(night, name=f"arriving-{seed}", jobs=jobs)


@measurement
def regret() -> Measured:
    """Print the ratio of each policy's weighted flow time to the clairvoyant optimum.

    Instances whose optimum is not proven within the time limit are left out. heSRPT is given the
    mean p if powers differ, and KNEE its best alpha for each instance.
    """
    yield (
        f"{ARRIVING} jobs arriving over time, N = {SERVERS}, {INSTANCES} instances of each "
        "kind: total weighted flow time by the clairvoyant optimum, mean (worst)"
    )
    for p, load in product((0.5, 0.9, None), (0.5, 0.9)):
        proven: list[Any] = []
        for seed in range(1, INSTANCES + 1):
            jobs = arriving(p, load, seed)
            mean = float(np.mean([job.speedup.p for job in jobs.jobs]))
            options = {"p": mean} if p is None else {}
            rows = bench([jobs], policies=ONLINE, options=options, time_limit=LIMIT)
            proven += rows if rows[0].reference_proven else ()
        over = {n: [1.0 + one.gap for one in proven if one.policy == n] for n in ONLINE}
        what = f"{'own p, weights 1-4' if p is None else f'p = {p:g}'}, load {load:g}: proven"
        yield row(what, len(proven) // len(ONLINE), **_mean_and_worst(over, ".3f"))


def _mean_and_worst(values: dict[str, list[float]], form: str) -> dict[str, object]:
    return {
        name: f"{np.mean(of):{form}} ({max(of):{form}})" if of else "-"
        for name, of in values.items()
    }


@measurement
def sharing(sizes: Sequence[int] = (8, 16)) -> Measured:
    """Print the gaps of policies to the bound over all orders: the mean, and the largest.

    heSRPT is given the power closest to the average speedup at 1, 2, 4, ... servers.
    """
    yield f"N = {SERVERS}, no arrivals: gaps to the bound over all orders, mean (largest)"
    for (family, speedup), jobs in product(COMMON.items(), sizes):
        gaps: dict[str, list[float]] = {name: [] for name in SHARING}
        proven = 0
        for seed in SEEDS:
            night = unlike(jobs, "mixed", seed)
            if speedup:
                same = {"weight": 1.0, "speedup": speedup}
                weighted = tuple(msgspec.structs.replace(job, **same) for job in night.jobs)
                night = msgspec.structs.replace(night, jobs=weighted)
            k = np.array([1.0, 2, 4, 8, 16, 32, 64])
            average = np.mean([job.speedup.at(k) for job in night.jobs], axis=0)
            options = {"p": min(1.0, float(curve_fit(np.power, k, average, p0=0.5)[0][0]))}
            rows = bench([night], policies=SHARING, options=options, time_limit=LIMIT)
            proven += rows[0].reference_proven
            for one in rows:
                if one.objective is not None:
                    gaps[one.policy].append(one.objective / one.reference_bound - 1.0)
        what = f"{family}, {jobs} jobs"
        yield row(what, proven, f"of {len(SEEDS)} proven", **_mean_and_worst(gaps, ".2%"))


if __name__ == "__main__":
    run(regret, sharing)
