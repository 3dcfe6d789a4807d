"""CPU seconds of schedopt and of other solvers on the same instances, written to docs/speed.md.

``make speed`` measures everything, which takes about an hour; ``make speed QUICK=1`` measures
smaller instances in a few minutes. Each problem has one chart and one table.
"""

import os
import platform
import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from textwrap import fill
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from schedopt import load
from schedopt.formulations.constraints import Resource
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.msfq import Instance as Queue
from schedopt.instances.msfq import JobClass
from schedopt.policies.msfq.logs.registration import replay_log
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

PAGE = Path(__file__).parent.parent / "docs" / "speed.md"
SCHEDOPT = "schedopt"
PACKAGES = ("numpy", "numba", "highspy", "ortools", "pyscipopt", "clarabel", "simpy")
TITLES = {
    "dssp": "dssp: selections and schedules",
    "hesrpt": "hesrpt: allocations",
    "epoch": "epoch: partitions and rectangles",
    "msfq": "msfq: simulations, replays and thresholds",
}
REPEATED = 1.0
"""CPU seconds below which a measurement of schedopt is repeated, and the least time counts."""
ARRIVALS = 100_000


class Work(NamedTuple):
    """One row: what is solved, and the solvers. A solver returns its gap, None if it has none."""

    problem: str
    label: str
    solvers: dict[str, Callable[[], float | None]]


class Time(NamedTuple):
    """CPU seconds of one solver on one row, and its gap: 0 is proven, None has no solution."""

    seconds: float
    gap: float | None


class Row(NamedTuple):
    """The times of all solvers on one row."""

    problem: str
    label: str
    times: dict[str, Time]


def gap_of(instance: Any, limit: float, **options: Any) -> float | None:
    """Solve an instance on one thread, and return the gap, or 0 if it is as small as asked."""
    result = solve(instance, time_limit=limit, threads=1, **options)
    reached = result.gap is not None and result.gap <= options.get("gap", 0.0)
    return 0.0 if reached or result.termination == "infeasible" else result.gap


def solved(work: Callable[[], object]) -> float:
    """Do a piece of work that always ends, and return a gap of 0."""
    work()
    return 0.0


def solvers_of(
    instance: Any, limit: float, rivals: dict[str, str], **options: Any
) -> dict[str, Callable[[], float | None]]:
    """Return schedopt's own engines and the named solvers of ``rivals`` for a row."""
    run = partial(gap_of, instance, limit, **options)
    return {SCHEDOPT: run} | {name: partial(run, solver=of) for name, of in rivals.items()}


def selections(quick: bool, limit: float) -> Iterator[Work]:
    """Yield knapsacks, bounds on groups, side constraints that cross, and ready jobs."""
    mip = {"HiGHS": "highs"} | ({"SCIP": "scip"} if find_spec("pyscipopt") else {})
    for family in ("uncorrelated", "weakly-correlated"):
        for jobs in (1_000, 10_000) if quick else (1_000, 10_000, 100_000):
            night = generate("dssp", family, seed=1, options={"jobs": jobs})
            solvers = solvers_of(night, limit, {"HiGHS": "highs"})
            solvers["OR-Tools knapsack"] = partial(or_tools_knapsack, night, limit)
            yield Work("dssp", f"knapsack, {family}, {jobs:,} jobs", solvers)
    for jobs, groups in [(10_000, 100)] if quick else [(10_000, 100), (100_000, 1_000)]:
        options = {"jobs": jobs, "groups": groups, "bounds": "weights"}
        night = generate("dssp", "group-fair", seed=1, options=options)
        label = f"shares of groups, {jobs:,} jobs, {groups:,} groups"
        yield Work("dssp", label, solvers_of(night, limit, mip))
    for jobs in (200,) if quick else (200, 500, 2_000):
        night = generate("dssp", "crossing", seed=1, options={"jobs": jobs, "rules": "all"})
        label = f"side constraints that cross, {jobs:,} jobs"
        yield Work("dssp", label, solvers_of(night, limit, mip))
    for jobs in (1_000, 10_000):
        solvers = solvers_of(ready_jobs(jobs), limit, {"HiGHS": "model"})
        yield Work("dssp", f"ready jobs by priority, then cores, {jobs:,} jobs", solvers)


