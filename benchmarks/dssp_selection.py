"""Selections: building, reading and solving them, beside HiGHS alone and OR-Tools' knapsack."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import highspy
from ortools.algorithms.python import knapsack_solver
from rich.table import Table

from benchmarks.timing import agree, best_of, out, verdict
from formulations.constraints import FairShare
from formulations.dssp import Selection
from instances.files import dump, load
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve
from solvers import mip
from solvers.catalog import engine_of
from solvers.result import Limits
from solvers.translating import translate

LIMIT = 60.0
"""Seconds after which an alternative is stopped; its ratio is then a lower bound, marked >."""


def fair_share() -> None:
    """Build, translate, solve and check beside HiGHS alone on the same matrix."""
    title = "(a) 2,388 jobs, 20 teams with a cap each: best of 3"
    table = Table("seed", "schedopt s", "HiGHS alone s", "ratio", title=title, title_justify="left")
    ratios = []
    for seed in range(1, 6):
        options = {"nights": 56, "stages": False, "teams": 20}
        night = generate("dssp", seed=seed, options=options)
        shares = solve(night).solution.shares["team"]
        rule = FairShare(by="team", at_most={team: 0.9 * share for team, share in shares.items()})
        ours, result = best_of(3, partial(solve, night, constraints=[rule]))
        matrix = translate(Selection(night).add(rule).model)
        alone, engine = best_of(3, partial(_highs_alone, matrix))
        found = engine.getInfo().objective_function_value / matrix.cost_scale
        agree(result.objective, found)
        ratios.append(ours / alone)
        table.add_row(str(seed), f"{ours:.3f}", f"{alone:.3f}", f"{ours / alone:.2f}")
    out.print(table)
    worst = max(ratios)
    verdict(worst <= 1.3, f"at most 1.3 times HiGHS alone in each (worst {worst:.2f})")


def _highs_alone(matrix: Any) -> highspy.Highs:
    """Solve arrays with highspy, as anyone would: gap 0, all else as it comes."""
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(matrix.columns), len(matrix.rows)
    program.col_cost_, program.sense_ = matrix.cost, highspy.ObjSense.kMaximize
    program.col_lower_, program.col_upper_ = matrix.column_lower, matrix.column_upper
    program.row_lower_, program.row_upper_ = matrix.row_lower, matrix.row_upper
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(matrix.columns)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = matrix.starts
    program.a_matrix_.index_, program.a_matrix_.value_ = matrix.indices, matrix.values
    engine = highspy.Highs()
    engine.silent()
    engine.setOptionValue("mip_rel_gap", 0.0)
    engine.passModel(program)
    engine.run()
    return engine


def knapsack() -> None:
    """Time the core algorithm beside HiGHS and OR-Tools' branch and bound on plain knapsacks."""
    title = (
        f"(b), (d) plain knapsacks, R = 1,000: core best of 5, others once, {LIMIT:.0f} s at most"
    )
    heads = ("family", "jobs", "core ms", "HiGHS s", "ratio", "OR-Tools s", "ratio")
    table = Table(*heads, title=title, title_justify="left")
    least = slowest = None
    for family in ("uncorrelated", "weakly-correlated"):
        for jobs in (1_000, 10_000, 100_000):
            night = generate("dssp", family, seed=1, options={"jobs": jobs})
            solve(night, solver="core")  # compiles
            runs = [solve(night, solver="core") for _ in range(5)]
            core = min(run.seconds.solve for run in runs)
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
