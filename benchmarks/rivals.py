"""Rivals in several tables: HiGHS alone, and a cluster in SimPy."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import highspy
import numpy as np
import simpy

Stages = Sequence[Sequence[float]]


def highs(**options: object) -> highspy.Highs:
    """Return a silent HiGHS with gap 0; an earlier run's number of threads is forgotten."""
    highspy.Highs.resetGlobalScheduler(True)
    engine = highspy.Highs()
    engine.silent()
    for name, value in {"mip_rel_gap": 0.0, **options}.items():
        engine.setOptionValue(name, value)
    return engine


def highs_alone(matrix: Any) -> highspy.Highs:
    """Solve arrays with highspy, as anyone would: gap 0, all else as it comes."""
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(matrix.columns), len(matrix.rows)
    program.col_cost_, program.sense_ = matrix.cost, highspy.ObjSense.kMaximize
    program.col_lower_, program.col_upper_ = matrix.column_lower, matrix.column_upper
    program.row_lower_, program.row_upper_ = matrix.row_lower, matrix.row_upper
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(matrix.columns)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = matrix.starts
    program.a_matrix_.index_, program.a_matrix_.value_ = matrix.indices, matrix.values
    engine = highs()
    engine.passModel(program)
    engine.run()
    return engine


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
