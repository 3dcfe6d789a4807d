"""Allocations: closed form, the program of an order, all orders, many jobs, arrivals over time.

``python -m benchmarks.hesrpt [TABLE ...]``: closed_form, program, orders, unequal, known, gaps and
regret, or some of them.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Sequence
from functools import partial
from itertools import permutations
from math import factorial
from typing import Any, NamedTuple

import cvxpy as cp
import msgspec
import numpy as np

from benchmarks.ceilings import part_of
from benchmarks.tables import Measured, all_of, judged, measurement, row, run
from benchmarks.timing import agree, best_of, cpu, peak_mb
from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.rules import Rules
from schedopt.instances.constraints import FairShare, Shares
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Speedup, Table
from schedopt.instances.hesrpt.generators import GENERATORS
from schedopt.policies.hesrpt.closed import hesrpt_times, hesrpt_total
from schedopt.policies.hesrpt.shares import hesrpt
from schedopt.policies.hesrpt.simulator import play
from schedopt.policies.registry import registered
from schedopt.solvers.clock import now
from schedopt.solvers.hesrpt.closed_form import best_by_subsets, optimum
from schedopt.solvers.hesrpt.orders import OrderTree, order_search
from schedopt.solvers.hesrpt.programs import solve_program
from schedopt.solvers.hesrpt.rents import RentSearch
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


def weighted(
    sizes: Sequence[float], weights: Sequence[float], speedups: Speedup | Sequence[Speedup]
) -> Instance:
    """Return jobs of one speedup or of their own, for the weighted flow time."""
    one = speedups if isinstance(speedups, Power | Amdahl | Table) else None
    own = [None] * len(sizes) if one else speedups
    jobs = tuple(
        Job(name=f"j{i}", size=float(x), weight=float(w), speedup=s)
        for i, (x, w, s) in enumerate(zip(sizes, weights, own, strict=True))
    )
    return Instance(
        name=f"{len(sizes)} jobs", servers=SERVERS, speedup=one, objective="weighted-flow-time",
        jobs=jobs,
    )  # fmt: skip


def table_of(random: np.random.Generator) -> Table:
    """Draw a table of eight falling slopes."""
    servers = np.array([1.0, 2, 4, 8, 16, 32, 64, SERVERS])
    slopes = np.sort(random.uniform(0.05, 1.0, len(servers)))[::-1]
    rise = np.cumsum(np.diff(servers, prepend=0.0) * slopes).round(6)
    return Table(points=tuple(zip(servers.tolist(), rise.tolist(), strict=True)))


@measurement
def closed_form() -> Measured:
    """Time heSRPT's completion times in closed form, beside the event simulation of few jobs."""
    yield "(f) heSRPT, N = 10^6, p = 0.5: best of 3"
    for jobs in (500, 2_000, 1_000_000):
        instance = GENERATORS["pareto"](1, jobs=jobs)
        work = partial(hesrpt_times, instance.sizes, 0.5, 1e6)
        seconds, (times, _) = cpu(work), work()
        beside: dict[str, Any] = {
            "of putting in order": part_of(jobs / seconds, "keys put in order")
        }
        if jobs <= 2_000:
            spent, (ends, _) = best_of(1, partial(play, instance, hesrpt, record=False))
            off = float(np.abs(times / ends - 1).max())
            beside |= {"simulation s": spent, "largest relative difference": off}
        else:
            beside |= {"most": 0.1, "before": 0.2}
        yield row(f"{jobs:,} jobs", seconds, "s", **beside)


@measurement
def program() -> Measured:
    """Solve the program of shortest-first order beside one written with power cones."""
    yield "(g) the program of one order in Clarabel, N = 10^6: once, each in a process of its own"
    worst = 0.0
    for jobs in (20, 50, 200):
        for p in POWERS:
            seconds, beside = _apart(_by_towers, jobs, p)
            worst = max(worst, beside["error of value"], beside["of bound"])
            if jobs <= 50:
                beside |= _apart(_by_power_cones, jobs, p)
            yield row(f"{jobs} jobs, p = {p:g}", seconds, "s", **beside)
    yield row("relative error, largest", worst, most=2e-6)


