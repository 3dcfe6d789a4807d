"""Multiserver jobs: simulators and replays beside plain Python and SimPy; thresholds.

``python -m benchmarks.msfq [TABLE ...]``.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
import simpy

from benchmarks.tables import Measured, best_of, cpu, cpu_time, measurement, peak_mb, row, run
from schedopt.formulations.msfq.process import System
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs import registration
from schedopt.solvers.msfq.threshold.approximation import area
from schedopt.solvers.msfq.threshold.exact import exact

JOBS, FEW = 5_000_000, 100_000
SERVERS = 128
RATES = (
    ("easy", 1_000_000, 1e6, 0),
    ("conservative", 100_000, 5e4, 0),
    ("easy", 1_000_000, 2e5, 32),
)
"""Policies, jobs, jobs a second that are asked for, and GPUs, which two jobs in five need."""
LOADS = (0.8, 0.9, 0.95)
REPLAYED, MOST = 5_000, 10_000_000  # jobs that SimPy replays, and the most that we do


def simpy_cluster(
    servers: int, jobs: Iterable[tuple[float, int, Sequence[Sequence[float]]]]
) -> Any:
    """Run jobs in SimPy, first come first served, and return when the first task of each starts.

    A job is when it is submitted, how many servers each of its tasks needs, and its stages. Ties
    are not broken as ours are.
    """
    environment = simpy.Environment()
    free = simpy.Container(environment, servers, init=servers)
    starts: list[float] = []

    def task(job: int, need: int, length: float) -> Iterator[Any]:
        yield free.get(need)
        if starts[job] < 0.0:
            starts[job] = environment.now
        yield environment.timeout(length)
        yield free.put(need)

    def run_job(job: int, need: int, stages: Sequence[Sequence[float]]) -> Iterator[Any]:
        for stage in stages:
            if len(stage) == 1:
                yield from task(job, need, stage[0])
            else:
                tasks = [environment.process(task(job, need, length)) for length in stage]
                yield environment.all_of(tasks)

    def arrivals() -> Iterator[Any]:
        for submit, need, stages in jobs:
            if submit > environment.now:
                yield environment.timeout(submit - environment.now)
            environment.process(run_job(len(starts), need, stages))
            starts.append(-1.0)

    environment.process(arrivals())
    environment.run()
    return np.array(starts)


def mm32_jobs() -> Iterator[tuple[float, int, tuple[tuple[float]]]]:
    """Draw the arrivals of M/M/32, as `simpy_cluster` takes them."""
    draw = random.Random(1)  # noqa: S311 - a simulation, no secret
    now = 0.0
    for _ in range(FEW):
        now += draw.expovariate(28.8)
        yield now, 1, ((draw.expovariate(1.0),),)


@measurement
def thresholds() -> Measured:
    """Time the curve over all thresholds by area, and single exact values."""
    yield "(l) thresholds of MSFQ: best of 5"
    for k, most in ((32, None), (4_096, 10), (100_000, 200)):
        system = System(k, 0.5 * k, 0.45, 1.0, 1.0)
        area(system)  # compiles
        took = 1e3 * best_of(5, partial(area, system))[0]
        yield row(f"all of {k:,} servers, by area", took, "ms", most=most)
    system = System(32, 6.3, 0.7, 1.0, 1.0)
    for l in (0, 16, 31):
        took = 1e3 * best_of(5, partial(exact, system, l))[0]
        yield row(f"l = {l} of 32 servers, exactly", took, "ms", most=100)


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
        needs, resources = {"gpu": held}, {"gpu": gpus}
    jobs = Jobs.of(np.cumsum(gaps).round(), need, length, estimate, needs=needs)
    bare = Instance(name="log", servers=SERVERS, log="log.parquet")
    return msgspec.structs.replace(bare, resources=resources).with_jobs(jobs)


def simpy_jobs(queue: Instance) -> list[tuple[float, int, tuple[tuple[float]]]]:
    """Return the jobs of a log, as `simpy_cluster` takes them."""
    columns = (of.tolist() for of in (queue.jobs.submit, queue.jobs.need, queue.jobs.run))
    return [(at, need, ((length,),)) for at, need, length in zip(*columns, strict=True)]


@measurement
def replays() -> Measured:
    """Time EASY and conservative backfilling, and FCFS beside SimPy."""
    yield "(l) replays of a log, one core: jobs a second by processor time, starts alone"
    for name, size, least, gpus in RATES:
        registration.replay_log(log(1000, gpus=gpus), name, "given")  # compiles
        for load_ in LOADS:
            queue = log(size, load_, gpus)
            seconds, starts = cpu_time(partial(registration.replay_log, queue, name, "given"))
            submit = queue.jobs.submit
            line = float((starts - submit).sum() / (submit[-1] - submit[0]))
            what = f"{name}, {size:,} jobs, load {load_}" + f", {gpus} GPUs" * bool(gpus)
            yield row(what, size / seconds, least=least, mean_queue=line)
    queue = log(REPLAYED)
    work = partial(registration.replay_log, queue, "fcfs", "exact")
    seconds, theirs = cpu_time(partial(simpy_cluster, queue.servers, simpy_jobs(queue)))
    if not np.array_equal(theirs, work()):
        raise SystemExit("SimPy starts jobs at other times than we do")
    yield row(f"fcfs, {REPLAYED:,} jobs", REPLAYED / cpu(work), SimPy=REPLAYED / seconds)


@measurement
def ten_million() -> Measured:
    """Replay ten million jobs under EASY with all that is measured; say what that takes."""
    yield f"{MOST:,} jobs under EASY, all measures taken"
    registration.run("easy", log(1000))  # compiles
    queue = log(MOST)
    seconds, _ = cpu_time(partial(registration.run, "easy", queue))
    yield row("processor time", seconds, "s", most=30)
    yield row("memory at the most", peak_mb() / 1024, "GB", most=4)


if __name__ == "__main__":
    run(thresholds, replays, ten_million)
