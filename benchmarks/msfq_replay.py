"""Replays of logs: jobs a second, beside SimPy and AccaSim, and what ten million jobs take.

``python -m benchmarks.msfq_replay`` measures all; with ``--accasim PYTHON`` AccaSim, too, run by
that interpreter, which has it (it asks for other versions than ours, so for one of its own).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import simpy
from rich.table import Table

from benchmarks.ceilings import part_of
from benchmarks.timing import out, verdict
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.policies.msfq.logs.registration import run, started

SERVERS = 128
MANY, SOME, MOST = 1_000_000, 100_000, 10_000_000
BESIDE = 5_000
"""Jobs that the others replay."""
LOADS = (0.8, 0.9, 0.95)


def log(size: int, load: float = 0.8, seed: int = 1) -> Instance:
    """Draw a log: Poisson arrivals, needs of 1 to 32, lognormal runs, estimates 1 to 5 times."""
    draw = np.random.default_rng(seed)
    need = 2 ** draw.integers(0, 6, size)
    length = draw.lognormal(7, 1.5, size).round() + 1
    gaps = draw.exponential(float((need * length).mean()) / (load * SERVERS), size)
    estimate = np.rint(length * draw.uniform(1, 5, size))
    jobs = Jobs.of(np.cumsum(gaps).round(), need, length, estimate)
    return Instance(name="log", servers=SERVERS, log="log.parquet").with_jobs(jobs)


def replays(accasim: str | None = None) -> None:
    """Time EASY and conservative backfilling, and FCFS beside SimPy, AccaSim beside both."""
    title = "(l) replays of a log, one core: jobs a second by processor time, starts alone"
    table = Table("policy", "jobs", "load", "mean queue", "jobs/s", "of two replays a job",
                  title=title, title_justify="left")  # fmt: skip
    rates: dict[tuple[str, float], float] = {}
    for name, size in (("easy", MANY), ("conservative", SOME)):
        started(log(1000), name, "given")  # compiles
        for load in LOADS:
            queue = log(size, load)
            spent, starts = _spent(partial(started, queue, name, "given"))
            rates[name, load] = size / spent
            wait = starts - queue.jobs.submit
            line = float(wait.sum() / (queue.jobs.submit[-1] - queue.jobs.submit[0]))
            part = part_of(2 * size / spent, "replays of a tournament of 1,024")
            table.add_row(name, f"{size:,}", f"{load}", f"{line:.0f}", f"{size / spent:,.0f}", part)
    out.print(table)
    least = min(rate for (name, _), rate in rates.items() if name == "easy")
    verdict(least >= 1e6, f"1 million jobs a second under EASY ({least / 1e6:.2f})")
    slow = min(rate for (name, _), rate in rates.items() if name == "conservative")
    verdict(slow >= 5e4, f"50,000 under conservative backfilling ({slow:,.0f})")
    _beside(accasim)


def _spent(work: Any) -> tuple[float, Any]:
    """Return the processor time of a piece of work, and what it returned."""
    began = time.process_time()
    done = work()
    return time.process_time() - began, done


def _beside(accasim: str | None) -> None:
    """Replay one log with the others, and hold their starts against ours."""
    queue = log(BESIDE)
    table = Table("policy", "ours", "SimPy", "AccaSim", "ratio", "mean wait", "AccaSim's",
                  title=f"{BESIDE:,} jobs; jobs a second by processor time",
                  title_justify="left")  # fmt: skip
    for name in ("fcfs", "easy"):
        kept = "exact" if name == "fcfs" else "given"
        started_by = partial(started, queue, name, kept)
        started_by()
        ours, starts = min((_spent(started_by) for _ in range(5)), key=lambda pair: pair[0])
        others: dict[str, float] = {}
        waits = [f"{float((starts - queue.jobs.submit).mean()):.2f}", ""]
        if name == "fcfs":
            others["SimPy"], theirs = _spent(partial(by_simpy, queue.jobs, queue.servers))
            if not np.array_equal(theirs, starts):
                raise SystemExit("SimPy starts jobs at other times than we do")
        if accasim:
            others["AccaSim"], waits[1] = by_accasim(accasim, queue, name)
        cells = [f"{BESIDE / others[key]:,.0f}" if key in others else "" for key in
                 ("SimPy", "AccaSim")]  # fmt: skip
        ratio = f"{min(others.values()) / ours:,.0f}" if others else ""
        table.add_row(name, f"{BESIDE / ours:,.0f}", *cells, ratio, *waits)
    out.print(table)
    if not accasim:
        out.print("AccaSim: --accasim PYTHON names an interpreter that has it\n", highlight=False)


def by_simpy(jobs: Jobs, servers: int) -> Floats:
    """Return when SimPy starts each job, first come first served: a container is first-in."""
    environment = simpy.Environment()
    free = simpy.Container(environment, servers, init=servers)
    starts = np.empty(len(jobs))

    def job(row: int, need: int, length: float) -> Any:
        yield free.get(need)
        starts[row] = environment.now
        yield environment.timeout(length)
        yield free.put(need)

    def arrivals() -> Any:
        columns = (jobs.submit.tolist(), jobs.need.tolist(), jobs.run.tolist())
        for row, (submit, need, length) in enumerate(zip(*columns, strict=True)):
            yield environment.timeout(submit - environment.now)
            environment.process(job(row, need, length))

    environment.process(arrivals())
    environment.run()
    return starts


ACCASIM = """
import collections, collections.abc, sys, time
for name in ("Mapping", "MutableMapping", "Iterable", "Callable"):  # it is of 2021
    setattr(collections, name, getattr(collections.abc, name))
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
from accasim.base.simulator_class import Simulator
kind = {"easy": EASYBackfilling, "fcfs": FirstInFirstOut}[sys.argv[1]]
simulator = Simulator("log.swf", "machine.json", kind(FirstFit()))
began = time.process_time()
simulator.start_simulation()
print("spent", time.process_time() - began)
"""


def by_accasim(python: str, queue: Instance, policy: str) -> tuple[float, str]:
    """Return the processor time in which AccaSim replays a log, and what mean wait it says.

    Raises
    ------
    SystemExit
        If it does not.
    """
    jobs = queue.jobs
    machine = {
        "groups": {"node": {"core": queue.servers, "mem": 10**9}},
        "resources": {"node": 1},
    }
    planned = jobs.planned("given")
    columns = zip(jobs.submit, jobs.run, jobs.need, planned, strict=True)
    lines = [
        f"{row} {submit:.0f} -1 {length:.0f} {need} -1 -1 {need} {plan:.0f} 1 1 1 1 1 1 -1 -1 -1"
        for row, (submit, length, need, plan) in enumerate(columns, start=1)
    ]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "log.swf").write_text("\n".join(lines) + "\n")
        Path(folder, "machine.json").write_text(json.dumps(machine))
        done = subprocess.run(  # noqa: S603 - the interpreter that was named
            [python, "-c", ACCASIM, policy], cwd=folder, capture_output=True, text=True, check=False
        )
    told = (done.stdout + done.stderr).splitlines()
    spent = [line.split()[1] for line in told if line.startswith("spent")]
    waits = [line.split()[-1] for line in told if "waiting times" in line]
    if not spent:
        raise SystemExit(f"AccaSim did not replay the log: {done.stderr[-400:]}")
    return float(spent[0]), waits[0] if waits else ""


def ten_million() -> None:
    """Replay ten million jobs under EASY with all that is measured; say what that takes."""
    import resource

    run("easy", log(1000))  # compiles
    queue = log(MOST)
    began = time.perf_counter()
    spent, replayed = _spent(partial(run, "easy", queue))
    taken = time.perf_counter() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    out.print(
        f"{replayed.jobs:,} jobs under EASY: {spent:.1f} s of processor time, {taken:.1f} s by "
        f"the clock, {most:.2f} GB at the most"
    )
    verdict(spent < 30 and most < 4, "10 million jobs in 30 s and 4 GB, all measures taken")


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--accasim", help="an interpreter that has AccaSim")
    words = given.parse_args()
    if words.accasim and not Path(words.accasim).exists():
        sys.exit(f"no such interpreter: {words.accasim}")
    replays(words.accasim)
    ten_million()


if __name__ == "__main__":
    main()
