"""Selections: building, reading and solving them, beside HiGHS alone and OR-Tools' knapsack."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from ortools.algorithms.python import knapsack_solver

from benchmarks.ceilings import part_of
from benchmarks.tables import Measured, at_least, at_most, measurement, run
from benchmarks.timing import agree, best_of, cpu
from schedopt.formulations.dssp import Selection
from schedopt.instances.files import dump, load
from schedopt.solvers import mip
from schedopt.solvers.dssp.selection.knapsack.search import Core
from schedopt.solvers.mip.named import engine_of
from schedopt.solvers.mip.translating import translate
from schedopt.solvers.result import Limits
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

LIMIT = 60.0
"""Seconds after which an alternative is stopped; its ratio is then a lower bound, marked >."""

CORES = {
    ("uncorrelated", 10_000): (3.3, 1.32),
    ("uncorrelated", 100_000): (30.0, 12.0),
    ("strongly-correlated", 10_000): (8.9, 2.97),
    ("strongly-correlated", 100_000): (85.0, 28.3),
}
"""CPU milliseconds of the core by family and jobs: before, and asked."""


def _drawn(family: str, jobs: int) -> Any:
    return generate("dssp", family, seed=1, options={"jobs": jobs})


@measurement
def knapsack() -> Measured:
    """Time the core algorithm beside HiGHS and OR-Tools' branch and bound on plain knapsacks."""
    yield f"(b), (d) plain knapsacks, R = 1,000: core best of 5, others once, {LIMIT:.0f} s at most"
    ratios, cores, wholes = [], [], []
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
            row = {"family": family, "jobs": jobs, "core ms": 1000 * core}
            for name, seconds, done in (
                ("HiGHS", theirs.seconds.solve, theirs.proven),
                ("OR-Tools", branch, value is not None),
            ):
                mark = "" if done else ">"
                row[f"{name} s"] = f"{mark}{seconds:.2f}"
                row[f"{name} over core"] = f"{mark}{seconds / core:,.0f}"
            yield row
            if theirs.proven:
                ratios.append(theirs.seconds.solve / core)
            cores.append(core)
    yield at_most("the whole of solve() over the core", max(wholes), 3)
    yield at_least("times as fast where HiGHS finishes", min(ratios, default=1e9), 100)
    yield at_most("100,000 jobs", max(cores), 1, "s")


def _branch_and_bound(night: Any) -> float | None:
    """Solve with OR-Tools' knapsack; None where it does not end in time."""
    kind = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
    solver = knapsack_solver.KnapsackSolver(kind, "selection")
    solver.set_time_limit(LIMIT)
    solver.init(
        night.rewards.astype(int).tolist(),
        [night.demands.astype(int).tolist()],
        [int(night.room())],
    )
    value = solver.solve()
    return float(value) if solver.is_solution_optimal() else None


@contextmanager
def _file(jobs: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.json"
        dump(_drawn("uncorrelated", jobs), path)
        yield path


@measurement
def reading() -> Measured:
    """Time building and translating 100,000 jobs beside reading them."""
    yield "(c) 100,000 jobs: best of 3"
    with _file(100_000) as path:
        read, night = best_of(3, lambda: load(path))
    build, formulation = best_of(3, lambda: Selection(night))
    turn, _ = best_of(3, lambda: translate(formulation.model))
    ratio = (build + turn) / read
    yield {"read s": read, "build s": build, "translate s": turn, "ratio": ratio}
    yield at_most("building and translating over reading", ratio, 3)


@measurement
def strongly_correlated() -> Measured:
    """Time the core on rewards like demand + constant, and on plain ones, beside what it took."""
    yield "(b2) the core with its build, R = 1,000: CPU time, best of 5"
    for (family, jobs), (before, target) in CORES.items():
        took = 1e3 * cpu(partial(_core, _drawn(family, jobs)))
        yield {
            "family": family,
            "jobs": jobs,
            "ms": took,
            "before": before,
            "target": target,
            "of putting in order": part_of(jobs / (took / 1e3), "keys put in order"),
        }
        yield at_most(f"{family}, {jobs:,} jobs", took, target, "ms", before=before)


def _core(night: Any) -> None:
    """Solve to the end, the build included."""
    search = Core(night.rewards, night.demands, float(night.room()))
    while not search.advance(1.0):
        pass


@measurement
def reading_many() -> Measured:
    """Time reading a million jobs, beside decoding the same text to lists and dictionaries."""
    yield "(c2) reading a million jobs, every check included: CPU time, best of 3"
    with _file(1_000_000) as path:
        gc.disable()  # as reading does
        untyped = cpu(lambda: msgspec.json.decode(path.read_bytes()), 2)
        gc.enable()
        took = cpu(partial(load, path), 3)
        share = part_of(path.stat().st_size / took, "memory copied, MB/s")
    yield {
        "read s": took,
        "before": 3.1,
        "of copying memory": share,
        "untyped decoding s": untyped,
        "ratio": took / untyped,
    }
    yield at_most("a million jobs read", took, 1.55, "s", before=3.1)


if __name__ == "__main__":
    run(knapsack, reading, strongly_correlated, reading_many)
