"""Selections: building, reading and solving them, beside HiGHS alone and OR-Tools' knapsack."""

from __future__ import annotations

import gc
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from ortools.algorithms.python import knapsack_solver
from rich.table import Table

from benchmarks.ceilings import cpu, part_of
from benchmarks.timing import agree, beside, best_of, out, verdict
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


def knapsack() -> None:
    """Time the core algorithm beside HiGHS and OR-Tools' branch and bound on plain knapsacks."""
    title = (
        f"(b), (d) plain knapsacks, R = 1,000: core best of 5, others once, {LIMIT:.0f} s at most"
    )
    heads = ("family", "jobs", "core ms", "HiGHS s", "ratio", "OR-Tools s", "ratio")
    table = Table(*heads, title=title, title_justify="left")
    least = slowest = None
    whole = 0.0
    for family in ("uncorrelated", "weakly-correlated"):
        for jobs in (1_000, 10_000, 100_000):
            night = generate("dssp", family, seed=1, options={"jobs": jobs})
            solve(night, solver="core")  # compiles
            runs = [solve(night, solver="core") for _ in range(5)]
            core = min(run.seconds.solve for run in runs)
            whole = max(whole, best_of(3, partial(solve, night, solver="core"))[0] / core)
            program: Any = Selection(night)
            theirs = mip.solve(engine_of("highs"), program, Limits(time_limit=LIMIT))
            branch, value = best_of(1, partial(_branch_and_bound, night))
            proofs = [theirs.objective] * theirs.proven + [value] * (value is not None)
            agree(*(run.bound or 0.0 for run in runs), *(p or 0.0 for p in proofs))
            cells = [*_beside(theirs.seconds.solve, core, theirs.proven)]
            cells += _beside(branch, core, value is not None)
            table.add_row(family, f"{jobs:,}", f"{1000 * core:.2f}", *cells)
            if theirs.proven:
                least = min(least or 1e9, theirs.seconds.solve / core)
            slowest = max(slowest or 0.0, core)
    out.print(table)
    verdict(whole <= 3, f"the whole of solve() at most 3 times the core (worst {whole:.1f})")
    verdict((least or 1e9) >= 100, f"100 times faster where HiGHS finishes (least {least:.0f})")
    verdict((slowest or 1e9) < 1, f"under 1 s at 100,000 jobs (slowest {slowest:.3f} s)")


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


def _beside(seconds: float, core: float, done: bool) -> tuple[str, str]:
    mark = "" if done else ">"
    return f"{mark}{seconds:.2f}", f"{mark}{seconds / core:,.0f}"


def reading() -> None:
    """Time building and translating 100,000 jobs beside reading them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.json"
        dump(generate("dssp", "uncorrelated", seed=1, options={"jobs": 100_000}), path)
        read, night = best_of(3, lambda: load(path))
    build, formulation = best_of(3, lambda: Selection(night))
    turn, _ = best_of(3, lambda: translate(formulation.model))
    ratio = (build + turn) / read
    title = "(c) 100,000 jobs: best of 3"
    table = Table("read s", "build s", "translate s", "ratio", title=title, title_justify="left")
    table.add_row(f"{read:.2f}", f"{build:.2f}", f"{turn:.2f}", f"{ratio:.1f}")
    out.print(table)
    verdict(ratio <= 3, f"building and translating at most 3 times reading ({ratio:.1f})")


def strongly_correlated() -> None:
    """Time the core on rewards like demand + constant, and on plain ones, beside what it took."""
    title = "(b2) the core with its build, R = 1,000: CPU time, best of 5"
    heads = ("family", "jobs", "ms", "before", "target", "of putting in order")
    table = Table(*heads, title=title, title_justify="left")
    targets = {
        ("uncorrelated", 10_000): (3.3, 1.32), ("uncorrelated", 100_000): (30.0, 12.0),
        ("strongly-correlated", 10_000): (8.9, 2.97),
        ("strongly-correlated", 100_000): (85.0, 28.3),
    }  # fmt: skip
    verdicts = []
    for (family, jobs), (before, target) in targets.items():
        night = generate("dssp", family, seed=1, options={"jobs": jobs})
        took = 1e3 * cpu(partial(_core, night))
        share = part_of(jobs / (took / 1e3), "keys put in order")
        table.add_row(family, f"{jobs:,}", f"{took:.2f}", f"{before:g}", f"{target:g}", share)
        verdicts.append(partial(beside, f"{family}, {jobs:,} jobs", took, target, before, "ms"))
    out.print(table)
    for say in verdicts:
        say()


def _core(night: Any) -> None:
    """Solve to the end, the build included."""
    search = Core(night.rewards, night.demands, float(night.room()))
    while not search.advance(1.0):
        pass


def reading_many() -> None:
    """Time reading a million jobs, beside decoding the same text to lists and dictionaries."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.json"
        dump(generate("dssp", "uncorrelated", seed=1, options={"jobs": 1_000_000}), path)
        gc.disable()  # as reading does
        untyped = cpu(lambda: msgspec.json.decode(path.read_bytes()), 2)
        gc.enable()
        took = cpu(partial(load, path), 3)
        share = part_of(path.stat().st_size / took, "memory copied, MB/s")
    title = "(c2) reading a million jobs, every check included: CPU time, best of 3"
    heads = ("read s", "before", "of copying memory", "untyped decoding s", "ratio")
    table = Table(*heads, title=title, title_justify="left")
    table.add_row(f"{took:.2f}", "3.1", share, f"{untyped:.2f}", f"{took / untyped:.1f}")
    out.print(table)
    beside("a million jobs read", took, 1.55, 3.1, "s")
