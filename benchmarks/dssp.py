"""Selecting, scheduling and dispatching, beside HiGHS, OR-Tools, CP-SAT, SimPy and plain Python.

``python -m benchmarks.dssp [TABLE ...]``: knapsack, strongly_correlated, reading, dispatch,
schedules and plans, or some of them; hard too, where the file that `HARD` names is there.
"""

import gc
import gzip
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from ortools.algorithms.python import knapsack_solver
from ortools.sat.python import cp_model

from benchmarks.dssp_plans import plans
from benchmarks.dssp_provable import night
from benchmarks.limits import OVER, SHARE
from benchmarks.rivals import simpy_cluster
from benchmarks.tables import Measured, measurement, row, run
from benchmarks.timing import agree, best_of, cpu
from schedopt import generate, solve
from schedopt.formulations.dssp import Selection
from schedopt.instances.dssp import Instance
from schedopt.instances.files import dump, load
from schedopt.policies.dssp import dispatchers
from schedopt.policies.dssp.plain import simulate_plainly
from schedopt.solvers import mip
from schedopt.solvers.dssp.selection.knapsack.search import Core, CoreMemoryError
from schedopt.solvers.mip.named import engine_of
from schedopt.solvers.mip.translating import translate
from schedopt.solvers.result import Limits

LIMIT, WORKERS = 60.0, 2
"""Seconds after which an alternative is stopped, its time then marked >; and CP-SAT's threads."""

CORES = {
    ("uncorrelated", 10_000): 0.3,
    ("uncorrelated", 100_000): 2.5,
    ("weakly-correlated", 10_000): 0.4,
    ("weakly-correlated", 100_000): 2.4,
    ("strongly-correlated", 10_000): 0.9,
    ("strongly-correlated", 100_000): 9.0,
    ("subset-sum", 10_000): 0.18,
    ("subset-sum", 100_000): 1.3,
}
"""CPU milliseconds of COMBO, its copy of the items included, by family and jobs: of ours 1.5 times
as much is asked."""

HARD, HARD_SECONDS = Path("build/jooken-48.jsonl.gz"), 60.0
"""48 of the hard knapsacks of Jooken, Leyman and De Causmaecker (2022), from the authors' public
repository knapsackProblemInstances: a line of JSON each, with name, capacity, profits, weights and
optimum; and the CPU seconds that each may take."""

PROCESSORS = 1_000
DISPATCHED = {"lcpf": (6.6, 12.1), "stcpu": (7.0, 15.2), "first": (8.4, 17.6), "cpa": (4.1, 7.4)}
"""Million tasks a second: while processors and jobs stood in heaps, and asked."""

SMALL = ((20, 200, 20, 0), (20, 200, 20, 1), (20, 200, 20, 3), (40, 600, 40, 1))
"""Jobs, tasks, processors, seed: to be solved no later than by the plain model."""

SIZES = ((100, 1_000, 100, 3, 0.001), (1_000, 10_000, 100, 3, 0.0005))
"""The same, and how far below the knapsack bound a schedule may be."""

REWARDS = {"size": 0.007, "linear": 0.002, "banded": 1e-6}
"""The same for the paper's season with rewards of three kinds."""

SLOW = 0.05  # seconds below which nobody is called slower


def _drawn(family: str, jobs: int) -> Any:
    return generate("dssp", family, seed=1, options={"jobs": jobs})


@measurement
def knapsack() -> Measured:
    """Time the core algorithm beside HiGHS and OR-Tools' branch and bound on plain knapsacks."""
    yield f"(b), (d) plain knapsacks, R = 1,000: core best of 5, others once, {LIMIT:.0f} s at most"
    ratios, wholes = [], []
    for family in ("uncorrelated", "weakly-correlated"):
        for jobs in (1_000, 10_000, 100_000):
            night = _drawn(family, jobs)
            solve(night, solver="core")  # compiles
            runs = [solve(night, solver="core") for _ in range(5)]
            core = min(run.seconds.solve for run in runs)
            wholes.append(best_of(3, partial(solve, night, solver="core"))[0] / core)
            theirs = mip.solve(engine_of("highs"), Selection(night), Limits(time_limit=LIMIT))
            branch, value = best_of(1, partial(_branch_and_bound, night))
            agree(*(run.bound for run in runs), theirs.objective if theirs.proven else None, value)
            beside = {}
            for name, seconds, done in (
                ("HiGHS", theirs.seconds.solve, theirs.proven),
                ("OR-Tools", branch, value is not None),
            ):
                mark = "" if done else ">"
                beside[name] = f"{mark}{seconds:.2f} s"
                beside[f"{name} over core"] = f"{mark}{seconds / core:,.0f}"
            yield row(f"{family}, {jobs:,}", 1000 * core, "ms", most=1000, **beside)
            if theirs.proven:
                ratios.append(theirs.seconds.solve / core)
    yield row("the whole of solve() over the core", max(wholes), most=3)
    yield row("HiGHS over core where it finishes", min(ratios, default=1e9), least=100)


