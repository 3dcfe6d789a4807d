"""Allocations: closed form, the program of an order, and two ways over all orders.

``python -m benchmarks.hesrpt [TABLE ...]``: closed_form, program, orders and unequal, or some.
"""

import multiprocessing
import time
import warnings
from collections.abc import Sequence
from functools import partial
from itertools import permutations
from math import factorial
from typing import Any

import cvxpy as cp
import msgspec
import numpy as np

from benchmarks.tables import Measured, all_of, judged, measurement, row, run
from benchmarks.timing import agree, best_of, cpu, peak_mb
from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Rules
from schedopt.instances.constraints import FairShare, Shares
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Speedup, Table
from schedopt.instances.hesrpt.generators import GENERATORS
from schedopt.policies.hesrpt.shares import hesrpt
from schedopt.policies.hesrpt.simulator import hesrpt_times, hesrpt_total, play
from schedopt.solvers.hesrpt.closed_form import optimum
from schedopt.solvers.hesrpt.orders import OrderTree
from schedopt.solvers.hesrpt.programs import solve_program
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
        name=f"{len(sizes)} jobs",
        servers=SERVERS,
        speedup=one,
        objective="weighted-flow-time",
        jobs=jobs,
    )


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
        beside: dict[str, Any] = {}
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
    """Time the search over all orders beside enumeration."""
    yield f"(h) the best of all orders, N = {SERVERS}, one k^0.5, weights: once"
    random = np.random.Generator(np.random.PCG64(1))
    for jobs in (6, 7, 8):
        x, w = random.pareto(1.5, jobs) + 1, random.integers(1, 5, jobs).astype(float)
        tried, best = best_of(1, partial(_enumerated, x, w))
        # Speedups that the search must not take for one and the same.
        nearly = [Power(p=0.5 * (1 - 1e-13 * i)) for i in range(jobs)]
        spent, search = best_of(1, partial(_searched, weighted(x, w, nearly)))
        agree(search.value, best)
        for method, seconds, nodes in (
            ("enumeration", tried, factorial(jobs)),
            ("branch and bound", spent, search.nodes),
        ):
            yield row(f"{jobs} jobs, {method}", seconds, "s", nodes_or_orders=nodes)
    x, w = random.pareto(1.5, 20) + 1, random.integers(1, 5, 20).astype(float)
    spent, result = best_of(1, partial(solve, weighted(x, w, Power(p=0.5))))
    yield row("20 jobs, by default", spent, "s")
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


def _enumerated(x: Any, w: Any) -> float:
    every = map(list, permutations(range(len(x))))
    return min(optimum(x[order], w[order], 0.5, 100.0).value for order in every)


def _searched(instance: Instance) -> OrderTree:
    search = OrderTree(instance, Rules(instance))
    while not search.advance(5.0):
        pass
    return search


if __name__ == "__main__":
    run(closed_form, program, orders, unequal)
