"""Dispatching a season: the compiled simulator beside its plain definition, and SimPy for scale."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import numpy as np
import simpy

from benchmarks.ceilings import part_of
from benchmarks.tables import Measured, at_least, measurement, run
from benchmarks.timing import best_of, cpu
from schedopt.policies.dssp import dispatchers
from schedopt.policies.dssp.plain import play_plainly
from schedopt.verbs.generate import generate

PROCESSORS = 1_000
BEFORE = {"lcpf": 6.6, "stcpu": 7.0, "first": 8.4, "cpa": 4.1}
"""Million tasks a second while processors and jobs stood in heaps."""
TARGETS = {"lcpf": 12.1, "stcpu": 15.2, "first": 17.6, "cpa": 7.4}


@measurement
def dispatch() -> Measured:
    """Time each sort of dispatcher on all tasks of a season; the keys are part of the time."""
    season = generate("dssp", seed=1, options={"nights": 56})
    season = msgspec.structs.replace(season, processors=PROCESSORS)
    jobs = np.arange(len(season.jobs))
    tasks = len(season.tasks.lengths)
    yield f"(e) {tasks:,} tasks of {len(jobs):,} jobs on {PROCESSORS:,} processors: best of 5"
    slow, _ = best_of(1, partial(_by_simpy, season))
    ratios = []
    for name, target in TARGETS.items():
        key = dispatchers.KEYS[name](season)
        dispatchers.simulated(season, name, jobs)  # compiles
        work = partial(dispatchers.simulated, season, name, jobs)
        ours, played = cpu(work, 9), work()
        plain, again = best_of(1, partial(play_plainly, season, jobs, keys=key))
        if not all(np.array_equal(a, b) for a, b in zip(played, again, strict=True)):
            raise SystemExit(f"{name}: the two simulations differ")
        rate = tasks / ours
        ratios.append(plain / ours)
        yield {
            "dispatcher": name,
            "M tasks/s": rate / 1e6,
            "before": BEFORE[name],
            "target": target,
            "of the limit": part_of(rate, "replays of a tournament of 1,024"),
            "plain Python tasks/s": tasks / plain,
            "ratio": plain / ours,
            "SimPy tasks/s": tasks / slow if name == "first" else None,
        }
        yield at_least(name, rate / 1e6, target, "million tasks a second", before=BEFORE[name])
    yield at_least("times as fast as plain Python", min(ratios), 5)


def _by_simpy(season: Any) -> None:
    """Run the jobs in SimPy, first come first served: for scale, since it breaks ties otherwise."""
    environment = simpy.Environment()
    processors = simpy.Resource(environment, PROCESSORS)

    def run_task(length: float) -> Any:
        with processors.request() as turn:
            yield turn
            yield environment.timeout(length)

    def run_job(stages: Any) -> Any:
        for stage in stages:
            yield environment.all_of([environment.process(run_task(length)) for length in stage])

    for job in season.jobs:
        environment.process(run_job(job.stages))
    environment.run()


if __name__ == "__main__":
    run(dispatch)