def _branch_and_bound(night: Any) -> float | None:
    """Solve with OR-Tools' knapsack; None where it does not end in time."""
    kind = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
    solver = knapsack_solver.KnapsackSolver(kind, "selection")
    solver.set_time_limit(LIMIT)
    demands = [night.demands.astype(int).tolist()]
    solver.init(night.rewards.astype(int).tolist(), demands, [int(night.room())])
    value = solver.solve()
    return float(value) if solver.is_solution_optimal() else None


@measurement
def strongly_correlated() -> Measured:
    """Time the core with its build beside what COMBO takes."""
    yield "(b2) the core with its build, R = 1,000: CPU time, best of 9"
    for (family, jobs), combo in CORES.items():
        took = 1e3 * cpu(partial(_core, _drawn(family, jobs)), 9)
        yield row(f"{family}, {jobs:,} jobs", took, "ms", most=1.5 * combo, COMBO=combo)


@measurement
def hard() -> Measured:
    """Time the core on hard knapsacks, and say how far from the optimum it ends."""
    if not HARD.exists():
        yield f"hard knapsacks: skipped, {HARD} is not there"
        return
    yield f"hard knapsacks, {HARD_SECONDS:.0f} s of CPU and 2 GiB each"
    proven = 0
    for line in gzip.decompress(HARD.read_bytes()).splitlines():
        one = msgspec.json.decode(line)
        began = time.process_time()
        search = Core(one["profits"], one["weights"], float(one["capacity"]))
        with suppress(CoreMemoryError):
            while not search.advance(1.0) and time.process_time() - began < HARD_SECONDS:
                pass
        optimum = one["optimum"]
        if optimum is not None and search.proven:
            agree(search.value, optimum)
        proven += search.proven
        took, beside = time.process_time() - began, {"open": search.bound - search.value}
        if optimum is not None:
            beside["below the optimum"] = optimum - search.value
        yield row(one["name"], took, "s", **beside)
    yield row("proven", proven, least=46)


def _core(night: Any) -> None:
    search = Core(night.rewards, night.demands, float(night.room()))
    while not search.advance(1.0):
        pass


