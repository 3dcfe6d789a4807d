"""A rival in several tables: a cluster in SimPy."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import simpy

Stages = Sequence[Sequence[float]]


def simpy_cluster(servers: int, jobs: Iterable[tuple[float, int, Stages]]) -> Any:
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

    def run(job: int, need: int, stages: Stages) -> Iterator[Any]:
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
            environment.process(run(len(starts), need, stages))
            starts.append(-1.0)

    environment.process(arrivals())
    environment.run()
    return np.array(starts)
