"""Times of choosing among ready jobs, beside solvers and the schedulers of Snakemake.

``python -m benchmarks.ready``. Snakemake runs in the environment of ``make plugin-test``, if there
is one. Times are CPU seconds, but wall-clock seconds for Snakemake, whose MILP is another process.
"""

import json
import logging
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tables import Measured, agree, cpu, cpu_time, measurement, row, run
from schedopt.instances.ready import Integers
from schedopt.solvers.priced_core.in_order import best_in_order

LIMIT = 10.0
"""Time limit of the other methods for each objective, in seconds; the same as Snakemake's MILP."""
PLUGIN = Path("build/plugin/bin/python")
ALONE = {"HIGHS": 230_000, "SCIP": 10_000, "SAT": 10_000}
SNAKEMAKE = {"greedy": 10_000, "milp": 10_000}
"""Largest number of jobs that each method is run with; more jobs take minutes."""


class Jobs(NamedTuple):
    """Ready jobs: objectives (priority, cores), resources used, and resources available."""

    goals: Integers
    uses: Integers
    room: Integers


def random_jobs(count: int, seed: int, *, resources: int = 2, top: int = 100) -> Jobs:
    """Return random jobs of 1 to 16 cores and distinct memory, with 500 cores and 2 TB.

    Up to four more resources are used by some of the jobs, and each can be scarce.
    """
    rng = np.random.default_rng(seed)
    cores, memory = rng.integers(1, 17, count), rng.integers(500, 64_001, count)
    more = []
    for part, most in ((0.1, 2), (0.1, 1), (0.5, 50), (0.3, 3))[: resources - 2]:
        more.append(rng.integers(1, most + 1, count) * (rng.random(count) < part))
    goals = np.array([rng.integers(0, top + 1, count), cores])
    room = [500, 2_000_000, 16, 20, 1_500, 90][:resources]
    return Jobs(goals, np.array([cores, memory, *more]), np.array(room))


def solve_in_order(solver: str, goals: Any, uses: Any, room: Any) -> tuple[list[int], bool]:
    """Return the lexicographic optima by a solver of OR-Tools, and whether all are proven."""
    from ortools.linear_solver import pywraplp

    model = pywraplp.Solver.CreateSolver(solver)
    model.SetNumThreads(1)
    model.SetTimeLimit(round(1000 * LIMIT))
    exactly = pywraplp.MPSolverParameters()
    exactly.SetDoubleParam(exactly.RELATIVE_MIP_GAP, 0.0)
    x = [model.BoolVar("") for _ in range(uses.shape[1])]

    def weigh(what: Any, numbers: Any) -> None:
        for j in np.flatnonzero(numbers).tolist():
            what.SetCoefficient(x[j], float(numbers[j]))

    for use, amount in zip(uses, room, strict=True):
        weigh(model.Constraint(-model.infinity(), float(amount)), use)
    values: list[int] = []
    for goal in goals:
        model.Objective().Clear()
        weigh(model.Objective(), goal)
        model.Objective().SetMaximization()
        status = model.Solve(exactly)
        has_answer = status in (model.OPTIMAL, model.FEASIBLE)
        values.append(round(model.Objective().Value()) if has_answer else 0)
        if status != model.OPTIMAL:
            return values, False
        weigh(model.Constraint(float(values[-1]), model.infinity()), goal)
    return values, True


def snakemake(which: str, file: str) -> dict[str, object]:
    """Run a scheduler of Snakemake on the jobs of a file; return its time and objectives."""
    from snakemake.scheduling import greedy, milp

    data = np.load(file)
    names = ["_cores", *(f"r{i}" for i in range(1, len(data["room"])))]
    jobs = [
        SimpleNamespace(
            priority=p, scheduler_resources=dict(zip(names, uses, strict=True)), input=[]
        )
        for p, uses in zip(data["goals"][0].tolist(), data["uses"].T.tolist(), strict=True)
    ]
    module: Any = {"greedy": greedy, "milp": milp}[which]
    scheduler = module.Scheduler(None, module.SchedulerSettings(), logging.getLogger())
    free = dict(zip(names, data["room"].tolist(), strict=True))
    began = time.perf_counter()
    started = scheduler.select_jobs(jobs, jobs, free, {})
    seconds = time.perf_counter() - began
    at = {id(job): j for j, job in enumerate(jobs)}
    columns = [at[id(job)] for job in started or ()]
    values = data["goals"][:, columns].sum(axis=1).tolist() if started else None
    return {"seconds": seconds, "values": values}


def _snakemake(jobs: Jobs, which: str) -> str:
    """Return the time and the total priority of a scheduler of Snakemake."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(file := Path(folder) / "jobs.npz", **jobs._asdict())
        words = (str(PLUGIN), "-m", "benchmarks.ready", "--snakemake", which, str(file))
        done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
    answer = json.loads(done.stdout.splitlines()[-1])
    reached = f"{answer['values'][0]:,}" if answer["values"] else "gave up"
    return f"{answer['seconds']:.2f} s, {reached}"


def _rivals(jobs: Jobs, ours: list[int]) -> dict[str, str]:
    """Return the results of the other methods; a star marks an optimum that is not proven."""
    count, beside = jobs.goals.shape[1], dict[str, str]()
    for name in (name for name, most in ALONE.items() if count <= most):
        took, (values, proven) = cpu_time(partial(solve_in_order, name, *jobs))
        if proven:
            agree(float(values[0]), float(ours[0]))
            agree(float(values[1]), float(ours[1]))
        beside[name] = f"{took:.2f} s{'' if proven else f' * {values[0]:,}'}"
    for name in (name for name, most in SNAKEMAKE.items() if PLUGIN.exists() and count <= most):
        beside[name] = _snakemake(jobs, name)
    return beside


def _row(what: str, jobs: Jobs, *, rivals: bool) -> Any:
    counts = np.ones(jobs.goals.shape[1], dtype=np.int64)
    solve = partial(best_in_order, *jobs, counts)
    answer = solve()
    priority, cores = answer.values
    beside: dict[str, Any] = {"priority": priority, "cores": cores, "proven": answer.proven}
    beside |= _rivals(jobs, answer.values) if rivals else {}
    return row(what, 1000 * cpu(solve, 3), "ms", **beside)


@measurement
def ready_jobs() -> Measured:
    """Print the times of choosing jobs by priority and then cores, both proven."""
    yield "ready jobs, 500 cores, 2 TB, priorities 0 to 100; * not proven in 10 s for an objective"
    for count in (1_000, 10_000, 230_000):
        for seed in range(3):
            yield _row(f"{count:,}, seed {seed}", random_jobs(count, seed), rivals=seed == 0)
    yield _row("10,000, 6 resources", random_jobs(10_000, 0, resources=6), rivals=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--snakemake"]:
        print(json.dumps(snakemake(*sys.argv[2:])))
    else:
        run(ready_jobs)
