"""The dispatch simulator of jobs that ask for processors alone, which are there all the time.

It does what `simulation_kernels` does; where few tasks are equal it is several times as fast.
"""

from typing import NamedTuple

import numpy as np

from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.compiling import kernel
from schedopt.solvers.dssp.schedule.machine_arrays import MOST_IN_PYTHON
from schedopt.solvers.kernels import pop, push, sink


class Dispatch(NamedTuple):
    """What is dispatched: tasks in the order in which their stage hands them out, on a machine."""

    lengths: Floats  # (tasks,)
    first_task: Ints  # of each stage, and their number, (stages + 1,)
    first_stage: Ints  # of each job, and their number, (jobs + 1,)
    processors: int


class Record(NamedTuple):
    """What dispatching fills in for the jobs that are run."""

    starts: Floats  # (tasks,)
    completion: Floats  # (jobs,)


@kernel(python_up_to=MOST_IN_PYTHON, size=lambda of, *_: len(of.lengths))
def by_key(
    of: Dispatch, keys: Floats, jobs: Ints, record: Record, stop: float, main: Ints
) -> Floats:
    """Simulate a dispatcher that always starts the runnable task with the least key.

    Keys never fall within a stage, nothing is released late, and each task takes some time. It
    ends at the first event from `stop` on at which only tasks of each job's `main` stage, shape
    (jobs,), and of those after it are left to start; with infinity, when all is done. Returns when
    each processor is idle.
    """
    lengths, first_task, first_stage, processors = of
    starts, completion = record
    stage = first_stage[:-1].copy()
    upcoming = first_task[stage]  # the next task of each job
    unfinished = first_task[stage + 1] - upcoming  # tasks of its stage
    least, waiting, ready = np.empty(len(stage)), np.empty(len(stage), np.int64), 0
    ends, running, busy = np.empty(processors), np.empty(processors, np.int64), 0
    for j in jobs:
        ready = push(least, waiting, ready, keys[upcoming[j]], j)
    early = (first_task[main[jobs]] - first_task[first_stage[jobs]]).sum()
    now = 0.0
    while now < stop or early > 0:
        while busy < processors and ready > 0 and (now < stop or early > 0):
            j = waiting[0]
            task = upcoming[j]
            starts[task] = now
            busy = push(ends, running, busy, now + lengths[task], j)
            early -= stage[j] < main[j]
            upcoming[j] = task + 1
            if task + 1 == first_task[stage[j] + 1]:
                ready = pop(least, waiting, ready)
            elif keys[task + 1] != least[0]:
                sink(least, waiting, ready, keys[task + 1], j)
        if busy == 0:
            break
        now = ends[0]
        while busy > 0 and ends[0] == now:
            j = running[0]
            busy = pop(ends, running, busy)
            unfinished[j] -= 1
            if unfinished[j] > 0:
                continue
            stage[j] += 1
            if stage[j] == first_stage[j + 1]:
                completion[j] = now
            else:
                upcoming[j] = first_task[stage[j]]
                unfinished[j] = first_task[stage[j] + 1] - upcoming[j]
                ready = push(least, waiting, ready, keys[upcoming[j]], j)
    idle_from = np.full(processors, now)
    idle_from[:busy] = ends[:busy]
    return idle_from