def _apart(work: Any, *what: Any) -> Any:
    """Run a piece of work in a process of its own, so that its memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, what)


def _in_order(jobs: int, p: float) -> tuple[Instance, list[int], float]:
    instance = GENERATORS["pareto"](1, jobs=jobs, p=p)
    best = hesrpt_total(instance.sizes, p, instance.servers) / jobs
    return instance, [int(j) for j in np.argsort(-instance.sizes, kind="stable")], best


def _by_towers(jobs: int, p: float) -> tuple[float, dict[str, float]]:
    instance, order, best = _in_order(jobs, p)
    spent, found = best_of(1, lambda: solve_program(Allocation(instance).ordered(order)))
    return spent, {
        "MB": peak_mb(),
        "error of value": abs(instance.objective_of(found.solution) / best - 1),
        "of bound": abs((found.bound or 0.0) / best - 1),
    }


def _by_power_cones(jobs: int, p: float) -> dict[str, float | str]:
    """Write the same program with one power cone for each pair, as anyone would."""
    instance, order, best = _in_order(jobs, p)
    sizes = instance.sizes[order[::-1]]  # the first to complete first
    pairs = [(j, e) for j in range(jobs) for e in range(j + 1)]
    began = time.perf_counter()
    d, a = cp.Variable(jobs, nonneg=True), cp.Variable(len(pairs), nonneg=True)
    work = cp.Variable(len(pairs), nonneg=True)
    epochs = np.array([e for _, e in pairs])
    of_job, in_epoch = np.zeros((2, jobs, len(pairs)))
    for i, (j, e) in enumerate(pairs):
        of_job[j, i] = in_epoch[e, i] = 1.0
    done = float(instance.servers) ** p * (of_job @ work) >= sizes
    rows = [cp.PowCone3D(a, d[epochs], work, p), done, in_epoch @ a <= d]
    left = np.arange(jobs, 0, -1) / jobs
    problem = cp.Problem(cp.Minimize(left @ d), rows)
    error: float | str = "failed"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=cp.CLARABEL)
        if problem.value is not None:
            error = abs(float(problem.value) / best - 1)
    except cp.error.SolverError:
        pass
    return {"power cones s": time.perf_counter() - began, "error": error}


@measurement
def orders() -> Measured:
    """Time the search over all orders three ways."""
    yield f"(h) the best of all orders, N = {SERVERS}, one k^0.5, weights: once"
    random = np.random.Generator(np.random.PCG64(1))
    for jobs in (6, 7, 8):
        x, w = random.pareto(1.5, jobs) + 1, random.integers(1, 5, jobs).astype(float)
        dp, (bound, _) = best_of(1, partial(best_by_subsets, x, w, 0.5, 100.0))
        tried, best = best_of(1, partial(_enumerated, x, w))
        spent, search = best_of(1, partial(_searched, weighted(x, w, _nearly([0.5] * jobs))))
        agree(bound, best)
        agree(search.value, best)
        for method, seconds, nodes in (
            ("subsets", dp, 2**jobs),
            ("enumeration", tried, factorial(jobs)),
            ("branch and bound", spent, search.nodes),
        ):
            yield row(f"{jobs} jobs, {method}", seconds, "s", nodes_or_orders=nodes)
    x, w = random.pareto(1.5, 20) + 1, random.integers(1, 5, 20).astype(float)
    spent, result = best_of(1, partial(solve, weighted(x, w, Power(p=0.5))))
    yield row("20 jobs, subsets", spent, "s", nodes_or_orders=2**20)
    yield judged("these certified over all orders", result.proven)


@measurement
def unequal() -> Measured:
    """Time the certification of jobs of unequal speedups over all orders, on several seeds each."""
    yield (
        f"(h2) unequal speedups and weights, N = {SERVERS}, {len(SEEDS)} seeds, limit {LIMIT:.0f} s"
    )
    for jobs, kind, wanted in UNEQUAL:
        times, gaps = [], []
        for seed in SEEDS:
            instance = _unlike(jobs, kind, seed)
            spent, result = best_of(1, partial(solve, instance, time_limit=LIMIT))
            times.append(spent)
            gaps.append(0.0 if result.proven else float(result.gap or 0.0))
        proven = sum(gap == 0.0 for gap in gaps)
        beside = {"largest gap": f"{max(gaps):.3%}", "proven": f"{proven} of {len(SEEDS)}"}
        what = f"{jobs} jobs, {kind}"
        yield row(what, float(np.median(times)), "s, median", slowest=max(times), **beside)
        if wanted:
            yield all_of(f"{what}, proven", proven, len(SEEDS))


def _unlike(jobs: int, kind: str, seed: int) -> Instance:
    """Return jobs of speedups of their own: powers, Amdahl's law, tables, or powers under rules."""
    random = np.random.Generator(np.random.PCG64(seed))
    x, w = random.pareto(1.5, jobs) + 1, random.integers(1, 5, jobs).astype(float)
    powers = random.uniform(0.2, 0.95, jobs).tolist()
    speedups: list[Speedup] = [Power(p=p) for p in powers]
    if kind == "Amdahl's law":
        speedups = [Amdahl(parallel=round(f, 3)) for f in random.uniform(0.7, 0.999, jobs).tolist()]
    elif kind == "tables":
        speedups = [table_of(random) for _ in range(jobs)]
    rules = {
        "a floor for five jobs": (Shares(jobs=("j0", "j1", "j2", "j3", "j4"), at_least=0.05),),
        "a cap on a team": (FairShare(by="team", at_most={"a": 0.5}),),
        "floors of two teams": (FairShare(by="team", at_least={"a": 0.2, "b": 0.3}),),
    }
    made = weighted(x, w, speedups)
    teams = tuple(
        msgspec.structs.replace(job, groups={"team": "ab"[j % 2]})
        for j, job in enumerate(made.jobs)
    )
    return msgspec.structs.replace(made, jobs=teams, constraints=rules.get(kind, ()))


