"""Multiserver jobs: the simulator beside plain Python and SimPy; thresholds by thousands.

``python -m benchmarks.msfq [TABLE ...]``: simulators and thresholds, or some of them.
"""

import random
from collections.abc import Iterator
from functools import partial

from benchmarks.rivals import simpy_cluster
from benchmarks.tables import Measured, measurement, row, run
from benchmarks.timing import best_of, cpu
from schedopt import load
from schedopt.formulations.msfq.process import System
from schedopt.instances.msfq import Instance, JobClass
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.solvers.msfq.threshold.approximation import area
from schedopt.solvers.msfq.threshold.exact import exact

JOBS = 5_000_000
FEW = 100_000


@measurement
def simulators() -> Measured:
    """Time M/M/32, a one-or-all system and the Borg workload, in arrivals plus completions."""
    mm32 = Instance(
        name="M/M/32", servers=32, classes=(JobClass(need=1, arrival_rate=28.8, service_rate=1),)
    )
    pair = load("example:one-or-all").scaled(7.0)
    yield "(k) multiserver jobs, one core: million events a second, a response time for each job"
    for queue, name, targets in (
        (mm32, "fcfs", {}),
        (pair, "msfq", {"least": 20.0, "before": 20.0}),
        (load("example:borg-cell-b"), "adaptive-quickswap", {"least": 20.0, "before": 17.0}),
    ):
        chosen = plan(queue, name)
        simulate(queue, chosen, arrivals=1000)  # compiles
        ours = cpu(partial(simulate, queue, chosen, arrivals=JOBS, seed=1), 3)
        plain, _ = best_of(1, partial(simulate, queue, chosen, arrivals=FEW, plainly=True))
        beside = {
            "plain Python": 2 * FEW / plain / 1e6,
        }
        if queue is mm32:
            beside["SimPy"] = 2 * FEW / best_of(1, lambda: simpy_cluster(32, _jobs()))[0] / 1e6
        yield row(f"{queue.name}, {name}", 2 * JOBS / ours / 1e6, **targets, **beside)


@measurement
def thresholds() -> Measured:
    """Time the curve over all thresholds by area, and single exact values."""
    yield "(l) thresholds of MSFQ: best of 5"
    for k, most in ((32, None), (4_096, 10), (100_000, 200)):
        system = System(k, 0.5 * k, 0.45, 1.0, 1.0)
        area(system)
        took = 1e3 * best_of(5, partial(area, system))[0]
        yield row(f"all of {k:,} servers, by area", took, "ms", most=most)
    system = System(32, 6.3, 0.7, 1.0, 1.0)
    for l in (0, 16, 31):
        exact(system, l)
        took = 1e3 * best_of(5, partial(exact, system, l))[0]
        yield row(f"l = {l} of 32 servers, exactly", took, "ms", most=100)


def _jobs() -> Iterator[tuple[float, int, tuple[tuple[float]]]]:
    draw = random.Random(1)  # noqa: S311 - a simulation, no secret
    now = 0.0
    for _ in range(FEW):
        now += draw.expovariate(28.8)
        yield now, 1, ((draw.expovariate(1.0),),)


if __name__ == "__main__":
    run(simulators, thresholds)
