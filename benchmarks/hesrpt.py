"""Allocations: closed form, the program of an order, and three ways over all orders."""

from __future__ import annotations

import multiprocessing
import resource
import time
import warnings
from functools import partial
from itertools import permutations
from typing import Any

import cvxpy as cp
import msgspec
import numpy as np
from rich.table import Table

from benchmarks.ceilings import cpu, part_of
from benchmarks.timing import agree, beside, best_of, out, verdict
from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.rules import Rules
from schedopt.instances.constraints import FairShare, Shares
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power
from schedopt.instances.hesrpt import Table as Points
from schedopt.instances.hesrpt.generators import GENERATORS
from schedopt.policies.hesrpt.closed import hesrpt_times, hesrpt_total
from schedopt.policies.hesrpt.shares import hesrpt
from schedopt.policies.hesrpt.simulator import play
from schedopt.solvers.hesrpt.closed_form import best_by_subsets, optimum
from schedopt.solvers.hesrpt.orders import OrderTree
from schedopt.solvers.hesrpt.programs import solve_program
from schedopt.verbs.solve import solve

POWERS = (0.05, 0.3, 0.5, 0.9, 0.99)

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


def closed_form() -> None:
    """Time heSRPT's completion times in closed form, beside the event simulation of few jobs."""
    title = "(f) heSRPT, N = 10^6, p = 0.5: best of 3"
    heads = (
        "jobs", "closed form s", "of putting in order", "simulation s",
        "largest relative difference",
    )  # fmt: skip
    table = Table(*heads, title=title, title_justify="left")
    for jobs in (500, 2_000, 1_000_000):
        instance = GENERATORS["pareto"](1, jobs=jobs)
        work = partial(hesrpt_times, instance.sizes, 0.5, 1e6)
        seconds, (times, _) = cpu(work), work()
        cells = ["-", "-"]
        if jobs <= 2_000:
            spent, (ends, _) = best_of(1, partial(play, instance, hesrpt, record=False))
            cells = [f"{spent:.3f}", f"{np.abs(times / ends - 1).max():.1e}"]
        part = part_of(jobs / seconds, "keys put in order")
        table.add_row(f"{jobs:,}", f"{seconds:.4f}", part, *cells)
    out.print(table)
    beside("completion times of a million jobs", seconds, 0.1, 0.2, "s")


def program() -> None:
    """Solve the program of shortest-first order beside one written with power cones."""
    title = "(g) the program of one order in Clarabel, N = 10^6: once, each in a process of its own"
    heads = ("jobs", "p", "s", "MB", "error of value", "of bound", "power cones s", "error")
    table = Table(*heads, title=title, title_justify="left")
    worst = 0.0
    for jobs in (20, 50, 200):
        for p in POWERS:
            ours = _apart(_by_towers, jobs, p)
            plain = _apart(_by_power_cones, jobs, p) if jobs <= 50 else None
            cells = ["-", "-"]
            if plain is not None:
                failed = plain["error"] is None
                cells = [f"{plain['seconds']:.2f}", "failed" if failed else f"{plain['error']:.0e}"]
            table.add_row(
                str(jobs),
                f"{p:g}",
                f"{ours['seconds']:.2f}",
                f"{ours['memory']:.0f}",
                f"{ours['error']:.0e}",
                f"{ours['bound']:.0e}",
                *cells,
            )
            worst = max(worst, ours["error"], ours["bound"])
    out.print(table)
    verdict(worst < 2e-6, f"relative error under 2e-6 for 200 jobs and every p ({worst:.0e})")


