"""Allocations: the closed form, the program of an order, all orders, and policies online.

``python -m benchmarks.hesrpt [TABLE ...]``: all tables, or some of those at the end of this file.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import msgspec
import numpy as np
from scipy.optimize import curve_fit

from benchmarks.tables import Measured, best_of, cpu, measurement, row, run
from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.constraints import FairShare, Shares
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Speedup, Table
from schedopt.instances.hesrpt.generators import GENERATORS
from schedopt.policies.hesrpt.simulator import hesrpt_times, hesrpt_total
from schedopt.solvers.hesrpt.cone_programs import solve_program
from schedopt.verbs.bench import bench
from schedopt.verbs.solve import solve

POWERS = (0.05, 0.3, 0.5, 0.9, 0.99)
SERVERS = 100

UNEQUAL = (
    (12, "powers", True),
    (14, "powers", True),
    (16, "powers", False),
    (12, "Amdahl's law", True),
    (8, "tables", True),
    (12, "a floor for five jobs", True),
    (8, "a cap on a team", True),
    (8, "floors of two teams", True),
    (12, "a cap on a team", True),
    (12, "floors of two teams", True),
)
"""Jobs, in what they are unlike, and whether all are to be proven within the limit."""
SEEDS, LIMIT = range(1, 6), 60.0
RULES = {
    "a floor for five jobs": (Shares(jobs=("j0", "j1", "j2", "j3", "j4"), at_least=0.05),),
    "a cap on a team": (FairShare(by="team", at_most={"a": 0.5}),),
    "floors of two teams": (FairShare(by="team", at_least={"a": 0.2, "b": 0.3}),),
}

MANY = (
    *((jobs, kind) for jobs in (18, 20, 24, 32, 44, 60) for kind in ("mixed", "powers")),
    *((70, kind) for kind in ("mixed", "powers", "tables")),
    *((jobs, "mixed") for jobs in (100, 200, 500, 1000)),
)
FEW_SEEDS, FEW_SECONDS, MOST_GAP = (1, 2), 10.0, 0.01

ONLINE = ("hesrpt", "equi", "srpt", "hell", "knee", "replan")
"""KNEE with the alpha that is best for the instance, which nobody online would know."""
ARRIVING, INSTANCES = 8, 10

SHARING = ("smartfill", "hesrpt", "wham", "fw-cam", "equi", "knee", "hell", "srpt")
COMMON = {
    "k^0.5": Power(p=0.5),
    "Amdahl's law, 0.95": Amdahl(parallel=0.95),
    "saturating at 32": Table(points=((32.0, 32.0),)),
    "measured": Table(points=((1.0, 1.0), (4.0, 3.4), (16.0, 9.0), (64.0, 16.0), (100.0, 17.0))),
    "unlike": None,
}
"""Families of speedups, of all jobs but in the last, where they have their own and weights."""


def weighted(
    sizes: Sequence[float], weights: Sequence[float], speedups: Sequence[Speedup]
) -> Instance:
    """Return jobs with speedups of their own, of two teams in turn, for the weighted flow time."""
    return Instance(
        name=f"{len(sizes)} jobs",
        servers=SERVERS,
        objective="weighted-flow-time",
        jobs=tuple(
            Job(
                name=f"j{i}",
                size=float(x),
                weight=float(w),
                speedup=speedup,
                groups={"team": "ab"[i % 2]},
            )
            for i, (x, w, speedup) in enumerate(zip(sizes, weights, speedups, strict=True))
        ),
    )


def unlike(jobs: int, kind: str, seed: int) -> Instance:
    """Return jobs of Pareto sizes, weights from 1 to 4 and speedups of their own.

    The kinds are ``powers`` of 0.2 to 0.95, ``tables`` of eight random slopes, Amdahl's law of
    parallel parts from 0.7 to 0.999, ``mixed``, of all three, and powers under one of `RULES`.
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
    return msgspec.structs.replace(weighted(x, w, speedups), constraints=RULES.get(kind, ()))


@measurement
def closed_form() -> Measured:
    """Time heSRPT's completion times in closed form."""
    yield "(f) heSRPT, N = 10^6, p = 0.5: best of 5"
    instance = GENERATORS["pareto"](1, jobs=1_000_000)
    took = cpu(partial(hesrpt_times, instance.sizes, 0.5, 1e6))
    yield row("a million jobs", took, "s", most=0.1)


@measurement
def program() -> Measured:
    """Solve the program of shortest-first order, whose optimum is known in closed form."""
    yield "(g) the program of one order in Clarabel, N = 10^6: once each"
    for jobs, p in product((20, 50, 200), POWERS):
        instance = GENERATORS["pareto"](1, jobs=jobs, p=p)
        best = hesrpt_total(instance.sizes, p, instance.servers) / jobs
        order = [int(j) for j in np.argsort(-instance.sizes, kind="stable")]
        model = Allocation(instance).ordered(order)
        seconds, result = best_of(1, partial(solve_program, model))
        error = abs(instance.objective_of(result.solution) / best - 1)
        of_bound = abs((result.bound or 0.0) / best - 1)
        worst, beside = max(error, of_bound), {"of value": error, "of bound": of_bound}
        what = f"{jobs} jobs, p = {p:g}: relative error"
        yield row(what, worst, most=2e-6, seconds=seconds, **beside)


