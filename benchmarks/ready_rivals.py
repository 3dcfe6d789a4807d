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


def highs(goals: Any, uses: Any, room: Any, seconds: float) -> Values:
    import highspy

    rows, top, values, proven = uses, list(map(float, room)), [], True
    n = rows.shape[1]
    for goal in goals:
        engine = highspy.Highs()
        engine.silent()
        engine.setOptionValue("mip_rel_gap", 0.0)
        engine.setOptionValue("time_limit", seconds)
        engine.setOptionValue("threads", 1)
        m = len(rows)
        engine.passModel(
            n,
            m,
            rows.size,
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMaximize),
            0.0,
            goal.astype(float),
            np.zeros(n),
            np.ones(n),
            np.full(m, -np.inf),
            np.array(top),
            (np.arange(m) * n).astype(np.int32),
            np.tile(np.arange(n, dtype=np.int32), m),
            rows.astype(float).ravel(),
            np.ones(n, dtype=np.int32),
        )
        engine.run()
        x = np.rint(np.array(engine.getSolution().col_value)).astype(int)
        proven &= engine.getModelStatus() == highspy.HighsModelStatus.kOptimal
        values.append(int(goal @ x) if x.any() else 0)
        if not proven:
            break
        rows, top = np.vstack([rows, -goal]), [*top, -values[-1]]
    return values, proven


def scip(goals: Any, uses: Any, room: Any, seconds: float) -> Values:
    from pyscipopt import Model, quicksum

    model = Model()
    model.hideOutput()
    model.setParam("limits/time", seconds)
    x = [model.addVar(vtype="B") for _ in range(uses.shape[1])]
    for row, amount in zip(uses, room, strict=True):
        model.addCons(quicksum(int(a) * x[j] for j, a in enumerate(row) if a) <= int(amount))
    values: list[int] = []
    for goal in goals:
        total = quicksum(int(a) * x[j] for j, a in enumerate(goal) if a)
        model.setObjective(total, "maximize")
        model.optimize()
        values.append(round(model.getObjVal()) if model.getNSols() else 0)
        if model.getStatus() != "optimal":
            return values, False
        model.freeTransform()
        model.addCons(total >= values[-1])
    return values, True


def cp_sat(goals: Any, uses: Any, room: Any, seconds: float) -> Values:
    from ortools.sat.python import cp_model

    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    x = [model.new_bool_var("") for _ in range(uses.shape[1])]
    for row, amount in zip(uses, room, strict=True):
        model.add(cp_model.LinearExpr.weighted_sum(x, row.tolist()) <= int(amount))
    values: list[int] = []
    for goal in goals:
        total = cp_model.LinearExpr.weighted_sum(x, goal.tolist())
        model.maximize(total)
        status = solver.solve(model)
        values.append(round(solver.objective_value) if status != cp_model.UNKNOWN else 0)
        if status != cp_model.OPTIMAL:
            return values, False
        model.add(total >= values[-1])
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
