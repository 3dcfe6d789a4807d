"""The dispatch simulator: which task goes to an idle processor, played through to the end.

Nonpreemptive, on P identical processors, and non-delay: no processor is idle while a task is
runnable. A task is runnable once all tasks of its job's previous stage have ended. Everything that
ends at an instant ends before anything is dispatched at it.

Source: Anderson et al., SPAA 2005, section 3.2.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from instances.dssp import Instance, Scheduled, Tasks, scheduled
from instances.dssp.tasks import Floats, Ints


class Played(NamedTuple):
    """What a simulation gives.

    Attributes
    ----------
    starts : ndarray of float, shape (tasks,)
        When each task starts; NaN for tasks of jobs that are not run.
    processors : ndarray of int, shape (tasks,)
        Where; -1 for those.
    completion : ndarray of float, shape (jobs,)
        When each job completes; NaN for jobs that are not run.
    """

    starts: Floats
    processors: Ints
    completion: Floats


def play(
    night: Instance, jobs: Ints, *, keys: Floats | None = None, draws: Floats | None = None
) -> Played:
    """Simulate a dispatcher on some jobs, compiled.

    Parameters
    ----------
    night : Instance
        With stages for every job: what happens, whatever was predicted.
    jobs : ndarray of int
        Positions of the jobs to run, in the file's order.
    keys : ndarray of float, shape (jobs,) or (tasks,)
        Of all runnable tasks the one whose job, or which itself, has the least key goes first; the
        file's order decides ties.
    draws : ndarray of float, shape (tasks,)
        In place of keys: numbers in [0, 1) that draw one task after the other.
    """
    from policies.dssp import dispatch_kernels as kernels

    tasks, by_task = _prepared(night, keys)
    order: Any = slice(None)
    if keys is not None and len(keys) > len(night.jobs):
        order = kernels.order_of(keys, tasks.first_task)
    starts = np.full(len(tasks.lengths), np.nan)
    places = np.full(len(tasks.lengths), -1, dtype=np.int64)
    completion = np.full(len(night.jobs), np.nan)
    kernel: Any = kernels.by_draw if by_task is None else kernels.by_key
    choice: Any = draws if by_task is None else by_task[order]
    kernel(
        tasks.lengths[order],
        choice,
        tasks.first_task,
        tasks.first_stage,
        np.asarray(jobs, dtype=np.int64),
        min(night.processors, max(1, len(tasks.lengths))),
        starts,
        places,
        completion,
    )
    played = Played(np.empty_like(starts), np.empty_like(places), completion)
    played.starts[order], played.processors[order] = starts, places
    return played


def play_plainly(
    night: Instance, jobs: Ints, *, keys: Floats | None = None, draws: Floats | None = None
) -> Played:
    """Do the same in plain Python: the definition, which `play` equals to the last bit."""
    tasks, by_task = _prepared(night, keys)
    lengths = tasks.lengths.tolist()
    starts, places = [float("nan")] * len(lengths), [-1] * len(lengths)
    completion = [float("nan")] * len(night.jobs)
    stage, unfinished = tasks.first_stage[:-1].tolist(), [0] * len(night.jobs)
    runnable: list[tuple[float, int, int]] = []  # key, job, task
    pool: list[tuple[int, int]] = []  # task, job
    working: list[tuple[float, int, int]] = []  # end, processor, job
    idle = list(range(min(night.processors, max(1, len(lengths)))))[::-1]
    luck = iter(() if draws is None else draws.tolist())

    def open_stage(job: int) -> None:
        first, end = tasks.first_task[stage[job]], tasks.first_task[stage[job] + 1]
        unfinished[job] = end - first
        for task in range(first, end):
            if by_task is None:
                pool.append((task, job))
            else:
                heappush(runnable, (float(by_task[task]), job, task))

    def take() -> tuple[int, int]:
        if by_task is not None:
            _, job, task = heappop(runnable)
            return task, job
        i = int(next(luck) * len(pool))
        chosen, pool[i] = pool[i], pool[-1]
        pool.pop()
        return chosen

    now = 0.0
    for job in jobs:
        open_stage(int(job))
    while True:
        while idle and (runnable or pool):
            task, job = take()
            starts[task], places[task] = now, idle.pop()
            heappush(working, (now + lengths[task], places[task], job))
        if not working:
            return Played(np.array(starts), np.array(places, dtype=np.int64), np.array(completion))
        now = working[0][0]
        while working and working[0][0] == now:
            _, place, job = heappop(working)
            idle.append(place)
            unfinished[job] -= 1
            if unfinished[job] == 0:
                stage[job] += 1
                if stage[job] == tasks.first_stage[job + 1]:
                    completion[job] = now
                else:
                    open_stage(job)


def _prepared(night: Instance, keys: Floats | None) -> tuple[Tasks, Floats | None]:
    """Return the tasks, and a key for each of them."""
    tasks = night.tasks
    if keys is None or len(keys) == len(tasks.lengths):
        return tasks, keys
    rank = np.empty(len(keys))
    rank[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    return tasks, rank[tasks.job_of]


def schedule_of(night: Instance, jobs: Ints, played: Played, fill: float = 1.0) -> Scheduled:
    """Return the solution record of a simulation of some jobs, chosen under a fill of r."""
    return scheduled(night, jobs.tolist(), played.starts, played.processors, fill)
