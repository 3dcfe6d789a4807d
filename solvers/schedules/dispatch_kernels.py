"""The dispatch simulator of `policies.dssp.dispatch`, compiled: the same steps over flat arrays.

Processors that work are a binary heap by (time of release, processor); jobs with runnable tasks are
a binary heap by (key of their next task, job).
"""

from __future__ import annotations

import numpy as np

from instances.dssp.tasks import Floats, Ints
from solvers.compiling import njit


@njit(cache=True, inline="always")
def _before(a: float, i: int, b: float, j: int) -> bool:
    return a < b or (a == b and i < j)


@njit(cache=True, nogil=True)
def _push(keys: Floats, items: Ints, size: int, key: float, item: int) -> int:
    """Add an item, and return the new size."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if not _before(key, item, keys[up], items[up]):
            break
        keys[at], items[at] = keys[up], items[up]
        at = up
    keys[at], items[at] = key, item
    return size + 1


@njit(cache=True, nogil=True)
def _sink(keys: Floats, items: Ints, size: int, key: float, item: int) -> None:
    """Put an item in place of the first, which is gone."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and _before(keys[other], items[other], keys[child], items[child]):
            child = other
        if not _before(keys[child], items[child], key, item):
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item


@njit(cache=True, nogil=True)
def _drop(keys: Floats, items: Ints, size: int) -> int:
    """Take the first item out, and return the new size.

    The hole sinks to a leaf before the last item fills it: that one mostly belongs near a leaf.
    """
    size -= 1
    if size == 0:
        return 0
    key, item = keys[size], items[size]
    at = 0
    child = 1
    while child < size:
        other = child + 1
        if other < size and _before(keys[other], items[other], keys[child], items[child]):
            child = other
        keys[at], items[at] = keys[child], items[child]
        at = child
        child = 2 * at + 1
    while at > 0:
        up = (at - 1) >> 1
        if not _before(key, item, keys[up], items[up]):
            break
        keys[at], items[at] = keys[up], items[up]
        at = up
    keys[at], items[at] = key, item
    return size


@njit(cache=True, nogil=True)
def order_of(keys: Floats, first_task: Ints) -> Ints:
    """Return the tasks by stage, each stage's by key, and the file's order on ties."""
    order = np.empty(len(keys), np.int64)
    for s in range(len(first_task) - 1):
        first, end = first_task[s], first_task[s + 1]
        order[first:end] = first + np.argsort(keys[first:end], kind="mergesort")
    return order


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
    upcoming = np.zeros(count, np.int64)
    unfinished = np.zeros(count, np.int64)
    ready_keys, ready_jobs, ready = np.empty(count), np.empty(count, np.int64), 0
    ends, workers, busy = np.empty(processors), np.empty(processors, np.int64), 0
    works_on = np.empty(processors, np.int64)
    idle = np.arange(processors - 1, -1, -1)
    free = processors
    now = 0.0
    for j in jobs:
        upcoming[j] = first_task[stage[j]]
        unfinished[j] = first_task[stage[j] + 1] - first_task[stage[j]]
        ready = _push(ready_keys, ready_jobs, ready, keys[upcoming[j]], j)
    while True:
        while free > 0 and ready > 0:
            j = ready_jobs[0]
            task = upcoming[j]
            upcoming[j] = task + 1
            if task + 1 == first_task[stage[j] + 1]:
                ready = _drop(ready_keys, ready_jobs, ready)
            elif keys[task + 1] != keys[task]:
                _sink(ready_keys, ready_jobs, ready, keys[task + 1], j)
            free -= 1
            place = idle[free]
            starts[task], places[task] = now, place
            works_on[place] = j
            busy = _push(ends, workers, busy, now + lengths[task], place)
        if busy == 0:
            return
        now = ends[0]
        while busy > 0 and ends[0] == now:
            place = workers[0]
            busy = _drop(ends, workers, busy)
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
                    unfinished[j] = first_task[stage[j] + 1] - first_task[stage[j]]
                    ready = _push(ready_keys, ready_jobs, ready, keys[upcoming[j]], j)


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
            busy = _push(ends, workers, busy, now + lengths[task], place)
        if busy == 0:
            return
        now = ends[0]
        while busy > 0 and ends[0] == now:
            place = workers[0]
            busy = _drop(ends, workers, busy)
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
