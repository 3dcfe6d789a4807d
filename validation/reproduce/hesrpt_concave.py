"""Claims of the abstracts of 2025 and 2026 on concave speedups, against re-proved bounds."""

from collections.abc import Iterator
from itertools import combinations, pairwise

import msgspec
import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Allocated, Amdahl, Instance, Job, Power, Speedup, Table
from schedopt.policies.registry import registered
from schedopt.solvers import door
from schedopt.solvers.result import Limits
from schedopt.validation.documents import reproves
from schedopt.validation.reproduce.hesrpt_theorems import judge_differences
from schedopt.validation.reproduce.ledger import Answers

SERVERS = 16
STEP = 1e-6  # of a job's servers, in which derivatives are taken


def common_speedups(draw: np.random.Generator) -> Iterator[Speedup]:
    """Yield a power, Amdahl's law, a speedup that saturates, and a table of falling slopes."""
    yield Power(p=float(draw.uniform(0.1, 0.95)))
    yield Amdahl(parallel=float(draw.uniform(0.3, 0.99)))
    width = float(draw.integers(1, SERVERS))
    yield Table(points=((width, width),))
    yield falling(draw)


def falling(draw: np.random.Generator) -> Table:
    """Draw a table of falling slopes at 1, 2, 4, ... servers."""
    k = 2.0 ** np.arange(5)
    slopes = np.sort(draw.uniform(0.05, 1.0, len(k)))[::-1]
    rises = np.cumsum(np.diff(k, prepend=0.0) * slopes).round(6)
    return Table(points=tuple(zip(k.tolist(), rises.tolist(), strict=True)))


def drawn(draw: np.random.Generator, speedup: Speedup | None, count: int) -> Instance:
    """Draw jobs, ties among them, of one speedup and agreeable weights, or else of their own."""
    sizes = np.sort(
        draw.pareto(1.5, count) + 1 if draw.random() < 0.5 else draw.integers(1, 4, count)
    )
    weights = np.sort(draw.uniform(0.2, 3.0, count) if draw.random() < 0.5 else np.ones(count))[
        ::-1
    ]
    own = [None] * count if speedup else [_unlike(draw) for _ in range(count)]
    return Instance(
        name="random",
        servers=SERVERS,
        speedup=speedup,
        objective="weighted-flow-time",
        jobs=tuple(
            Job(name=f"job-{j + 1}", size=float(x), weight=float(w), speedup=own[j])
            for j, (x, w) in enumerate(zip(sizes, weights, strict=True))
        ),
    )


def _unlike(draw: np.random.Generator) -> Speedup:
    every = list(common_speedups(draw))
    return every[int(draw.integers(len(every)))]


def optimum(instance: Instance) -> tuple[float, Allocated]:
    """Return a bound over all orders, re-proved from its certificate, and the best allocation."""
    model = Allocation(instance)
    result = door.solve(model, Limits(time_limit=60.0))
    claim = result.claim()
    found = door.certificate(
        model, result, Limits(), lambda certificate: reproves(instance, claim, (), certificate)
    )
    if found is None or result.bound is None or result.solution is None:
        raise ArithmeticError(f"no bound of {instance!r} is re-proved")
    return result.bound, result.solution


def smartfill(quick: bool) -> Answers:
    """Compare the policy with re-proved bounds, and derivatives over the epochs of optima."""
    gaps, ratios, idle, runs = [], [0.0], 0, 0
    for seed in range(6 if quick else 100):
        draw = np.random.default_rng(seed)
        for speedup in common_speedups(draw):
            instance = drawn(draw, speedup, int(draw.integers(1, 9)))
            bound, best = optimum(instance)
            shared = registered("hesrpt")["smartfill"].run(instance)
            gaps.append(abs(instance.objective_of(shared) / bound - 1))
            runs += 1
            idle += any(
                len(epoch.share) < len(instance.jobs) - i for i, epoch in enumerate(shared.epochs)
            )
            if isinstance(speedup, Power | Amdahl):
                ratios += _changes(instance, best)
    return {
        "optimal": judge_differences(gaps, 1e-6, "gap to the re-proved bound"),
        "derivatives": judge_differences(ratios, 1e-3, "change of a ratio"),
        "selective": (f"a job waits in {idle} of {runs} instances", idle > 0),
    }


def _changes(instance: Instance, best: Allocated) -> Iterator[float]:
    """Yield by how much ratios of derivatives change from an epoch to the next, relatively."""
    for before, after in pairwise(best.epochs):
        for one, other in combinations(
            [n for n in after.share if before.share.get(n, 0) > 1e-6], 2
        ):
            old, new = (
                _slope(instance, epoch.share[one]) / _slope(instance, epoch.share[other])
                for epoch in (before, after)
            )
            yield abs(new / old - 1)


def _slope(instance: Instance, share: float) -> float:
    k = np.array([share * (1 - STEP), share * (1 + STEP)]) * instance.servers
    low, high = instance.each("at", [0, 0], k)
    return float(high - low) / float(k[1] - k[0])


def wham(quick: bool) -> Answers:
    """Compare mean gaps of policies to re-proved bounds, on jobs that differ in speedup."""
    names = ("wham", "fw-cam", "equi", "knee", "srpt", "hell")
    gaps: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(8 if quick else 100):
        instance = drawn(np.random.default_rng(seed), None, 6)
        bound, _ = optimum(instance)
        for name in names:
            cost = instance.objective_of(registered("hesrpt")[name].run(instance))
            gaps[name].append(cost / bound - 1)
    means: dict[str, float] = {name: float(np.mean(of)) for name, of in gaps.items()}
    told = ", ".join(f"{name} {mean:.1%}" for name, mean in means.items())
    pair = msgspec.structs.replace(
        drawn(np.random.default_rng(0), Power(p=0.5), 2),
        jobs=(Job(name="short", size=1.0), Job(name="long", size=4.0)),
    )
    equal = pair.objective_of(registered("hesrpt")["wham"].run(pair)) / optimum(pair)[0] - 1
    heuristic = f"mean gaps {told}; of sizes 1 and 4 under k^0.5 it is EQUI, {equal:.1%} above"
    return {
        "mean-field": ("instances here are finite, and all jobs are there at time 0", None),
        "heuristic": (f"{heuristic} the optimum; no number is claimed", None),
        "sizes": (f"of few jobs fw-cam is {means['fw-cam']:.1%} above the optimum", None),
    }
