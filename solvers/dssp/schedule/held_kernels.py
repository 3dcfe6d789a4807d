"""The dispatch simulator of any keys or draws, with releases and seats: the same over flat arrays.

By keys without either `dispatch_kernels` is faster, since it knows neither.
"""

from typing import Any

import numpy as np

from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.compiling import compiled, njit, small
from schedopt.solvers.dssp.schedule.dispatch_kernels import SMALL, Dispatch, Record, by_key
from schedopt.solvers.kernels.heap import pop, push, sink

Array = Any  # numba gives its own types to what these kernels hand to one another


@compiled
def _seated(use: Array, left: Array, j: int) -> bool:
    """Tell whether a task of a job finds the seats that it holds."""
    for k in range(len(left)):  # noqa: SIM110 - compiled as it stands
        if use[k, j] > left[k]:
            return False
    return True


@compiled
def _hold(left: Array, use: Array, j: int, tasks: int) -> bool:
    """Take or return the seats of so many tasks of a job; tell whether the job needs seats."""
    some = False
    for k in range(len(left)):
        left[k] -= tasks * use[k, j]
        some = some or use[k, j] > 0
    return some


@compiled
def _without(
    ready_keys: Array, ready_jobs: Array, ready: int, keys: Array, task: int, last: bool
) -> int:
    """Take the first job's task out of those that are ready, and return how many jobs are left."""
    if last:
        return int(pop(ready_keys, ready_jobs, ready))
    if keys[task + 1] != keys[task]:
        sink(ready_keys, ready_jobs, ready, keys[task + 1], ready_jobs[0])
    return ready


@compiled
def _next(ends: Array, busy: int, releases: Array, jobs: Array, coming: int) -> float:
    """Return the time of the next event: a task ends or a job is released."""
    release = np.inf if coming == len(jobs) else releases[jobs[coming]]
    return min(release, ends[0]) if busy > 0 else release


@compiled
def _goes_on(
    of: Dispatch, j: int, now: float, stage: Array, unfinished: Array, completion: Array
) -> bool:
    """Note that a task of a job has ended, and tell whether that opens the job's next stage."""
    unfinished[j] -= 1
    if unfinished[j] > 0:
        return False
    stage[j] += 1
    if stage[j] == of.first_stage[j + 1]:
        completion[j] = now
        return False
    unfinished[j] = of.first_task[stage[j] + 1] - of.first_task[stage[j]]
    return True


def by_least_key(of: Dispatch, keys: Floats, jobs: Ints, record: Record) -> None:
    """Simulate a dispatcher by the kernel that suits the jobs, given in any order."""
    if len(of.capacity) or (of.releases[jobs] > 0).any():
        by_release = jobs[np.argsort(of.releases[jobs], kind="stable")]
        by_key_until(of, keys, by_release, record, np.inf, of.first_stage)
    else:
        by_key(of, keys, jobs, record)


