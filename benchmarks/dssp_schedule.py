"""Schedules under a time limit, beside a plain model in CP-SAT of optional intervals."""

from __future__ import annotations

import time

from ortools.sat.python import cp_model
from rich.table import Table

from benchmarks.dssp_provable import night
from benchmarks.limits import OVER, SHARE
from benchmarks.timing import out, verdict
from schedopt import generate
from schedopt.instances.dssp import Instance
from schedopt.verbs.solve import solve

LIMIT, WORKERS = 60.0, 2
SMALL = ((20, 200, 20, 0), (20, 200, 20, 1), (20, 200, 20, 3), (40, 600, 40, 1))
"""Jobs, tasks, processors, seed: to be solved no later than by the plain model."""

SIZES = ((100, 1_000, 100, 3, 0.001), (1_000, 10_000, 100, 3, 0.0005))
"""The same, and how far below the knapsack bound a schedule may be."""

REWARDS = {"size": 0.007, "linear": 0.002, "banded": 1e-6}
"""The same for the paper's season with rewards of three kinds."""

MOST = 2_000
"""Tasks beyond which the plain model is left out: it finds next to nothing in a minute."""

LEAST = 0.05
"""Seconds below which nobody is called slower."""


def plain(season: Instance, limit: float = LIMIT) -> tuple[float | None, float]:
    """Solve the model that anyone would write first; lengths and rewards are whole numbers.

    Returns
    -------
    objective : float or None
    seconds : float
    """
    began = time.perf_counter()
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
    solver.parameters.max_time_in_seconds = limit
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return solver.objective_value if found else None, time.perf_counter() - began


def schedules(seed: int = 3) -> None:
    """Print a table for small nights, and one for large ones, with targets."""
    heads = ("night", "below the bound", "seconds", "plain", "seconds", "ratio", "no slower")
    title = f"small schedules, {LIMIT:.0f} s, {WORKERS} workers, beside the plain model"
    table = Table(*heads, title=title, title_justify="left")
    for *size, drawn in SMALL:
        season = night(*size, drawn)
        below, seconds, reward = _solved(season)
        other, spent = plain(season)
        share = f"{1 - (other or 0.0) / (reward / (1 - below)):.2e}"
        met = reward >= (other or 0.0) and seconds <= max(LEAST, spent * 1.02)
        row = (f"{below:.2e}", f"{seconds:.2f}", share, f"{spent:.2f}", f"{seconds / spent:.2f}")
        table.add_row(_named(season), *row, "met" if met else "missed")
    out.print(table)
    heads = ("night", "rewards", "target", "below the bound", "seconds", "")
    table = Table(
        *heads, title=f"schedules, {LIMIT:.0f} s, {WORKERS} workers", title_justify="left"
    )
    rows = [(night(*size, drawn), "whole", target) for *size, drawn, target in SIZES]
    for reward, target in REWARDS.items():
        options = {"nights": 8, "processors": 4500, "reward": reward}
        made = generate("dssp", options=options, seed=seed)
        if isinstance(made, Instance):
            rows.append((made, reward, target))
    slowest = 0.0
    for season, kind, target in rows:
        below, seconds, _ = _solved(season)
        slowest = max(slowest, seconds)
        met = "met" if below <= target else "missed"
        table.add_row(_named(season), kind, f"{target:.2e}", f"{below:.2e}", f"{seconds:.1f}", met)
    out.print(table)
    most = LIMIT + OVER + SHARE * LIMIT
    verdict(slowest <= most, f"no schedule takes over {most:.1f} s, before 95 ({slowest:.1f} s)")


def _solved(season: Instance) -> tuple[float, float, float]:
    """Return how far below the knapsack bound a schedule is, the seconds, and what it earns."""
    began = time.perf_counter()
    result = solve(season, formulation="schedule", time_limit=LIMIT, threads=WORKERS)
    seconds = time.perf_counter() - began
    earned = result.objective or 0.0
    return 1 - earned / result.options["relaxation"], seconds, earned


def _named(season: Instance) -> str:
    jobs, tasks = len(season.jobs), len(season.tasks.lengths)
    return f"{jobs:,} jobs, {tasks:,} tasks, {season.processors:,} processors"


if __name__ == "__main__":
    schedules()