@contextmanager
def _file(jobs: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.json"
        dump(_drawn("uncorrelated", jobs), path)
        yield path


@measurement
def reading() -> Measured:
    """Time reading a million jobs beside decoding them untyped, and building beside reading."""
    yield "(c) reading, every check included, building and translating: CPU time, best of 3"
    with _file(1_000_000) as path:
        gc.disable()  # as reading does
        untyped = cpu(lambda: msgspec.json.decode(path.read_bytes()), 2)
        gc.enable()
        took = cpu(partial(load, path), 3)
    beside = {"untyped decoding s": untyped, "ratio": took / untyped}
    yield row("a million jobs read", took, "s", most=1.55, before=3.1, **beside)
    with _file(100_000) as path:
        read, night = cpu(partial(load, path), 3), load(path)
    build = cpu(lambda: translate(Selection(night).model), 3)
    beside = {"reading s": read, "building and translating s": build}
    yield row("100,000 jobs: building over reading", build / read, most=3, **beside)


@measurement
def dispatch() -> Measured:
    """Time each sort of dispatcher on all tasks of a season; the keys are part of the time."""
    season = generate("dssp", seed=1, options={"nights": 56})
    season = msgspec.structs.replace(season, processors=PROCESSORS)
    jobs = np.arange(len(season.jobs))
    tasks = len(season.tasks.lengths)
    yield f"(e) {tasks:,} tasks of {len(jobs):,} jobs on {PROCESSORS:,} processors: best of 5"
    alike = [(0.0, 1, job.stages) for job in season.jobs]
    slow, _ = best_of(1, partial(simpy_cluster, PROCESSORS, alike))
    for name, (before, least) in DISPATCHED.items():
        key = dispatchers.KEYS[name](season)
        dispatchers.simulate_dispatcher(season, name, jobs)  # compiles
        work = partial(dispatchers.simulate_dispatcher, season, name, jobs)
        ours, played = cpu(work, 9), work()
        plain, again = best_of(1, partial(simulate_plainly, season, jobs, keys=key))
        if not all(map(np.array_equal, played[:2], again[:2])):
            raise SystemExit(f"{name}: the two simulations differ")
        beside = {
            "plain Python tasks/s": tasks / plain,
            "SimPy tasks/s": tasks / slow if name == "first" else None,
        }
        yield row(name, tasks / ours / 1e6, "M tasks/s", least=least, before=before, **beside)
        yield row(f"{name} over plain Python", plain / ours, least=5)


@measurement
def schedules(seed: int = 3) -> Measured:
    """Print how near to the bound schedules come, and how soon; small ones beside plain CP-SAT."""
    yield f"small schedules, {LIMIT:.0f} s, {WORKERS} workers, beside the plain model"
    for *size, drawn in SMALL:
        season = night(*size, drawn)
        below, seconds, reward = _solved(season)
        spent, other = best_of(1, partial(_plain, season))
        beside = {
            "below the bound": below,
            "plain": 1 - other / (reward / (1 - below)),
            "plain s": spent,
            "earns no less": "yes" if reward >= other else "no",
        }
        yield row(_named(season), seconds, "s", most=max(SLOW, spent * 1.02), **beside)
    yield f"schedules, {LIMIT:.0f} s, {WORKERS} workers: how far below the bound"
    rows = [(night(*size, drawn), "whole", target) for *size, drawn, target in SIZES]
    for kind, target in REWARDS.items():
        options = {"nights": 8, "processors": 4500, "reward": kind}
        rows.append((generate("dssp", options=options, seed=seed), kind, target))
    slowest = 0.0
    for season, kind, target in rows:
        below, seconds, _ = _solved(season)
        slowest = max(slowest, seconds)
        yield row(_named(season), below, most=target, rewards=kind, seconds=seconds)
    yield row("slowest", slowest, "s", most=LIMIT + OVER + SHARE * LIMIT, before=95.0)


def _solved(season: Instance) -> tuple[float, float, float]:
    """Return how far below the knapsack bound a schedule is, the seconds, and what it earns."""
    limits = {"time_limit": LIMIT, "threads": WORKERS}
    seconds, result = best_of(1, partial(solve, season, formulation="schedule", **limits))
    earned = result.objective or 0.0
    return 1 - earned / result.options["relaxation"], seconds, earned


def _named(season: Instance) -> str:
    jobs, tasks = len(season.jobs), len(season.tasks.lengths)
    return f"{jobs:,} jobs, {tasks:,} tasks, {season.processors:,} processors"


def _plain(season: Instance) -> float:
    """Solve the model that anyone would write first; lengths and rewards are whole numbers."""
    model, deadline = cp_model.CpModel(), round(season.deadline)
    intervals, earned = [], []
    for job in season.jobs:
        x = model.new_bool_var("")
        opened = 0
        for stage in job.stages or ():
            closed = model.new_int_var(0, deadline, "")
            for length in map(round, stage):
                start = model.new_int_var(0, deadline, "")
                model.add(start >= opened).only_enforce_if(x)
                model.add(start + length <= closed).only_enforce_if(x)
                size = model.new_optional_fixed_size_interval_var(start, length, x, "")
                intervals.append(size)
            opened = closed
        earned.append(round(job.reward) * x)
    model.add_cumulative(intervals, [1] * len(intervals), season.processors)
    model.maximize(sum(earned))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = WORKERS
    solver.parameters.max_time_in_seconds = LIMIT
    status = solver.solve(model)
    return solver.objective_value if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else 0.0


if __name__ == "__main__":
    run(knapsack, strongly_correlated, hard, reading, dispatch, schedules, plans)
