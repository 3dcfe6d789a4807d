"""The dispatch simulator of `policies.dssp.dispatch`, compiled: the same steps over flat arrays.

By key alone, processors that work are a tournament by (time at which they are idle again,
processor), and jobs with runnable tasks one by (key of their next task, job): see `tournament`.
With releases and seats (`by_key_until`, `by_draw_held`), and where tasks are drawn, they are heaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from schedopt.instances.dssp.tasks import Floats, Ints
from schedopt.solvers.compiling import compiled, njit
from schedopt.solvers.dssp.schedule.tournament import (
    NEVER,
    NOBODY,
    begin,
    comparable,
    leaves_for,
    replay,
    without,
)
from schedopt.solvers.kernels.heap import pop, push, sink

Array = Any  # numba gives its own types to what these kernels hand to one another


def order_of(keys: Floats, first_task: Ints) -> Ints:
    """Return the tasks by stage, each stage's by key, and the file's order on ties.

    All are sorted at once by numpy's unstable sort, which is fastest, and dealt to their stages;
    ties are put in order there.
    """
    order = np.empty(len(keys), np.int64)
    _deal(np.argsort(keys), first_task, order)
    _settle(keys, first_task, order)
    return order


@njit(cache=True, nogil=True)
def _deal(by_key: Ints, first_task: Ints, order: Ints) -> None:
    """Fill in the order by stage of tasks in order."""
    stage_of = np.empty(len(by_key), np.int32)
    for s in range(len(first_task) - 1):
        stage_of[first_task[s] : first_task[s + 1]] = s
    free = first_task[:-1].copy()
    for task in by_key:
        s = stage_of[task]
        order[free[s]] = task
        free[s] += 1


@njit(cache=True, nogil=True)
def _settle(keys: Floats, first_task: Ints, order: Ints) -> None:
    """Put the tasks of a stage that have one key in the file's order."""
    for s in range(len(first_task) - 1):
        start, end = first_task[s], first_task[s + 1]
        for i in range(start + 1, end + 1):
            if i == end or keys[order[i]] != keys[order[start]]:
                _sort(order, start, i)
                start = i


@njit(cache=True, nogil=True)
def _sort(numbers: Ints, start: int, end: int) -> None:
    """Sort a part of an array by Shell's method, which compiles in a moment; numpy's does not."""
    gap = 1
    while 3 * gap < end - start:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, end):
            number, at = numbers[i], i
            while at >= start + gap and numbers[at - gap] > number:
                numbers[at] = numbers[at - gap]
                at -= gap
            numbers[at] = number
        gap //= 3


@njit(cache=True, nogil=True)
def by_key(
    lengths: Floats,
    keys: Floats,
    first_task: Ints,
    first_stage: Ints,
    jobs: Ints,
    processors: int,
    starts: Floats,
    places: Ints,
    completion: Floats,
) -> None:
    """Simulate a dispatcher that always takes the runnable task of the least key.

    Tasks are in the order in which their stage hands them out, with keys that never fall within a
    stage. `starts`, `places` and `completion` are filled in for the jobs that are run.
    """
    count = len(first_stage) - 1
    stage = first_stage[:-1].copy()
    upcoming, unfinished = np.zeros(count, np.int64), np.zeros(count, np.int64)
    after, until = np.zeros(count, np.int64), np.zeros(count, np.int64)
    numbers = comparable(keys)
    half = leaves_for(count)
    best, who = np.full(2 * half, NOBODY), np.zeros(2 * half, np.int64)
    for j in jobs:
        upcoming[j] = first_task[stage[j]]
        until[j] = first_task[stage[j] + 1]
        unfinished[j] = until[j] - upcoming[j]
        best[half + j] = numbers[upcoming[j]]
        after[j] = _following(numbers, upcoming[j], until[j])
    begin(best, who)
    times = np.full(2 * leaves_for(processors), np.inf)
    ends, worker = times.view(np.int64), np.zeros(len(times), np.int64)
    begin(ends, worker)
    _play(
        lengths, numbers, first_task, first_stage, starts, places, completion, stage, upcoming,
        after, until, unfinished, best, who, times, ends, worker, np.arange(processors - 1, -1, -1),
        np.zeros(processors, np.int64),
    )  # fmt: skip


