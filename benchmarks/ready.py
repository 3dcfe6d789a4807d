"""Ready jobs: which of them start now, beside Snakemake's greedy and MILP, and solvers alone.

``python -m benchmarks.ready [TABLE ...]``. Snakemake is run in the environment of ``make
plugin-test``, where there is one. Seconds are of the processor; of Snakemake, whose MILP is another
program, by the clock.
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
from schedopt.verbs.ready import Ready, ready

LIMIT = 10.0
"""Seconds after which an alternative is stopped, for each objective: as Snakemake's MILP is."""
PLUGIN = Path("build/plugin/bin/python")
ALONE = {"HIGHS": 230_000, "SCIP": 10_000, "SAT": 10_000}
SNAKEMAKE = {"greedy": 10_000, "milp": 10_000}
"""Jobs up to which each is asked: beyond, it takes minutes."""


class Jobs(NamedTuple):
    """Ready jobs: priority and cores, what they use, and what there is."""

    goals: Integers
    uses: Integers
    room: Integers


def random_jobs(count: int, seed: int, *, resources: int = 2, top: int = 100) -> Jobs:
    """Return jobs of 1 to 16 cores and distinct memory, on 500 cores and 2 TB.

    Of further resources a tenth of the jobs, or a half, ask for some, and all can be scarce.
    """
    rng = np.random.default_rng(seed)
    cores, memory = rng.integers(1, 17, count), rng.integers(500, 64_001, count)
    more = []
    for part, most in ((0.1, 2), (0.1, 1), (0.5, 50), (0.3, 3))[: resources - 2]:
        more.append(rng.integers(1, most + 1, count) * (rng.random(count) < part))
    goals = np.array([rng.integers(0, top + 1, count), cores])
    room = [500, 2_000_000, 16, 20, 1_500, 90][:resources]
    return Jobs(goals, np.array([cores, memory, *more]), np.array(room))


def rule_jobs(count: int, seed: int, rules: int = 40) -> Jobs:
    """Return jobs of a few rules: those of one are alike."""
    of = random_jobs(rules, seed)
    at = np.random.default_rng(seed).integers(0, rules, count)
    return Jobs(of.goals[:, at], of.uses[:, at], of.room)


KINDS = ("priorities of four", "all equal", "two values", "one scarce", "correlated", "no priority")


def tying_jobs(kind: str, count: int, seed: int) -> Jobs:
    """Return jobs of which many are alike in all but a resource, or in everything."""
    rng = np.random.default_rng(seed)
    priority, cores = np.full(count, 3), rng.integers(1, 17, count)
    uses, room = [cores, rng.integers(500, 64_001, count)], [500, 2_000_000]
    if kind == "priorities of four":
        priority = rng.choice((0, 0, 0, 1, 5), count)
        uses[0] = cores = rng.choice((1, 1, 2, 4, 8, 16), count)
    elif kind == "all equal":
        uses = [np.full(count, 7), np.full(count, 12_345)]
    elif kind == "two values":
        priority = rng.choice((1, 3), count)
        uses = [rng.choice((1, 7), count), rng.choice((900, 12_345), count)]
    elif kind == "one scarce":
        priority = rng.choice((0, 1, 2, 5), count)
        more = [rng.integers(0, most, count) for most in (3, 2, 50)]
        uses += [*more, rng.integers(1, 1_000, count)]
        room = [10**6, 10**10, 10**6, 10**6, 10**7, 20_000]
    elif kind == "correlated":
        priority = 5 * cores + rng.integers(-2, 3, count)
        uses[1] = 4_000 * cores + rng.integers(-500, 501, count)
    return Jobs(np.array([priority, uses[0]]), np.array(uses), np.array(room))