def or_tools_knapsack(night: Any, limit: float) -> float | None:
    """Solve a knapsack by OR-Tools' branch and bound; return 0, or None without a proof."""
    from ortools.algorithms.python import knapsack_solver

    kind = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
    solver = knapsack_solver.KnapsackSolver(kind, "selection")
    solver.set_time_limit(limit)
    demands = [night.demands.astype(int).tolist()]
    solver.init(night.rewards.astype(int).tolist(), demands, [int(night.room())])
    solver.solve()
    return 0.0 if solver.is_solution_optimal() else None


def ready_jobs(count: int) -> Instance:
    """Return jobs of 1 to 16 cores with a priority and distinct memory, on 500 cores and 2 TB."""
    draw = np.random.Generator(np.random.PCG64(1))
    cores, memory = draw.integers(1, 17, count).tolist(), draw.integers(500, 64_001, count).tolist()
    priority = draw.integers(0, 101, count).tolist()
    jobs = tuple(
        Job(
            name=f"job-{i}",
            reward=float(priority[i]),
            demand=float(cores[i]),
            critical_path=0.0,
            values={"cores": float(cores[i])},
        )
        for i in range(count)
    )
    use = {job.name: float(of) for job, of in zip(jobs, memory, strict=True)}
    return Instance(
        name="ready",
        processors=500,
        deadline=1.0,
        jobs=jobs,
        objectives=("reward", "cores"),
        constraints=(Resource(name="memory", use=use, capacity=2_000_000.0),),
    )


def schedules(quick: bool, limit: float) -> Iterator[Work]:
    """Yield nights of the archive to schedule."""
    names = ["dssp-schedule-20-01", "dssp-schedule-20-02", "dssp-schedule-open-05"]
    for name in names[:2] if quick else names:
        night = load(f"archive:{name[:-3]}/{name}")
        tasks = sum(len(stage) for job in night.jobs for stage in job.stages)
        label = f"schedule, {len(night.jobs)} jobs, {tasks} tasks, {night.processors} processors"
        rival = {"CP-SAT, declared model": "model"}
        yield Work("dssp", label, solvers_of(night, limit, rival, formulation="schedule"))


def allocations(quick: bool, limit: float) -> Iterator[Work]:
    """Yield one speedup beside the convex program, and different speedups over all orders."""
    for jobs in (20, 50) if quick else (20, 50, 200):
        instance = generate("hesrpt", "pareto", seed=1, options={"jobs": jobs, "p": 0.5})
        solvers = solvers_of(instance, limit, {"Clarabel": "model"})
        yield Work("hesrpt", f"one speedup, {jobs} jobs", solvers)
    for jobs in (8, 12, 24) if quick else (8, 12, 16, 24, 60, 200):
        instance = generate("hesrpt", "mixed", seed=1, options={"jobs": jobs})
        solvers = solvers_of(instance, limit, {})
        yield Work("hesrpt", f"different speedups and weights, {jobs} jobs", solvers)


def packings(quick: bool, limit: float) -> Iterator[Work]:
    """Yield partitions with a planted optimum, and rectangles."""
    rival = {"CP-SAT, declared model": "model"}
    for epochs, inequity in [(8, 2), (16, 4)] if quick else [(8, 2), (8, 4), (16, 4), (32, 3)]:
        options = {"epochs": epochs, "inequity": inequity}
        instance = generate("epoch", "planted", seed=1, options=options)
        label = f"partition, {epochs} epochs, inequity {inequity}"
        yield Work("epoch", label, solvers_of(instance, limit, rival))
    for nodes, jobs in [(16, 6), (16, 8)] if quick else [(16, 6), (16, 8), (16, 12), (32, 10)]:
        options = {"nodes": nodes, "jobs": jobs, "load": 2.0}
        instance = generate("epoch", "uniform", seed=1, options=options)
        solvers = solvers_of(instance, limit, rival, formulation="rectangles")
        yield Work("epoch", f"rectangles, {nodes} nodes, {jobs} jobs", solvers)