@compiled
def _following(numbers: Ints, task: int, until: int) -> int:
    """Return the number of the task after one, or that of nobody after a stage's last."""
    return numbers[task + 1] if task + 1 < until else NOBODY


@compiled
def _play(
    lengths: Floats, numbers: Ints, first_task: Ints, first_stage: Ints, starts: Floats,
    places: Ints, completion: Floats, stage: Ints, upcoming: Ints, after: Ints,
    until: Ints, unfinished: Ints, best: Ints, who: Ints, times: Floats, ends: Ints, worker: Ints,
    idle: Ints, works_on: Ints,
) -> None:  # fmt: skip
    """Play to the end: `best` and `who` of the jobs, `ends` (the bits of `times`) of processors.

    Of each job's upcoming task `after` has the next one's number, and `until` the end of its stage:
    a number that is fetched when the task before it starts is there when it is needed.

    A processor that falls idle while a task waits for it gets one at the same instant, unless
    another falls idle with it: so its matches are played once, with the time at which it is idle
    next.
    """
    half, free = len(times) >> 1, len(idle)
    now = 0.0
    while True:
        while free > 0 and best[1] != NOBODY:
            j = who[1]
            task = upcoming[j]
            if after[j] != best[1]:
                replay(best, who, j, after[j])
            upcoming[j] = task + 1
            after[j] = _following(numbers, task + 1, until[j])
            free -= 1
            place = idle[free]
            starts[task], places[task] = now, place
            works_on[place] = j
            times[half + place] = now + lengths[task]
            replay(ends, worker, place, ends[half + place])
        if free == len(idle):
            return
        now, at = times[1], ends[1]
        following = at
        while following == at:
            place = worker[1]
            following = without(ends, place)
            if following == at or best[1] == NOBODY:
                replay(ends, worker, place, NEVER)
            idle[free] = place
            free += 1
            j = works_on[place]
            unfinished[j] -= 1
            if unfinished[j] == 0:
                stage[j] += 1
                if stage[j] == first_stage[j + 1]:
                    completion[j] = now
                else:
                    upcoming[j] = first_task[stage[j]]
                    until[j] = first_task[stage[j] + 1]
                    unfinished[j] = until[j] - upcoming[j]
                    after[j] = _following(numbers, upcoming[j], until[j])
                    replay(best, who, j, numbers[upcoming[j]])


@njit(cache=True, nogil=True)
def by_draw(
    lengths: Floats,
    draws: Floats,
    first_task: Ints,
    first_stage: Ints,
    jobs: Ints,
    processors: int,
    starts: Floats,
    places: Ints,
    completion: Floats,
) -> None:
    """Simulate a dispatcher that draws each task from the pool of runnable ones."""
    count = len(first_stage) - 1
    stage = first_stage[:-1].copy()
    unfinished = np.zeros(count, np.int64)
    pool, owner, waiting = np.empty(len(lengths), np.int64), np.empty(len(lengths), np.int64), 0
    ends, workers, busy = np.empty(processors), np.empty(processors, np.int64), 0
    works_on = np.empty(processors, np.int64)
    idle = np.arange(processors - 1, -1, -1)
    free = processors
    now = 0.0
    drawn = 0
    for j in jobs:
        unfinished[j] = first_task[stage[j] + 1] - first_task[stage[j]]
        for task in range(first_task[stage[j]], first_task[stage[j] + 1]):
            pool[waiting], owner[waiting] = task, j
            waiting += 1
    while True:
        while free > 0 and waiting > 0:
            i = int(draws[drawn] * waiting)
            drawn += 1
            task, j = pool[i], owner[i]
            waiting -= 1
            pool[i], owner[i] = pool[waiting], owner[waiting]
            free -= 1
            place = idle[free]
            starts[task], places[task] = now, place
            works_on[place] = j
            busy = push(ends, workers, busy, now + lengths[task], place)
        if busy == 0:
            return
        now = ends[0]
        while busy > 0 and ends[0] == now:
            place = workers[0]
            busy = pop(ends, workers, busy)
            idle[free] = place
            free += 1
            j = works_on[place]
            unfinished[j] -= 1
            if unfinished[j] == 0:
                stage[j] += 1
                if stage[j] == first_stage[j + 1]:
                    completion[j] = now
                else:
                    unfinished[j] = first_task[stage[j] + 1] - first_task[stage[j]]
                    for task in range(first_task[stage[j]], first_task[stage[j] + 1]):
                        pool[waiting], owner[waiting] = task, j
                        waiting += 1