def solve_in_order(solver: str, goals: Any, uses: Any, room: Any) -> tuple[list[int], bool]:
    """Solve objective after objective with an engine of OR-Tools; tell whether all is proven."""
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
    """Run one of Snakemake's own schedulers, or the plug-in, on jobs in a file.

    The first of what jobs use is cores.
    """
    from snakemake.scheduling import greedy, milp

    data = np.load(file)
    names = ["_cores", *(f"r{i}" for i in range(1, len(data["room"])))]
    jobs = [
        SimpleNamespace(
            priority=p, scheduler_resources=dict(zip(names, uses, strict=True)), input=[]
        )
        for p, uses in zip(data["goals"][0].tolist(), data["uses"].T.tolist(), strict=True)
    ]
    module: Any = {"greedy": greedy, "milp": milp}.get(which)
    if module is None:
        import snakemake_scheduler_plugin_schedopt as module
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
    """Tell what one of Snakemake's schedulers takes and reaches."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(file := Path(folder) / "jobs.npz", **jobs._asdict())
        words = (str(PLUGIN), "-m", "benchmarks.ready", "--snakemake", which, str(file))
        done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
    answer = json.loads(done.stdout.splitlines()[-1])
    reached = f"{answer['values'][0]:,}" if answer["values"] else "gave up"
    return f"{answer['seconds']:.2f} s, {reached}"


def _rivals(jobs: Jobs, ours: list[int]) -> dict[str, str]:
    """Return what the others take and reach; a star: not proven in time."""
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


def _row(what: str, jobs: Jobs, most: float | None, *, rivals: bool = False) -> Any:
    counts = np.ones(jobs.goals.shape[1], dtype=np.int64)
    solve = partial(best_in_order, *jobs, counts)
    answer = solve()
    priority, cores = answer.values
    beside: dict[str, Any] = {"priority": priority, "cores": cores, "proven": answer.proven}
    beside |= _rivals(jobs, answer.values) if rivals else {}
    return row(what, 1000 * cpu(solve, 3), "ms", most=most, **beside)


@measurement
def ready_jobs() -> Measured:
    """Choose among ready jobs in order of priority and cores, proven, beside the others."""
    yield "Ready jobs, 500 cores, 2 TB, priorities 0 to 100; * not proven in 10 s for an objective"
    for count, most in ((1_000, 300.0), (10_000, 300.0), (230_000, 1000.0)):
        for seed in range(3):
            jobs = random_jobs(count, seed)
            yield _row(f"{count:,}, seed {seed}", jobs, most, rivals=seed == 0)
    for count, most in ((1_000, 300.0), (10_000, 300.0)):
        for resources in (3, 4, 6):
            jobs = random_jobs(count, 0, resources=resources)
            yield _row(f"{count:,}, {resources} resources", jobs, most, rivals=resources == 6)
    yield _row("10,000, priorities 0 to 5", random_jobs(10_000, 0, top=5), 300.0, rivals=True)
    for kind in KINDS:
        for count, most in ((1_000, 300.0), (10_000, 300.0), (230_000, 1000.0)):
            yield _row(f"{count:,}, {kind}", tying_jobs(kind, count, 0), most)
    if PLUGIN.exists():
        jobs = random_jobs(20_000, 0)
        beside = {name: _snakemake(jobs, name) for name in ("greedy", "milp")}
        yield row("20,000, a call of Snakemake's", _snakemake(jobs, "plugin"), **beside)


@measurement
def ready_tables() -> Measured:
    """Read a table of 230,000 jobs of 40 rules and choose; then choose again as jobs change."""
    yield "Ready jobs, reading included, and kept between calls"
    room, order = {"cores": 500, "mem_mb": 2_000_000}, ["priority", "cores"]
    for what, jobs, most in (
        ("230,000 of 40 rules", rule_jobs(230_000, 1), 100.0),
        ("230,000, distinct memory", random_jobs(230_000, 1), None),
    ):
        lines = zip(jobs.goals[0].tolist(), *jobs.uses.tolist(), strict=True)
        cells = (f"job{i},{p},{c},{m}\n" for i, (p, c, m) in enumerate(lines))
        text = ("name,priority,cores,mem_mb\n" + "".join(cells)).encode()
        found = ready(text, room, order)
        took = cpu(partial(ready, text, room, order), 3)
        proven = "yes" if found.proven else "no"
        yield row(what, 1000 * took, "ms", most=most, priority=found.objectives[0], proven=proven)
    queue, times = Ready(room, order), []
    jobs = random_jobs(103_000, 5)
    columns = dict(
        zip([*order, "mem_mb"], [*jobs.goals.tolist(), jobs.uses[1].tolist()], strict=True)
    )
    table = {"name": [f"job{i}" for i in range(103_000)]} | columns

    def part(first: int, last: int) -> dict[str, list[Any]]:
        return {name: cells[first:last] for name, cells in table.items()}

    queue.add(part(0, 100_000))
    queue.select()
    for first in range(100_000, 103_000, 100):
        took, found = cpu_time(queue.select)
        times.append(took)
        queue.remove(found.start[:100])
        queue.add(part(first, first + 100))
    yield row("100,000, 100 change: median call", 1000 * float(np.median(times)), "ms", most=100)
    yield row("100,000, 100 change: slowest of 30", 1000 * max(times), "ms", most=100)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--snakemake"]:
        print(json.dumps(snakemake(*sys.argv[2:])))
    else:
        run(ready_jobs, ready_tables)