def queues(quick: bool, limit: float) -> Iterator[Work]:
    """Yield simulations and replays beside SimPy, and exact methods."""
    servers = JobClass(need=1, arrival_rate=28.8, service_rate=1)
    mm32 = Queue(name="M/M/32", servers=32, classes=(servers,))
    run = partial(simulate, mm32, plan(mm32, "fcfs"), arrivals=ARRIVALS, seed=1)
    solvers: dict[str, Callable[[], float | None]] = {
        SCHEDOPT: partial(solved, run),
        "SimPy": partial(solved, partial(simpy_fcfs, 32, mm32_jobs())),
    }
    yield Work("msfq", f"simulation of {ARRIVALS:,} arrivals, M/M/32, FCFS", solvers)
    for policy, size in (("fcfs", 5_000), ("easy", 100_000), ("easy", 1_000_000)):
        if quick and size == 1_000_000:
            continue
        options: dict[str, Any] = {"jobs": size, "load": 0.8}
        log = generate("msfq", "lublin-feitelson", seed=1, options=options)
        solvers = {SCHEDOPT: partial(solved, partial(replay_log, log, policy, "given"))}
        if policy == "fcfs":
            columns = (log.jobs.submit.tolist(), log.jobs.need.tolist(), log.jobs.run.tolist())
            jobs = list(zip(*columns, strict=True))
            solvers["SimPy"] = partial(solved, partial(simpy_fcfs, log.servers, jobs))
        yield Work("msfq", f"replay of {size:,} jobs, {policy.upper()}", solvers)
    for k in (4, 32) if quick else (4, 32, 128):
        instance = generate("msfq", "one-or-all", seed=1, options={"k": k, "load": 0.5})
        solvers = solvers_of(instance, limit, {"Markov chain": "model"} if k == 4 else {})
        yield Work("msfq", f"all thresholds of {k} servers, exact", solvers)
    for k in (4, 8) if quick else (4, 8, 16):
        options = {"k": k, "load": 0.8}
        instance = generate("msfq", "one-or-all", seed=1, options=options)
        solvers = solvers_of(instance, limit, {}, formulation="optimal-policy", gap=1e-4)
        yield Work("msfq", f"optimal policy of {k} servers, gap 1e-4", solvers)


def mm32_jobs() -> list[tuple[float, int, float]]:
    """Return submit times, servers and run times of M/M/32 at a load of 0.9."""
    draw, now, jobs = random.Random(1), 0.0, []  # noqa: S311 - a simulation, no secret
    for _ in range(ARRIVALS):
        now += draw.expovariate(28.8)
        jobs.append((now, 1, draw.expovariate(1.0)))
    return jobs


def simpy_fcfs(servers: int, jobs: list[tuple[float, int, float]]) -> None:
    """Simulate jobs first come, first served by SimPy."""
    import simpy

    environment = simpy.Environment()
    free = simpy.Container(environment, servers, init=servers)

    def run_job(need: int, length: float) -> Iterator[Any]:
        yield free.get(need)
        yield environment.timeout(length)
        yield free.put(need)

    def arrivals() -> Iterator[Any]:
        for submit, need, length in jobs:
            if submit > environment.now:
                yield environment.timeout(submit - environment.now)
            environment.process(run_job(need, length))

    environment.process(arrivals())
    environment.run()


