"""CPU seconds of schedopt and of other solvers on the same instances, written to docs/speed.md.

``make speed`` measures everything, which takes about an hour; ``make speed QUICK=1`` measures
smaller instances in a few minutes. Each problem has one chart and one table.
"""

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from textwrap import fill
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks import dssp_schedule, dssp_selection, epoch, hesrpt, msfq
from benchmarks.tables import cell, cpu_time
from schedopt import load
from schedopt.instances.msfq import Instance as Queue
from schedopt.instances.msfq import JobClass
from schedopt.policies.msfq.logs import registration
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


def selections(quick: bool, limit: float) -> Iterator[Work]:
    """Yield knapsacks, fair shares, and side constraints over groupings that cross."""
    for family in ("uncorrelated", "weakly-correlated"):
        for jobs in (1_000, 10_000) if quick else (1_000, 10_000, 100_000):
            night = dssp_selection.knapsack_of(family, jobs)
            branching = partial(dssp_selection.branch_and_bound, night, limit)
            yield Work(
                "dssp",
                f"knapsack, {family}, {jobs:,} jobs",
                {
                    SCHEDOPT: partial(gap_of, night, limit),
                    "HiGHS": partial(gap_of, night, limit, solver="highs"),
                    "OR-Tools knapsack": lambda run=branching: None if run() is None else 0.0,
                },
            )
    shares = [(10_000, 100)] if quick else [(10_000, 100), (100_000, 1_000)]
    for jobs, teams in shares:
        night, rule = dssp_selection.night_of_teams(jobs, teams)
        label = f"fair shares, {jobs:,} jobs, {teams:,} teams"
        yield Work("dssp", label, _mip_solvers(night, limit, constraints=[rule]))
    for jobs in (200,) if quick else (200, 500, 2_000):
        night = generate("dssp", "crossing", seed=1, options={"jobs": jobs, "rules": "all"})
        label = f"side constraints that cross, {jobs:,} jobs"
        yield Work("dssp", label, _mip_solvers(night, limit))


def _mip_solvers(night: Any, limit: float, **options: Any) -> dict[str, Callable[[], float | None]]:
    names = {"HiGHS": "highs"} | ({"SCIP": "scip"} if "scip" in dssp_selection.RIVALS else {})
    return {SCHEDOPT: partial(gap_of, night, limit, **options)} | {
        name: partial(gap_of, night, limit, solver=solver, **options)
        for name, solver in names.items()
    }


def schedules(quick: bool, limit: float) -> Iterator[Work]:
    """Yield nights to schedule; the rival is the CP-SAT model as it is declared."""
    sizes = [(20, 200, 20), (40, 600, 40)]
    for jobs, tasks, processors in sizes if quick else [*sizes, (80, 800, 80)]:
        night = dssp_schedule.night(jobs, tasks, processors, 1)
        solvers = {SCHEDOPT: None, "CP-SAT, declared model": "model"}
        yield Work(
            "dssp",
            f"schedule, {jobs} jobs, {tasks} tasks, {processors} processors",
            {
                name: partial(gap_of, night, limit, formulation="schedule", solver=solver)
                for name, solver in solvers.items()
            },
        )


def allocations(quick: bool, limit: float) -> Iterator[Work]:
    """Yield one speedup beside the convex program, and different speedups over all orders."""
    for jobs in (20, 50) if quick else (20, 50, 200):
        instance = generate("hesrpt", "pareto", seed=1, options={"jobs": jobs, "p": 0.5})
        solvers = {
            SCHEDOPT: partial(gap_of, instance, limit),
            "Clarabel": partial(gap_of, instance, limit, solver="model"),
        }
        yield Work("hesrpt", f"one speedup, {jobs} jobs", solvers)
    for jobs in (8, 12, 24) if quick else (8, 12, 14, 24, 60, 200):
        run = partial(gap_of, hesrpt.unlike(jobs, "mixed", 1), limit)
        yield Work("hesrpt", f"different speedups and weights, {jobs} jobs", {SCHEDOPT: run})


