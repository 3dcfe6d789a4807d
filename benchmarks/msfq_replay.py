"""Replays of logs: jobs a second, beside SimPy and AccaSim, and what ten million jobs take.

``python -m benchmarks.msfq_replay`` measures all; with ``--accasim PYTHON`` AccaSim, too, run by
that interpreter, which has it (it asks for other versions than ours, so for one of its own).
"""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import typer

from benchmarks.rivals import simpy_cluster
from benchmarks.tables import Measured, measurement, row
from benchmarks.timing import peak_mb, spent
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs.registration import run, started

SERVERS = 128
RATES = (
    ("easy", 1_000_000, 1e6, 0),
    ("conservative", 100_000, 5e4, 0),
    ("easy", 1_000_000, 2e5, 32),
)
"""Policies, jobs, jobs a second that are asked for, and GPUs, which two jobs in five need."""
LOADS = (0.8, 0.9, 0.95)
BESIDE, MOST = 5_000, 10_000_000  # jobs that the others replay, and the most that we do


def log(size: int, load: float = 0.8, gpus: int = 0) -> Instance:
    """Draw a log: Poisson arrivals, needs of 1 to 32, lognormal runs, estimates 1 to 5 times."""
    draw = np.random.default_rng(1)
    need = 2 ** draw.integers(0, 6, size)
    length = draw.lognormal(7, 1.5, size).round() + 1
    gaps = draw.exponential(float((need * length).mean()) / (load * SERVERS), size)
    estimate = np.rint(length * draw.uniform(1, 5, size))
    needs, resources = None, dict[str, int]()
    if gpus:
        held = np.where(draw.random(size) < 0.4, draw.integers(1, 9, size), 0)
        most = float((held * length).mean()) / gpus  # which may be scarcer than servers
        gaps *= max(1.0, most / (float((need * length).mean()) / SERVERS))
        needs = {"gpu": held}
        resources = {"gpu": gpus}
    jobs = Jobs.of(np.cumsum(gaps).round(), need, length, estimate, needs=needs)
    bare = Instance(name="log", servers=SERVERS, log="log.parquet")
    return msgspec.structs.replace(bare, resources=resources).with_jobs(jobs)


@measurement
def replays(accasim: str | None = None) -> Measured:
    """Time EASY and conservative backfilling, and FCFS beside SimPy, AccaSim beside both."""
    yield "(l) replays of a log, one core: jobs a second by processor time, starts alone"
    for name, size, least, gpus in RATES:
        started(log(1000, gpus=gpus), name, "given")  # compiles
        for load in LOADS:
            queue = log(size, load, gpus)
            seconds, starts = spent(partial(started, queue, name, "given"))
            wait = starts - queue.jobs.submit
            line = float(wait.sum() / (queue.jobs.submit[-1] - queue.jobs.submit[0]))
            what = f"{name}, {size:,} jobs, load {load}" + f", {gpus} GPUs" * bool(gpus)
            yield row(what, size / seconds, least=least, mean_queue=line)
    yield f"{BESIDE:,} jobs; jobs a second by processor time"
    queue = log(BESIDE)
    jobs = queue.jobs
    for name, planned in (("fcfs", "exact"), ("easy", "given")):
        work = partial(started, queue, name, planned)
        work()
        ours, starts = min((spent(work) for _ in range(5)), key=lambda pair: pair[0])
        beside = {"mean wait": float((starts - jobs.submit).mean())}
        if name == "fcfs":
            columns = (jobs.submit.tolist(), jobs.need.tolist(), jobs.run.tolist())
            alike = [(at, need, ((length,),)) for at, need, length in zip(*columns, strict=True)]
            seconds, theirs = spent(partial(simpy_cluster, queue.servers, alike))
            if not np.array_equal(theirs, starts):
                raise SystemExit("SimPy starts jobs at other times than we do")
            beside["SimPy"] = BESIDE / seconds
        if accasim:
            seconds, beside["mean wait of AccaSim"] = by_accasim(accasim, queue, name)
            beside["AccaSim"] = BESIDE / seconds
        yield row(name, BESIDE / ours, **beside)


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

    Raises `SystemExit` if it does not.
    """
    jobs = queue.jobs
    groups = {"node": {"core": queue.servers, "mem": 10**9}}
    columns = zip(jobs.submit, jobs.run, jobs.need, jobs.planned("given"), strict=True)
    lines = [
        f"{row} {submit:.0f} -1 {length:.0f} {need} -1 -1 {need} {plan:.0f} 1 1 1 1 1 1 -1 -1 -1"
        for row, (submit, length, need, plan) in enumerate(columns, start=1)
    ]
    with TemporaryDirectory() as folder:
        Path(folder, "log.swf").write_text("\n".join(lines) + "\n")
        machine = json.dumps({"groups": groups, "resources": {"node": 1}})
        Path(folder, "machine.json").write_text(machine)
        done = subprocess.run(  # noqa: S603 - the interpreter that was named
            [python, "-c", ACCASIM, policy], cwd=folder, capture_output=True, text=True, check=False
        )
    told = (done.stdout + done.stderr).splitlines()
    seconds = [line.split()[1] for line in told if line.startswith("spent")]
    waits = [line.split()[-1] for line in told if "waiting times" in line]
    if not seconds:
        raise SystemExit(f"AccaSim did not replay the log: {done.stderr[-400:]}")
    return float(seconds[0]), waits[0] if waits else ""


@measurement
def ten_million() -> Measured:
    """Replay ten million jobs under EASY with all that is measured; say what that takes."""
    yield f"{MOST:,} jobs under EASY, all measures taken"
    run("easy", log(1000))  # compiles
    queue = log(MOST)
    seconds, _ = spent(partial(run, "easy", queue))
    yield row("processor time", seconds, "s", most=30)
    yield row("memory at the most", peak_mb() / 1024, "GB", most=4)


def main(accasim: str | None = None) -> None:
    """Measure replays; AccaSim's, too, by an interpreter that has it."""
    if accasim and not Path(accasim).exists():
        sys.exit(f"no such interpreter: {accasim}")
    replays(accasim)
    ten_million()


if __name__ == "__main__":
    typer.run(main)
