"""Schedules under a time limit, beside a plain model in CP-SAT of optional intervals."""

from __future__ import annotations

import time

from ortools.sat.python import cp_model
from rich.table import Table

from benchmarks.dssp_provable import night
from benchmarks.timing import out
from instances.dssp import Instance
from schedopt import generate
from schedopt.verbs.solve import solve

LIMIT, WORKERS = 60.0, 2
SIZES = ((20, 200, 20), (100, 1_000, 100), (1_000, 10_000, 100))
REWARDS = ("size", "linear", "banded")
MOST = 12_000
"""Tasks beyond which the plain model is left out: it does not get past its presolve."""


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
    """Print the table."""
    heads = ("instance", "below the bound", "seconds", "plain: below the bound", "plain: seconds")
    title = f"schedules, {LIMIT:.0f} s, {WORKERS} workers"
    table = Table(*heads, title=title, title_justify="left")
    seasons = [night(*size, seed) for size in SIZES]
    options = {"nights": 8, "processors": 4500}
    drawn = [generate("dssp", options=options | {"reward": r}, seed=seed) for r in REWARDS]
    for season in [*seasons, *(found for found in drawn if isinstance(found, Instance))]:
        began = time.perf_counter()
        result = solve(season, formulation="schedule", time_limit=LIMIT, threads=WORKERS)
        seconds = time.perf_counter() - began
        bound = result.bound or 0.0
        tasks = len(season.tasks.lengths)
        other, spent = plain(season) if tasks <= MOST else (None, None)
        table.add_row(
            f"{len(season.jobs):,} jobs, {tasks:,} tasks, {season.processors:,} processors",
            _below(result.objective, bound),
            f"{seconds:.1f}",
            _below(other, bound),
            "" if spent is None else f"{spent:.1f}",
        )
    out.print(table)


def _below(objective: float | None, bound: float) -> str:
    return "" if objective is None or not bound else f"{1 - objective / bound:.4%}"


if __name__ == "__main__":
    schedules()
