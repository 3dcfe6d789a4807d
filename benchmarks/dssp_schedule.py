"""Schedules under a time limit, beside a plain model in CP-SAT of optional intervals."""

from __future__ import annotations

from functools import partial

from ortools.sat.python import cp_model

from benchmarks.dssp_provable import night
from benchmarks.tables import Measured, at_most, measurement, run
from benchmarks.timing import best_of
from benchmarks.verbs import OVER, SHARE
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

LEAST = 0.05
"""Seconds below which nobody is called slower."""


def plain(season: Instance, limit: float = LIMIT) -> float:
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
    solver.parameters.max_time_in_seconds = limit
    status = solver.solve(model)
    return solver.objective_value if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else 0.0


@measurement
def schedules(seed: int = 3) -> Measured:
    """Print a table for small nights, and one for large ones, with targets."""
    yield f"small schedules, {LIMIT:.0f} s, {WORKERS} workers, beside the plain model"
    for *size, drawn in SMALL:
        season = night(*size, drawn)
        below, seconds, reward = _solved(season)
        spent, other = best_of(1, partial(plain, season))
        met = reward >= other and seconds <= max(LEAST, spent * 1.02)
        yield {
            "night": _named(season),
            "below the bound": below,
            "seconds": seconds,
            "plain": 1 - other / (reward / (1 - below)),
            "plain s": spent,
            "ratio": seconds / spent,
            "no slower": "met" if met else "missed",
        }
    yield f"schedules, {LIMIT:.0f} s, {WORKERS} workers"
    rows = [(night(*size, drawn), "whole", target) for *size, drawn, target in SIZES]
    for kind, target in REWARDS.items():
        options = {"nights": 8, "processors": 4500, "reward": kind}
        rows.append((generate("dssp", options=options, seed=seed), kind, target))
    slowest = 0.0
    for season, kind, target in rows:
        below, seconds, _ = _solved(season)
        slowest = max(slowest, seconds)
        yield {
            "night": _named(season),
            "rewards": kind,
            "target": target,
            "below the bound": below,
            "seconds": seconds,
            "": "met" if below <= target else "missed",
        }
    yield at_most("a schedule", slowest, LIMIT + OVER + SHARE * LIMIT, "s", before=95)


def _solved(season: Instance) -> tuple[float, float, float]:
    """Return how far below the knapsack bound a schedule is, the seconds, and what it earns."""
    limits = {"time_limit": LIMIT, "threads": WORKERS}
    seconds, result = best_of(1, partial(solve, season, formulation="schedule", **limits))
    earned = result.objective or 0.0
    return 1 - earned / result.options["relaxation"], seconds, earned


def _named(season: Instance) -> str:
    jobs, tasks = len(season.jobs), len(season.tasks.lengths)
    return f"{jobs:,} jobs, {tasks:,} tasks, {season.processors:,} processors"


if __name__ == "__main__":
    run(schedules)