def _solve_seeds(
    jobs: int, kind: str, seeds: Sequence[int], limit: float
) -> tuple[list[float], list[float]]:
    """Solve an instance of each seed; return the seconds and the gaps."""
    runs = [best_of(1, partial(solve, unlike(jobs, kind, s), time_limit=limit)) for s in seeds]
    gaps = [1.0 if result.gap is None else float(result.gap) for _, result in runs]
    proven = [0.0 if result.proven else gap for (_, result), gap in zip(runs, gaps, strict=True)]
    return [seconds for seconds, _ in runs], proven


@measurement
def unequal() -> Measured:
    """Time the certification of jobs of unequal speedups over all orders, on several seeds each."""
    yield f"(h2) unequal speedups and weights, N = {SERVERS}, limit {LIMIT:.0f} s"
    for jobs, kind, wanted in UNEQUAL:
        times, gaps = _solve_seeds(jobs, kind, SEEDS, LIMIT)
        proven = sum(gap == 0.0 for gap in gaps)
        least = len(SEEDS) if wanted else None
        beside = {"median s": float(np.median(times)), "slowest s": max(times)}
        what = f"{jobs} jobs, {kind}: proven"
        yield row(what, proven, least=least, largest_gap=f"{max(gaps):.3%}", **beside)


@measurement
def gaps() -> Measured:
    """Print what is left between the best allocation and the bound on all orders."""
    yield f"(h3) jobs of unequal speedups, N = {SERVERS}, limit {FEW_SECONDS:.0f} s"
    for jobs, kind in MANY:
        times, seed_gaps = _solve_seeds(jobs, kind, FEW_SEEDS, FEW_SECONDS)
        what = f"{jobs:,} jobs, {kind}: largest gap"
        yield row(what, max(seed_gaps), most=MOST_GAP, seconds=max(times))


def arriving(p: float | None, load: float, seed: int) -> Instance:
    """Return jobs that come at a rate of load / (mean time on all servers).

    They have one p, or else p and weights of their own.
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
    """Print the mean and the worst ratio of each policy's weighted flow time to the optimum.

    The optimum knows who comes when, and is proven over all timelines; instances where it is not,
    in time, do not count. heSRPT takes the mean p where jobs differ.
    """
    yield (
        f"(h4) {ARRIVING} jobs arriving over time, N = {SERVERS}, {INSTANCES} instances of each "
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
        yield row(what, len(proven) // len(ONLINE), least=INSTANCES, **_mean_and_worst(over, ".3f"))


def _mean_and_worst(values: dict[str, list[float]], form: str) -> dict[str, object]:
    return {
        name: f"{np.mean(of):{form}} ({max(of):{form}})" if of else "-"
        for name, of in values.items()
    }


@measurement
def sharing(sizes: Sequence[int] = (8, 16, 60, 500)) -> Measured:
    """Print how far policies are above the bound on all orders, in the mean and at worst.

    heSRPT takes the power that is closest to a speedup at 1, 2, 4, ... servers.
    """
    yield f"(h5) N = {SERVERS}, all there at time 0: gaps to the bound on all orders, mean (worst)"
    for (family, speedup), jobs in product(COMMON.items(), sizes):
        gaps: dict[str, list[float]] = {name: [] for name in SHARING}
        proven = 0
        seeds = SEEDS if jobs < 500 else FEW_SEEDS
        for seed in seeds:
            night = unlike(jobs, "mixed", seed)
            if speedup:
                same = {"weight": 1.0, "speedup": speedup}
                weighted = tuple(msgspec.structs.replace(job, **same) for job in night.jobs)
                night = msgspec.structs.replace(night, jobs=weighted)
            k = np.array([1.0, 2, 4, 8, 16, 32, 64])
            average = np.mean([job.speedup.at(k) for job in night.jobs], axis=0)
            options = {"p": min(1.0, float(curve_fit(np.power, k, average, p0=0.5)[0][0]))}
            rows = bench([night], policies=SHARING, options=options, time_limit=FEW_SECONDS)
            proven += rows[0].reference_proven
            for one in rows:
                if one.objective is not None:
                    gaps[one.policy].append(one.objective / one.reference_bound - 1.0)
        what = f"{family}, {jobs} jobs"
        yield row(what, proven, f"of {len(seeds)} proven", **_mean_and_worst(gaps, ".2%"))


if __name__ == "__main__":
    run(closed_form, program, unequal, gaps, regret, sharing)
