"""Jobs of unequal speedups: the remaining gap, and the search beside known optima."""

from functools import partial

import numpy as np

from benchmarks.hesrpt import SERVERS, table_of, weighted
from benchmarks.tables import Measured, measurement, row, run
from benchmarks.timing import best_of
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Speedup
from schedopt.solvers.clock import now
from schedopt.solvers.hesrpt.orders import order_search
from schedopt.solvers.hesrpt.rents import RentSearch
from schedopt.verbs.solve import solve

SOME = (18, 20, 24, 32, 44, 60)
MANY = (
    *((n, kind) for n in SOME for kind in ("mixed", "powers")),
    (70, "mixed"),
    (70, "powers"),
    (70, "tables"),
    (100, "mixed"),
    (200, "mixed"),
)
MORE = ((500, "mixed"), (1000, "mixed"))
SEEDS, LIMIT, MOST_GAP = (1, 2), 10.0, 0.01  # instances of each row, and seconds for each
FEW, FEW_SEEDS = (12, 14, 16), range(1, 6)
ALIKE = (100, 300, 1000)
MOST_OFF = 0.001


def unlike(jobs: int, kind: str, seed: int) -> Instance:
    """Return jobs of speedups of their own, Pareto sizes and weights from 1 to 4.

    The kinds are ``powers`` of 0.2 to 0.95, ``tables`` of eight random slopes, ``Amdahl`` of
    parallel parts from 0.7 to 0.999, and ``mixed``, of all three.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    x, w = random.pareto(1.5, jobs) + 1, random.integers(1, 5, jobs)
    speedups: list[Speedup] = []
    for _ in range(jobs):
        number = {"powers": 0, "Amdahl": 1, "tables": 2}.get(kind, random.integers(3))
        speedup: Speedup = Power(p=float(random.uniform(0.2, 0.95)))
        if number == 1:
            speedup = Amdahl(parallel=round(float(random.uniform(0.7, 0.999)), 3))
        elif number == 2:
            speedup = table_of(random)
        speedups.append(speedup)
    return weighted(x, w, speedups)


def alike(jobs: int) -> Instance:
    """Return jobs of one Amdahl's law and equal weights: shortest first is optimal."""
    random = np.random.Generator(np.random.PCG64(jobs))
    sizes = (random.pareto(1.5, jobs) + 1).tolist()
    return Instance(
        name=f"{jobs} alike",
        servers=SERVERS,
        speedup=Amdahl(parallel=0.95),
        objective="total-flow-time",
        jobs=tuple(Job(name=f"j{j}", size=size) for j, size in enumerate(sizes)),
    )


@measurement
def gaps() -> Measured:
    """Print what is left between the best allocation and the bound on all orders."""
    yield f"(h3) jobs of unequal speedups, N = {SERVERS}, limit {LIMIT:.0f} s"
    for jobs, kind in MANY + MORE:
        runs = [
            best_of(1, partial(solve, unlike(jobs, kind, seed), time_limit=LIMIT)) for seed in SEEDS
        ]
        gap = max(1.0 if result.gap is None else float(result.gap) for _, result in runs)
        slowest = max(spent for spent, _ in runs)
        yield row(f"{jobs:,} jobs, {kind}", gap, "largest gap", most=MOST_GAP, seconds=slowest)


@measurement
def known() -> Measured:
    """Compare the search for many jobs with optima that are known another way."""
    yield "(h4) the search for many jobs beside proven optima: how far above"
    for jobs, by in (*((n, "diagrams") for n in FEW), *((n, "shortest first") for n in ALIKE)):
        some = [alike(jobs)]
        if by == "diagrams":
            some = [unlike(jobs, ("powers", "Amdahl")[seed % 2], seed) for seed in FEW_SEEDS]
        times, offs = [], []
        for instance in some:
            search = order_search(instance)
            while not search.advance(10.0) and by == "diagrams":
                pass
            spent, value = _searched(instance, 5.0 if by == "diagrams" else 20.0)
            times.append(spent)
            offs.append(value / (search.bound if by == "diagrams" else search.value) - 1.0)
        what = f"{jobs:,} jobs, optimum by {by}"
        yield row(what, max(offs), "above it", most=MOST_OFF, seconds=max(times))


def _searched(instance: Instance, seconds: float) -> tuple[float, float]:
    """Return how long the search took from a poor order, and the cost that it found."""
    began = now()
    noise = np.random.Generator(np.random.PCG64(0)).lognormal(0.0, 0.5, len(instance.jobs))
    start = np.argsort(-instance.sizes * noise / instance.costs, kind="stable")
    search = RentSearch(instance, order=start.tolist())
    search.advance(seconds)
    return now() - began, search.value


if __name__ == "__main__":
    run(known, gaps)
