"""Dispatching and scheduling, beside plain Python, SimPy and the model that anyone writes first.

``python -m benchmarks.dssp_schedule [TABLE ...]``; `provable` is ``make provable``.
"""

from functools import partial
from statistics import median
from typing import Any

import msgspec
import numpy as np
from ortools.sat.python import cp_model

from benchmarks.msfq import simpy_cluster
from benchmarks.tables import Measured, best_of, cpu, measurement, row, run
from schedopt.instances.dssp import Instance, Job
from schedopt.policies.dssp import dispatchers
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

LIMIT, WORKERS = 60.0, 2
PROCESSORS = 1_000
DISPATCHED = {"lcpf": 3.0, "stcpu": 3.0, "first": 3.0, "cpa": 1.5}
"""Million tasks a second that are asked."""
SMALL = ((20, 200, 20, 0), (20, 200, 20, 1), (20, 200, 20, 3), (40, 600, 40, 1))
"""Jobs, tasks, processors, seed: to be solved no later than by the plain model."""
SLOW = 0.05  # seconds below which nobody is called slower
LARGE = ((100, 1_000, 100, 3, 0.001), (1_000, 10_000, 100, 3, 0.0005))
"""The same, and how far below the knapsack bound a schedule may be."""
REWARDS = {"size": 0.007, "linear": 0.002, "banded": 1e-6}
"""The same for the paper's season with rewards of three kinds."""
PROVABLE = ((20, 200, 20), (40, 400, 40), (40, 600, 40), (20, 1_000, 50), (80, 800, 80))
SEEDS = range(10)
DEMAND = 1.3  # how much of the capacity all jobs together ask for


def night(jobs: int, tasks: int, processors: int, seed: int) -> Instance:
    """Draw a night: 2 to 4 stages a job, lognormal lengths in whole minutes, whole rewards."""
    draw = np.random.Generator(np.random.PCG64(seed))
    parts = draw.dirichlet(np.full(jobs, 2.0))
    counts = np.maximum(3, np.rint(parts * tasks)).astype(int)
    drawn = []
    for j, count in enumerate(counts.tolist()):
        stages = int(draw.integers(2, 5))
        scale = float(np.exp(draw.normal(np.log(30), 0.5)))
        cuts = np.sort(draw.choice(np.arange(1, count), min(stages, count) - 1, replace=False))
        lengths = np.maximum(1, np.rint(scale * np.exp(0.4 * draw.standard_normal(count))))
        parts_of_job = tuple(tuple(part.tolist()) for part in np.split(lengths, cuts))
        reward = float(draw.integers(1, 500))
        drawn.append(Job(name=f"job-{j:02d}", reward=reward, stages=parts_of_job))
    demand = sum(length for job in drawn for stage in job.stages or () for length in stage)
    return Instance(
        name=f"{jobs}-{tasks}-{processors}-{seed}",
        processors=processors,
        deadline=float(max(1, round(demand / DEMAND / processors))),
        jobs=tuple(drawn),
    )


@measurement
def dispatch() -> Measured:
    """Time each sort of dispatcher on all tasks of a season; the keys are part of the time."""
    season = generate("dssp", seed=1, options={"nights": 56})
    season = msgspec.structs.replace(season, processors=PROCESSORS)
    jobs = np.arange(len(season.jobs))
    tasks = len(season.tasks.lengths)
    yield f"(e) {tasks:,} tasks of {len(jobs):,} jobs on {PROCESSORS:,} processors: M tasks/s"
    slow, _ = best_of(
        1, partial(simpy_cluster, PROCESSORS, [(0.0, 1, job.stages) for job in season.jobs])
    )
    for name, least in DISPATCHED.items():
        work = partial(dispatchers.simulate_dispatcher, season, name, jobs)
        work()  # compiles
        yield row(name, tasks / cpu(work, 9) / 1e6, least=least, SimPy=tasks / slow / 1e6)


def _label(season: Instance) -> str:
    jobs, tasks = len(season.jobs), len(season.tasks.lengths)
    return f"{jobs:,} jobs, {tasks:,} tasks, {season.processors:,} processors"


def _solve(season: Instance) -> tuple[float, Any]:
    limits: dict[str, Any] = {"time_limit": LIMIT, "threads": WORKERS}
    return best_of(1, partial(solve, season, formulation="schedule", **limits))


@measurement
def schedules(seed: int = 3) -> Measured:
    """Print how near to the bound schedules come, and how soon; small ones beside plain CP-SAT."""
    yield f"small schedules, {LIMIT:.0f} s, {WORKERS} workers, beside the plain model"
    for size in SMALL:
        season = night(*size)
        seconds, result = _solve(season)
        plain, earned = best_of(1, partial(_plain, season))
        most = max(SLOW, plain * 1.02)
        no_less = "yes" if result.objective >= earned else "no"
        yield row(_label(season), seconds, "s", most=most, plain_s=plain, earns_no_less=no_less)
    yield f"schedules, {LIMIT:.0f} s, {WORKERS} workers: how far below the knapsack bound"
    seasons = [(night(*size), "whole", target) for *size, target in LARGE]
    for kind, target in REWARDS.items():
        options = {"nights": 8, "processors": 4500, "reward": kind}
        seasons.append((generate("dssp", options=options, seed=seed), kind, target))
    for season, kind, target in seasons:
        seconds, result = _solve(season)
        below = 1 - (result.objective or 0.0) / result.options["relaxation"]
        yield row(_label(season), below, most=target, rewards=kind, seconds=seconds)


def _plain(season: Instance) -> float:
    """Solve the model that anyone would write first; lengths and rewards are whole numbers."""
    model, deadline = cp_model.CpModel(), round(season.deadline)
    intervals, earned = [], []
    for job in season.jobs:
        x = model.new_bool_var("")
        opened: Any = 0
        for stage in job.stages or ():
            closed = model.new_int_var(0, deadline, "")
            for length in map(round, stage):
                start = model.new_int_var(0, deadline, "")
                model.add(start >= opened).only_enforce_if(x)
                model.add(start + length <= closed).only_enforce_if(x)
                intervals.append(model.new_optional_fixed_size_interval_var(start, length, x, ""))
            opened = closed
        earned.append(round(job.reward) * x)
    model.add_cumulative(intervals, [1] * len(intervals), season.processors)
    model.maximize(sum(earned))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = WORKERS
    solver.parameters.max_time_in_seconds = LIMIT
    status = solver.solve(model)
    return solver.objective_value if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else 0.0


@measurement
def provable() -> Measured:
    """Print how many schedules of each size are proven, and by what."""
    yield f"proven within {LIMIT:.0f} s by {WORKERS} workers, {len(SEEDS)} seeds each"
    for size in PROVABLE:
        results = [_solve(night(*size, seed))[1] for seed in SEEDS]
        beside = {
            "by the bound": sum(r.objective == r.options["relaxation"] for r in results),
            "median s": median(r.seconds.build + r.seconds.solve for r in results),
            "worst gap": f"{max(1.0 if r.gap is None else r.gap for r in results):.2%}",
        }
        what = "{:,} jobs, {:,} tasks, {:,} processors".format(*size)
        yield row(what, sum(r.proven for r in results), f"of {len(SEEDS)}", **beside)


if __name__ == "__main__":
    run(dispatch, schedules, provable)