def _nearly(powers: list[float]) -> list[Speedup]:
    """Return speedups that the search may not take for one and the same."""
    return [Power(p=p * (1 - 1e-13 * i)) for i, p in enumerate(powers)]


def _enumerated(x: Any, w: Any) -> float:
    every = map(list, permutations(range(len(x))))
    return min(optimum(x[order], w[order], 0.5, 100.0).value for order in every)


def _searched(instance: Instance) -> OrderTree:
    search = OrderTree(instance, Rules(instance))
    while not search.advance(5.0):
        pass
    return search


# Over 60 jobs

MANY = ((70, "mixed"), (70, "powers"), (70, "tables"), (100, "mixed"), (200, "mixed"))
MORE = ((500, "mixed"), (1000, "mixed"))
MANY_SEEDS, MANY_LIMIT, MOST_GAP = (1, 2), 10.0, 0.01
"""Instances of each row, and seconds for each."""
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
    yield f"(h3) over 60 jobs of unequal speedups, N = {SERVERS}, limit {MANY_LIMIT:.0f} s"
    for jobs, kind in MANY + MORE:
        runs = [
            best_of(1, partial(solve, unlike(jobs, kind, seed), time_limit=MANY_LIMIT))
            for seed in MANY_SEEDS
        ]
        gap = max(1.0 if result.gap is None else float(result.gap) for _, result in runs)
        slowest = max(spent for spent, _ in runs)
        yield row(f"{jobs:,} jobs, {kind}", gap, "largest gap", most=MOST_GAP, seconds=slowest)


@measurement
def known() -> Measured:
    """Search as many jobs are searched where the optimum is known another way."""
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
            spent, value = _from_a_poor_order(instance, 5.0 if by == "diagrams" else 20.0)
            times.append(spent)
            offs.append(value / (search.bound if by == "diagrams" else search.value) - 1.0)
        what = f"{jobs:,} jobs, optimum by {by}"
        yield row(what, max(offs), "above it", most=MOST_OFF, seconds=max(times))


def _from_a_poor_order(instance: Instance, seconds: float) -> tuple[float, float]:
    """Return how long the search took from a poor order, and the cost that it found."""
    began = now()
    noise = np.random.Generator(np.random.PCG64(0)).lognormal(0.0, 0.5, len(instance.jobs))
    start = np.argsort(-instance.sizes * noise / instance.costs, kind="stable")
    search = RentSearch(instance, order=start.tolist())
    search.advance(seconds)
    return now() - began, search.value


# Arrivals over time

JOBS, INSTANCES = 8, 10
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
    """Print how far online policies fall short of the clairvoyant optimum: mean and worst ratio.

    Eight jobs arrive one after the other, as a Poisson process does. The optimum knows when: branch
    and bound proves it over all timelines. Instances whose optimum is not proven in time do not
    count, and it is said how many do.
    """
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
    run(closed_form, program, orders, unequal, known, gaps, regret)