def packings(quick: bool, limit: float) -> Iterator[Work]:
    """Yield partitions with a planted optimum, and rectangles."""
    for epochs, inequity in [(8, 2), (16, 4)] if quick else [(8, 2), (8, 4), (16, 4), (32, 3)]:
        options = {"epochs": epochs, "inequity": inequity}
        instance = generate("epoch", "planted", seed=1, options=options)
        search = partial(epoch.paper_search, instance)
        yield Work(
            "epoch",
            f"partition, {epochs} epochs, inequity {inequity}",
            {
                SCHEDOPT: partial(gap_of, instance, limit),
                "CP-SAT, declared model": partial(gap_of, instance, limit, solver="model"),
                "the paper's search": lambda run=search: None if run() is None else 0.0,
            },
        )
    for nodes, jobs in [(16, 6), (16, 8)] if quick else [(16, 6), (16, 8), (16, 12), (32, 10)]:
        instance = epoch.draw_rectangles(nodes, jobs, 0, 1)
        run = partial(gap_of, instance, limit, formulation="rectangles")
        solvers = {SCHEDOPT: run, "CP-SAT, declared model": partial(run, solver="model")}
        yield Work("epoch", f"rectangles, {nodes} nodes, {jobs} jobs", solvers)


def queues(quick: bool, limit: float) -> Iterator[Work]:
    """Yield simulations and replays beside plain Python and SimPy, and exact methods."""
    few = msfq.FEW
    servers = JobClass(need=1, arrival_rate=28.8, service_rate=1)
    mm32 = Queue(name="M/M/32", servers=32, classes=(servers,))
    queue = load("example:one-or-all").scaled(7.0)
    for label, instance, name in (("M/M/32, FCFS", mm32, "fcfs"), ("MSFQ", queue, "msfq")):
        run = partial(simulate, instance, plan(instance, name), arrivals=few)
        solvers = {SCHEDOPT: partial(solved, partial(run, seed=1))}
        if instance is mm32:
            simpy = lambda: msfq.simpy_cluster(32, msfq.mm32_jobs())  # noqa: E731
            solvers["SimPy"] = partial(solved, simpy)
        yield Work("msfq", f"simulation of {few:,} arrivals, {label}", solvers)
    log = msfq.log(msfq.REPLAYED)
    jobs = msfq.simpy_jobs(log)
    solvers = {
        SCHEDOPT: partial(solved, partial(registration.replay_log, log, "fcfs", "exact")),
        "SimPy": partial(solved, partial(msfq.simpy_cluster, log.servers, jobs)),
    }
    yield Work("msfq", f"replay of {msfq.REPLAYED:,} jobs, FCFS", solvers)
    for size in (100_000,) if quick else (100_000, 1_000_000):
        run = partial(registration.replay_log, msfq.log(size), "easy", "given")
        yield Work("msfq", f"replay of {size:,} jobs, EASY", {SCHEDOPT: partial(solved, run)})
    for k in (4, 32) if quick else (4, 32, 128):
        instance = generate("msfq", "one-or-all", seed=1, options={"k": k, "load": 0.5})
        solvers = {SCHEDOPT: partial(gap_of, instance, limit)}
        if k == 4:
            solvers["Markov chain"] = partial(gap_of, instance, limit, solver="model")
        yield Work("msfq", f"all thresholds of {k} servers, exact", solvers)
    for k in (4, 8) if quick else (4, 8, 16):
        options: dict[str, Any] = {"k": k, "load": 0.8}
        instance = generate("msfq", "one-or-all", seed=1, options=options)
        run = partial(gap_of, instance, limit, formulation="optimal-policy", gap=1e-4)
        yield Work("msfq", f"optimal policy of {k} servers, gap 1e-4", {SCHEDOPT: run})


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