@compiled
def _seated(use: Array, left: Array, j: int) -> bool:
    """Tell whether a task of a job finds the seats that it holds."""
    for k in range(len(left)):  # noqa: SIM110 - compiled as it stands
        if use[k, j] > left[k]:
            return False
    return True


@compiled
def _hold(use: Array, left: Array, j: int, sign: int) -> bool:
    """Take the seats of a task of a job, or with -1 give them back; tell whether it has any."""
    some = False
    for k in range(len(left)):
        left[k] -= sign * use[k, j]
        some = some or use[k, j] > 0
    return some


@compiled
def _without(
    ready_keys: Array, ready_jobs: Array, ready: int, keys: Array, task: int, last: bool
) -> int:
    """Take the first job's task out of those that are ready, and return how many jobs are left."""
    if last:
        return pop(ready_keys, ready_jobs, ready)
    if keys[task + 1] != keys[task]:
        sink(ready_keys, ready_jobs, ready, keys[task + 1], ready_jobs[0])
    return ready


@compiled
def _next(ends: Array, busy: int, releases: Array, jobs: Array, coming: int) -> float:
    """Return when a task ends or a job is released next; one of the two does."""
    release = np.inf if coming == len(jobs) else releases[jobs[coming]]
    return min(release, ends[0]) if busy > 0 else release


@compiled
def _goes_on(
    j: int,
    now: float,
    stage: Array,
    unfinished: Array,
    first_task: Array,
    first_stage: Array,
    completion: Array,
) -> bool:
    """Note that a task of a job has ended, and tell whether that opens the job's next stage."""
    unfinished[j] -= 1
    if unfinished[j] > 0:
        return False
    stage[j] += 1
    if stage[j] == first_stage[j + 1]:
        completion[j] = now
        return False
    unfinished[j] = first_task[stage[j] + 1] - first_task[stage[j]]
    return True