def _apart(work: Any, *what: Any) -> Any:
    """Run a piece of work in a process of its own, so that its memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, what)


def _in_order(jobs: int, p: float) -> tuple[Instance, list[int], float]:
    instance = GENERATORS["pareto"](1, jobs=jobs, p=p)
    best = hesrpt_total(instance.sizes, p, instance.servers) / jobs
    return instance, [int(j) for j in np.argsort(-instance.sizes, kind="stable")], best


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _by_towers(jobs: int, p: float) -> dict[str, float]:
    instance, order, best = _in_order(jobs, p)
    began = time.perf_counter()
    found = solve_program(Allocation(instance).ordered(order))
    spent = time.perf_counter() - began
    return {
        "seconds": spent,
        "memory": _memory(),
        "error": abs(instance.objective_of(found.solution) / best - 1),
        "bound": abs((found.bound or 0.0) / best - 1),
    }


def _by_power_cones(jobs: int, p: float) -> dict[str, float | None]:
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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError:
        return {"seconds": time.perf_counter() - began, "error": None}
    error = None if problem.value is None else abs(float(problem.value) / best - 1)
    return {"seconds": time.perf_counter() - began, "error": error}


def orders() -> None:
    """Time the search over all orders three ways."""
    title = "(h) the best of all orders, N = 100: once"
    heads = ("jobs", "speedups and weights", "method", "seconds", "nodes or orders")
    table = Table(*heads, title=title, title_justify="left")
    random = np.random.Generator(np.random.PCG64(1))
    for jobs in (6, 7, 8):
        x, w = random.pareto(1.5, jobs) + 1, random.integers(1, 5, jobs).astype(float)
        dp, (bound, _) = best_of(1, partial(best_by_subsets, x, w, 0.5, 100.0))
        tried, best = best_of(1, partial(_enumerated, x, w))
        agree(bound, best)
        table.add_row(str(jobs), "one k^0.5, weights", "subsets", f"{dp:.4f}", f"{2**jobs:,}")
        count = int(np.prod(np.arange(1, jobs + 1)))
        table.add_row("", "", "enumeration", f"{tried:.3f}", f"{count:,}")
        mixed = _mixed(x, w, [0.5] * jobs)
        spent, search = best_of(1, partial(_searched, mixed))
        agree(search.value, best)
        table.add_row("", "", "branch and bound", f"{spent:.3f}", f"{search.nodes:,}")
    x, w = random.pareto(1.5, 20) + 1, random.integers(1, 5, 20).astype(float)
    jobs_of_one_power = tuple(
        Job(name=f"j{i}", size=float(x[i]), weight=float(w[i])) for i in range(20)
    )
    weighted = Instance(
        name="weights",
        servers=100,
        speedup=Power(p=0.5),
        objective="weighted-flow-time",
        jobs=jobs_of_one_power,
    )
    spent, result = best_of(1, partial(solve, weighted))
    table.add_row("20", "one k^0.5, weights", "subsets", f"{spent:.2f}", f"{2**20:,}")
    out.print(table)
    verdict(result.proven, "20 weighted jobs of one speedup certified over all orders")
    unequal()


def unequal() -> None:
    """Time the certification of jobs of unequal speedups over all orders, on several seeds each."""
    title = f"(h2) unequal speedups and weights, N = 100, {len(SEEDS)} seeds, limit {LIMIT:.0f} s"
    heads = ("jobs", "what differs", "seconds, median", "most", "proven", "largest gap")
    table = Table(*heads, title=title, title_justify="left")
    met: list[tuple[bool, str]] = []
    for jobs, kind, wanted in UNEQUAL:
        times, gaps = [], []
        for seed in SEEDS:
            instance = _unlike(jobs, kind, seed)
            spent, result = best_of(1, partial(solve, instance, time_limit=LIMIT))
            times.append(spent)
            gaps.append(0.0 if result.proven else float(result.gap or 0.0))
        proven = sum(gap == 0.0 for gap in gaps)
        table.add_row(
            str(jobs), kind, f"{np.median(times):.2f}", f"{max(times):.2f}",
            f"{proven} of {len(SEEDS)}", f"{max(gaps):.3%}",
        )  # fmt: skip
        met.append((not wanted or proven == len(SEEDS), f"{jobs} jobs, {kind}: {proven} proven"))
    out.print(table)
    for holds, what in met:
        verdict(holds, what)


def _unlike(jobs: int, kind: str, seed: int) -> Instance:
    """Return jobs of speedups of their own: powers, Amdahl's law, tables, or powers under rules."""
    random = np.random.Generator(np.random.PCG64(seed))
    x, w = random.pareto(1.5, jobs) + 1, random.integers(1, 5, jobs).astype(float)
    powers = random.uniform(0.2, 0.95, jobs).tolist()
    made = _mixed(x, w, powers)
    rules: tuple[FairShare | Shares, ...] = ()
    speedups: list[Amdahl | Points | Power] = [Power(p=p) for p in powers]
    if kind == "Amdahl's law":
        speedups = [Amdahl(parallel=round(f, 3)) for f in random.uniform(0.7, 0.999, jobs).tolist()]
    elif kind == "tables":
        servers = np.array([1.0, 2, 4, 8, 16, 32, 64, 100])
        for j in range(jobs):
            slopes = np.sort(random.uniform(0.05, 1.0, len(servers)))[::-1]
            rise = np.cumsum(np.diff(servers, prepend=0.0) * slopes).round(6)
            points = tuple(zip(servers.tolist(), rise.tolist(), strict=True))
            speedups[j] = Points(points=points)
    elif kind == "a floor for five jobs":
        rules = (Shares(jobs=("j0", "j1", "j2", "j3", "j4"), at_least=0.05),)
    elif kind == "a cap on a team":
        rules = (FairShare(by="team", at_most={"a": 0.5}),)
    elif kind == "floors of two teams":
        rules = (FairShare(by="team", at_least={"a": 0.2, "b": 0.3}),)
    named = tuple(
        msgspec.structs.replace(job, speedup=speedups[j], groups={"team": "ab"[j % 2]})
        for j, job in enumerate(made.jobs)
    )
    return msgspec.structs.replace(made, jobs=named, constraints=rules)


def _enumerated(x: Any, w: Any) -> float:
    every = map(list, permutations(range(len(x))))
    return min(optimum(x[order], w[order], 0.5, 100.0).value for order in every)


def _mixed(x: Any, w: Any, powers: list[float]) -> Instance:
    """Return jobs whose speedups the search may not take for one and the same."""
    return Instance(
        name="mixed",
        servers=100,
        objective="weighted-flow-time",
        jobs=tuple(
            Job(
                name=f"j{i}",
                size=float(x[i]),
                weight=float(w[i]),
                speedup=Power(p=powers[i] * (1 - 1e-13 * i)),
            )
            for i in range(len(x))
        ),
    )


def _searched(instance: Instance) -> OrderTree:
    search = OrderTree(instance, Rules(instance))
    while not search.advance(5.0):
        pass
    return search
