"""Replays of logs: jobs a second, beside SimPy, and what ten million jobs take.

``python -m benchmarks.msfq_replay [TABLE ...]``: replays and ten_million, or one of them.
"""

from functools import partial

import msgspec
import numpy as np

from benchmarks.rivals import simpy_cluster
from benchmarks.tables import Measured, measurement, row, run
from benchmarks.timing import peak_mb, spent
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs import registration
from schedopt.policies.msfq.logs.registration import replay_log

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
def replays() -> Measured:
    """Time EASY and conservative backfilling, and FCFS beside SimPy."""
    yield "(l) replays of a log, one core: jobs a second by processor time, starts alone"
    for name, size, least, gpus in RATES:
        replay_log(log(1000, gpus=gpus), name, "given")  # compiles
        for load in LOADS:
            queue = log(size, load, gpus)
            seconds, starts = spent(partial(replay_log, queue, name, "given"))
            wait = starts - queue.jobs.submit
            line = float(wait.sum() / (queue.jobs.submit[-1] - queue.jobs.submit[0]))
            what = f"{name}, {size:,} jobs, load {load}" + f", {gpus} GPUs" * bool(gpus)
            yield row(what, size / seconds, least=least, mean_queue=line)
    yield f"{BESIDE:,} jobs; jobs a second by processor time"
    queue = log(BESIDE)
    jobs = queue.jobs
    for name, planned in (("fcfs", "exact"), ("easy", "given")):
        work = partial(replay_log, queue, name, planned)
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
        yield row(name, BESIDE / ours, **beside)


@measurement
def ten_million() -> Measured:
    """Replay ten million jobs under EASY with all that is measured; say what that takes."""
    yield f"{MOST:,} jobs under EASY, all measures taken"
    registration.run("easy", log(1000))  # compiles
    queue = log(MOST)
    seconds, _ = spent(partial(registration.run, "easy", queue))
    yield row("processor time", seconds, "s", most=30)
    yield row("memory at the most", peak_mb() / 1024, "GB", most=4)


if __name__ == "__main__":
    run(replays, ten_million)