@njit(cache=True, nogil=True)
def by_key_until(
    lengths: Floats,
    keys: Floats,
    first_task: Ints,
    first_stage: Ints,
    jobs: Ints,
    processors: int,
    releases: Floats,
    capacity: Ints,
    use: Ints,
    starts: Floats,
    places: Ints,
    completion: Floats,
    until: float,
    main: Ints,
) -> Floats:
    """Simulate a dispatcher that takes the runnable task of the least key that finds its seats.

    It ends at the first event from `until` on at which only tasks of each job's `main` stage and
    of those after it are left to start; with infinity, when all is done.

    Beyond what `by_key` takes: `jobs` by release, `releases` of shape (jobs,), `capacity` of shape
    (kinds,), `use` of shape (kinds, jobs), nowhere above the capacity, and `main` of shape (jobs,).
    Returns when each processor is free.
    """
    count = len(first_stage) - 1
    stage = first_stage[:-1].copy()
    upcoming, unfinished = np.zeros(count, np.int64), np.zeros(count, np.int64)
    ready_keys, ready_jobs, ready = np.empty(count), np.empty(count, np.int64), 0
    parked, aside = np.empty(count, np.int64), 0
    ends, workers, busy = np.empty(processors), np.empty(processors, np.int64), 0
    works_on = np.empty(processors, np.int64)
    idle, free = np.arange(processors - 1, -1, -1), processors
    left, now, coming, early = capacity.copy(), 0.0, 0, 0
    for j in jobs:
        early += first_task[main[j]] - first_task[first_stage[j]]
    while now < until or early > 0:
        while coming < len(jobs) and releases[jobs[coming]] <= now:
            j, coming = jobs[coming], coming + 1
            upcoming[j] = first_task[stage[j]]
            unfinished[j] = first_task[stage[j] + 1] - upcoming[j]
            ready = push(ready_keys, ready_jobs, ready, keys[upcoming[j]], j)
        while free > 0 and ready > 0 and (now < until or early > 0):
            j = ready_jobs[0]
            if not _seated(use, left, j):  # nor will it before a seat is free again
                parked[aside], aside = j, aside + 1
                ready = pop(ready_keys, ready_jobs, ready)
                continue
            _hold(use, left, j, 1)
            task = upcoming[j]
            upcoming[j] = task + 1
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
            freed = _hold(use, left, j, -1) or freed
            if _goes_on(j, now, stage, unfinished, first_task, first_stage, completion):
                upcoming[j] = first_task[stage[j]]
                ready = push(ready_keys, ready_jobs, ready, keys[upcoming[j]], j)
        if freed:
            for j in parked[:aside]:
                ready = push(ready_keys, ready_jobs, ready, keys[upcoming[j]], j)
            aside = 0
    begin = np.full(processors, now)
    begin[workers[:busy]] = ends[:busy]
    return begin


@njit(cache=True, nogil=True)
def by_draw_held(
    lengths: Floats,
    draws: Floats,
    first_task: Ints,
    first_stage: Ints,
    jobs: Ints,
    processors: int,
    releases: Floats,
    capacity: Ints,
    use: Ints,
    starts: Floats,
    places: Ints,
    completion: Floats,
) -> None:
    """Simulate a dispatcher that draws each task from the runnable ones that find their seats."""
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
            i = _drawn(draws, drawn, owner, waiting, use, left)
            if i < 0:
                break
            drawn += 1
            task, j = pool[i], owner[i]
            waiting -= 1
            pool[i], owner[i] = pool[waiting], owner[waiting]
            _hold(use, left, j, 1)
            free -= 1
            starts[task], places[task], works_on[idle[free]] = now, idle[free], j
            busy = push(ends, workers, busy, now + lengths[task], idle[free])
        if busy == 0 and coming == len(jobs):
            return
        now = _next(ends, busy, releases, jobs, coming)
        while busy > 0 and ends[0] == now:
            idle[free] = workers[0]
            busy = pop(ends, workers, busy)
            j = works_on[idle[free]]
            free += 1
            _hold(use, left, j, -1)
            if _goes_on(j, now, stage, unfinished, first_task, first_stage, completion):
                for task in range(first_task[stage[j]], first_task[stage[j] + 1]):
                    pool[waiting], owner[waiting] = task, j
                    waiting += 1


@compiled
def _drawn(draws: Array, drawn: int, owner: Array, waiting: int, use: Array, left: Array) -> int:
    """Return where in the pool the next task is, drawn from those that find seats; -1: none."""
    if len(left) == 0:
        return int(draws[drawn] * waiting)
    able = 0
    for i in range(waiting):
        if _seated(use, left, owner[i]):
            able += 1
    if able == 0:
        return -1
    skip = int(draws[drawn] * able)
    for i in range(waiting):
        if _seated(use, left, owner[i]):
            if skip == 0:
                return i
            skip -= 1
    return -1
