"""What else chooses among ready jobs: HiGHS, SCIP and CP-SAT alone, and Snakemake's own two.

Each takes uses, room and objectives in order as arrays, and returns the values that it reaches,
with what it proves of them. ``python -m benchmarks.ready_rivals greedy|milp|plugin FILE.npz`` is
run in an environment that has Snakemake (`make plugin-test` makes one).
"""

import json
import logging
import sys
import time
from typing import Any

import numpy as np

Values = tuple[list[int], bool]


def alone(solver: str, goals: Any, uses: Any, room: Any, seconds: float) -> Values:
    """Solve objective after objective with one of OR-Tools' engines: HIGHS, SCIP or SAT."""
    from ortools.linear_solver import pywraplp

    model = pywraplp.Solver.CreateSolver(solver)
    model.SetNumThreads(1)
    model.SetTimeLimit(round(1000 * seconds))
    exactly = pywraplp.MPSolverParameters()
    exactly.SetDoubleParam(exactly.RELATIVE_MIP_GAP, 0.0)
    x = [model.BoolVar("") for _ in range(uses.shape[1])]

    def weigh(what: Any, row: Any) -> None:
        for j in np.flatnonzero(row).tolist():
            what.SetCoefficient(x[j], float(row[j]))

    for row, amount in zip(uses, room, strict=True):
        weigh(model.Constraint(-model.infinity(), float(amount)), row)
    values: list[int] = []
    for goal in goals:
        model.Objective().Clear()
        weigh(model.Objective(), goal)
        model.Objective().SetMaximization()
        status = model.Solve(exactly)
        known = status in (model.OPTIMAL, model.FEASIBLE)
        values.append(round(model.Objective().Value()) if known else 0)
        if status != model.OPTIMAL:
            return values, False
        weigh(model.Constraint(float(values[-1]), model.infinity()), goal)
    return values, True


class _Job:
    """What Snakemake's schedulers ask of a job."""

    def __init__(self, priority: int, uses: dict[str, int]) -> None:
        self.priority, self.scheduler_resources, self.input = priority, uses, []


def snakemake(which: str, file: str) -> dict[str, object]:
    """Run one of Snakemake's own schedulers on jobs in a file: their first use is cores."""
    from snakemake.scheduling import greedy, milp

    data = np.load(file)
    names = ["_cores", *(f"r{i}" for i in range(1, len(data["room"])))]
    columns = data["uses"].T.tolist()
    jobs = [
        _Job(p, dict(zip(names, row, strict=True)))
        for p, row in zip(data["goals"][0].tolist(), columns, strict=True)
    ]
    module: Any = {"greedy": greedy, "milp": milp}.get(which)
    if module is None:
        import snakemake_scheduler_plugin_schedopt as module
    scheduler = module.Scheduler(None, module.SchedulerSettings(), logging.getLogger())
    began = time.perf_counter()
    free = dict(zip(names, data["room"].tolist(), strict=True))
    chosen = scheduler.select_jobs(jobs, jobs, free, {})
    seconds = time.perf_counter() - began
    at = {id(job): j for j, job in enumerate(jobs)}
    taken = [at[id(job)] for job in chosen or ()]
    return {
        "seconds": seconds,
        "values": data["goals"][:, taken].sum(axis=1).tolist() if chosen else None,
    }


if __name__ == "__main__":
    print(json.dumps(snakemake(sys.argv[1], sys.argv[2])))
