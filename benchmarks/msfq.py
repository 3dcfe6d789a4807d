"""Times of replays of logs, beside SimPy.

``python -m benchmarks.msfq [TABLE ...]``.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
import simpy

from benchmarks.tables import Measured, cpu, cpu_time, measurement, row, run
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs import registration

FEW = 100_000  # arrivals of M/M/32
SERVERS = 128
REPLAYS = (("easy", 1_000_000, 0), ("conservative", 100_000, 0), ("easy", 1_000_000, 32))
"""Policy, number of jobs, and number of GPUs, which two jobs in five need."""
LOADS = (0.8, 0.9, 0.95)
REPLAYED = 5_000  # jobs of the replay by SimPy


def simpy_cluster(
    servers: int, jobs: Iterable[tuple[float, int, Sequence[Sequence[float]]]]
) -> Any:
    """Return the start of each job's first task in a simulation of FCFS by SimPy.

    Parameters
    ----------
    servers : int
    jobs : iterable of (float, int, stages)
        Submit time, servers that each task needs, and the lengths of the tasks by stage.
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
    """Yield the jobs of M/M/32 for `simpy_cluster`."""
    draw = random.Random(1)  # noqa: S311 - a simulation, no secret
    now = 0.0
    for _ in range(FEW):
        now += draw.expovariate(28.8)
        yield now, 1, ((draw.expovariate(1.0),),)


def log(size: int, load: float = 0.8, gpus: int = 0) -> Instance:
    """Return a random log: Poisson arrivals, needs of 1 to 32 and lognormal run times.

    Estimates are one to five times the run times.
    """
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
    """Return the jobs of a log for `simpy_cluster`."""
    columns = (of.tolist() for of in (queue.jobs.submit, queue.jobs.need, queue.jobs.run))
    return [(at, need, ((length,),)) for at, need, length in zip(*columns, strict=True)]


@measurement
def replays() -> Measured:
    """Print replayed jobs per second of EASY and conservative backfilling, and FCFS by SimPy."""
    yield "replays of a log, one core: jobs per second of CPU time"
    for name, size, gpus in REPLAYS:
        registration.replay_log(log(1000, gpus=gpus), name, "given")  # compiles
        for load_ in LOADS:
            queue = log(size, load_, gpus)
            seconds, starts = cpu_time(partial(registration.replay_log, queue, name, "given"))
            submit = queue.jobs.submit
            line = float((starts - submit).sum() / (submit[-1] - submit[0]))
            what = f"{name}, {size:,} jobs, load {load_}" + f", {gpus} GPUs" * bool(gpus)
            yield row(what, size / seconds, mean_queue=line)
    queue = log(REPLAYED)
    work = partial(registration.replay_log, queue, "fcfs", "exact")
    seconds, theirs = cpu_time(partial(simpy_cluster, queue.servers, simpy_jobs(queue)))
    if not np.array_equal(theirs, work()):
        raise SystemExit("SimPy starts jobs at other times than we do")
    yield row(f"fcfs, {REPLAYED:,} jobs", REPLAYED / cpu(work), SimPy=REPLAYED / seconds)


if __name__ == "__main__":
    run(replays)