def cpu_time(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU time of a call in seconds, and its result."""
    began = process_time()
    result = work()
    return process_time() - began, result


def cell(value: float) -> str:
    """Return a number with three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def processor_share() -> float:
    """Return the share of a core that this process gets, from a busy loop of half a second."""
    began, used = perf_counter(), process_time()
    while perf_counter() < began + 0.5:
        pass
    return (process_time() - used) / (perf_counter() - began)


def measure(works: Iterator[Work]) -> Iterator[Row]:
    """Time the solvers of each row; schedopt runs once before, which compiles its kernels."""
    for work in works:
        times = {}
        for name, run in work.solvers.items():
            print(f"{work.problem}: {work.label}: {name}", file=sys.stderr, flush=True)
            seconds, gap = cpu_time(run)
            if name == SCHEDOPT:
                runs = [cpu_time(run)[0] for _ in range(3 if seconds < REPEATED else 1)]
                seconds = min(runs)
            times[name] = Time(seconds, gap)
        yield Row(work.problem, work.label, times)


def shown(time: Time | None) -> str:
    """Return a cell: CPU seconds, and the gap where there is no proof."""
    if time is None:
        return ""
    is_short = time.seconds < 0.1
    seconds = f"{cell(1000 * time.seconds)} ms" if is_short else f"{cell(time.seconds)} s"
    if time.gap == 0.0:
        return seconds
    return f"no solution after {seconds}" if time.gap is None else f"gap {time.gap:.1e}, {seconds}"


def table(rows: list[Row]) -> str:
    """Return the table of one problem."""
    names = list(dict.fromkeys(name for row in rows for name in row.times))
    lines = [["work", *names], ["---"] * (len(names) + 1)]
    lines += [[row.label, *(shown(row.times.get(name)) for name in names)] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def draw(rows: list[Row], path: Path) -> None:
    """Draw the CPU seconds of one problem: filled marks are proven, hollow ones are not."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 1.3 + 0.32 * len(rows)), layout="constrained")
    names = dict.fromkeys(name for row in rows for name in row.times)
    for name, marker in zip(names, "osD^v", strict=False):
        points = [(i, row.times[name]) for i, row in enumerate(rows) if name in row.times]
        (line,) = axes.plot([], [], marker, label=name)
        colour = line.get_color()
        for i, time in points:
            fill = colour if time.gap == 0.0 else "white"
            axes.plot(max(time.seconds, 1e-5), i, marker, c=colour, markerfacecolor=fill)
    axes.set(xscale="log", xlabel="CPU seconds", ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=len(names), frameon=False)
    figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})


def machine() -> str:
    """Describe the processor, the number of cores, and the versions of Python and packages."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists() and (found := re.search(r"model name\s*: (.*)", info.read_text("utf-8"))):
        processor = found[1]
    versions = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return f"{processor} with {os.cpu_count()} cores; {', '.join(versions)}"


def page(rows: list[Row], *, quick: bool, limit: float) -> str:
    """Return the page docs/speed.md."""
    command = "make speed QUICK=1" if quick else "make speed"
    larger = " `make speed` measures larger instances, with a limit of 60 s." if quick else ""
    about = (
        "CPU seconds of schedopt and of other solvers on the same instances, with one thread. "
        f"Written by `{command}`, which stops a solver after about {limit:g} CPU seconds.{larger} "
        "A hollow mark in a chart, and a gap in a table, mean that the solver had no proof by "
        "then. schedopt runs once before it is timed, because the first run compiles."
    )
    parts = [f"# How fast\n\n{fill(about, 120)}\n\n{fill(f'Measured on {machine()}.', 120)}\n"]
    for problem, of_problem in groupby(rows, key=lambda row: row.problem):
        picture = f"![CPU seconds of each solver, on a logarithmic axis](speed-{problem}.png)"
        parts.append(f"\n## {TITLES[problem]}\n\n{picture}\n\n{table(list(of_problem))}")
    return "".join(parts)


def main(quick: bool) -> None:
    """Measure everything, and write the page and its charts."""
    limit = 10.0 if quick else 60.0
    rows: list[Row] = []
    for works in (selections, schedules, allocations, packings, queues):
        rows += measure(works(quick, limit / processor_share()))
    for problem, of_problem in groupby(rows, key=lambda row: row.problem):
        draw(list(of_problem), PAGE.parent / f"speed-{problem}.png")
    PAGE.write_text(page(rows, quick=quick, limit=limit), encoding="utf-8")


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(quick="--quick" in sys.argv[1:])