@njit(cache=True, nogil=True, plain=small(SMALL, 4))
def by_key_until(
    of: Dispatch, keys: Floats, jobs: Ints, record: Record, until: float, main: Ints
) -> Floats:
    """Simulate a dispatcher that takes the runnable task of the least key that finds its seats.

    It ends at the first event from `until` on at which only tasks of each job's `main` stage,
    shape (jobs,), and of those after it are left to start; with infinity, when all is done.
    `jobs` are by release. Returns when each processor is free.
    """
    lengths, first_task, first_stage, processors, releases, capacity, use = of
    starts, places, completion = record
    count = len(first_stage) - 1
    stage, upcoming = first_stage[:-1].copy(), first_task[first_stage[:-1]]
    unfinished, works_on = np.zeros(count, np.int64), np.empty(processors, np.int64)
    ready_keys, ready_jobs, ready = np.empty(count), np.empty(count, np.int64), 0
    parked, aside = np.empty(count, np.int64), 0
    ends, workers, busy = np.empty(processors), np.empty(processors, np.int64), 0
    idle, free, left = np.arange(processors - 1, -1, -1), processors, capacity.copy()
    now, coming, early = 0.0, 0, (first_task[main[jobs]] - first_task[first_stage[jobs]]).sum()
    while now < until or early > 0:
        while coming < len(jobs) and releases[jobs[coming]] <= now:
            j, coming = jobs[coming], coming + 1
            unfinished[j] = first_task[stage[j] + 1] - upcoming[j]
            ready = push(ready_keys, ready_jobs, ready, keys[upcoming[j]], j)
        while free > 0 and ready > 0 and (now < until or early > 0):
            j = ready_jobs[0]
            if not _seated(use, left, j):  # nor will it before a seat is free again
                parked[aside], aside = j, aside + 1
                ready = pop(ready_keys, ready_jobs, ready)
                continue
            _hold(left, use, j, 1)
            task, upcoming[j] = upcoming[j], upcoming[j] + 1
            early -= stage[j] < main[j]
            last = task + 1 == first_task[stage[j] + 1]
            ready = _without(ready_keys, ready_jobs, ready, keys, task, last)
            free -= 1
            starts[task], places[task], works_on[idle[free]] = now, idle[free], j
            busy = push(ends, workers, busy, now + lengths[task], idle[free])
        if busy == 0 and coming == len(jobs):
            break
        now, freed = _next(ends, busy, releases, jobs, coming), False
        while busy > 0 and ends[0] == now:
            idle[free], j, free = workers[0], works_on[workers[0]], free + 1
            busy = pop(ends, workers, busy)
            freed = _hold(left, use, j, -1) or freed
            if _goes_on(of, j, now, stage, unfinished, completion):
                upcoming[j] = first_task[stage[j]]
                ready = push(ready_keys, ready_jobs, ready, keys[upcoming[j]], j)
        if freed:
            for j in parked[:aside]:
                ready = push(ready_keys, ready_jobs, ready, keys[upcoming[j]], j)
            aside = 0
    idle_from = np.full(processors, now)
    idle_from[workers[:busy]] = ends[:busy]
    return idle_from


@njit(cache=True, nogil=True, plain=small(SMALL, 4))
def by_draw(of: Dispatch, draws: Floats, jobs: Ints, record: Record) -> None:
    """Simulate a dispatcher that draws each task from the runnable ones that find their seats.

    `jobs` are by release.
    """
    lengths, first_task, first_stage, processors, releases, capacity, use = of
    starts, places, completion = record
    count = len(first_stage) - 1
    stage = first_stage[:-1].copy()
    unfinished = np.zeros(count, np.int64)
    pool, owner, waiting = np.empty(len(lengths), np.int64), np.empty(len(lengths), np.int64), 0
    ends, workers, busy = np.empty(processors), np.empty(processors, np.int64), 0
    works_on = np.empty(processors, np.int64)
    idle, free = np.arange(processors - 1, -1, -1), processors
    left = capacity.copy()
    now, coming, drawn = 0.0, 0, 0
    while True:
        while coming < len(jobs) and releases[jobs[coming]] <= now:
            j = jobs[coming]
            coming += 1
            unfinished[j] = first_task[stage[j] + 1] - first_task[stage[j]]
            for task in range(first_task[stage[j]], first_task[stage[j] + 1]):
                pool[waiting], owner[waiting] = task, j
                waiting += 1
        while free > 0 and waiting > 0:
            i = int(draws[drawn] * waiting)
            if len(left):
                i = _drawn(draws[drawn], owner, waiting, use, left)
            if i < 0:
                break
            drawn += 1
            task, j = pool[i], owner[i]
            waiting -= 1
            pool[i], owner[i] = pool[waiting], owner[waiting]
            _hold(left, use, j, 1)
            free -= 1
            place = idle[free]
            starts[task], places[task], works_on[place] = now, place, j
            busy = push(ends, workers, busy, now + lengths[task], place)
        if busy == 0 and coming == len(jobs):
            return
        now = _next(ends, busy, releases, jobs, coming)
        while busy > 0 and ends[0] == now:
            place = workers[0]
            busy = pop(ends, workers, busy)
            idle[free], j, free = place, works_on[place], free + 1
            _hold(left, use, j, -1)
            if _goes_on(of, j, now, stage, unfinished, completion):
                for task in range(first_task[stage[j]], first_task[stage[j] + 1]):
                    pool[waiting], owner[waiting] = task, j
                    waiting += 1


@compiled
def _drawn(draw: float, owner: Array, waiting: int, use: Array, left: Array) -> int:
    """Return where in the pool the next task is, drawn from those that find seats; -1: none."""
    able = 0
    for i in range(waiting):
        if _seated(use, left, owner[i]):
            able += 1
    if able == 0:
        return -1
    skip = int(draw * able)
    for i in range(waiting):
        if _seated(use, left, owner[i]):
            if skip == 0:
                return i
            skip -= 1
    return -1
