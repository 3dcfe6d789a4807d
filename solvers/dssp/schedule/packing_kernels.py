"""Compiled: dispatch until few stages are left to start, then pack their tasks.

A dispatcher that never idles wastes nothing until its last tasks, and there much: some processors
end long before the deadline, others would end after it. From some time on the tasks that are left
are those of each job's last long stage and of short stages after it, which are put where they can
just be in time. What each processor has left until the deadline is a bin of its own, filled in the
order of due times: a task goes where it ends nearest to when it is due, the longest first (best
fit decreasing, as in Johnson 1973, with bins of several sizes), and what finds no bin is exchanged
against what has one.
"""

from typing import Any, NamedTuple

import numpy as np

from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.compiling import kernel
from schedopt.solvers.dssp.schedule.dispatch_kernels import Dispatch, Record, by_key
from schedopt.solvers.dssp.schedule.machine_arrays import MOST_IN_PYTHON

Array = Any  # numba gives its own types to what these kernels hand to one another


class Due(NamedTuple):
    """When tasks are due, and what they are worth."""

    main: Ints  # the stage of each job from which on tasks are packed, (jobs,)
    by_due: Ints  # the tasks from these stages on, in the order in which they are due
    due: Floats  # (tasks,)
    latest: Floats  # by when each stage must open, (stages,)
    stage_of: Ints  # (tasks,)
    job_of: Ints  # (tasks,)


class Tail(NamedTuple):
    """What is left to pack: items in the order of due times, bins of one processor each."""

    tasks: Array  # of each item, (items,)
    owners: Array  # the jobs of these, (items,)
    lengths: Array
    opens: Array  # when each item may start, (items,)
    due: Array  # when each must end, (items,)
    bins: Array  # where each item is; -1: nowhere, (items,)
    begin: Array  # when each processor is free, (bins,)
    end: Array  # when it has done what the bin holds, (bins,)
    head: Array  # first item of each bin, (bins,)
    after: Array  # the item that runs next in the bin, (items,)


def _unstarted_tasks(
    of: Dispatch, known: Due, chosen: Array, starts: Floats, begin: Floats
) -> Tail:
    """Return what is left to pack: the tasks of `by_due` of chosen jobs that did not start.

    A stage opens when the one before has ended, if all of its tasks have started; else at the
    latest time at which it must, by which they must have ended.
    """
    _, by_due, due, latest, stage_of, job_of = known
    lengths, first_task, first_stage = of.lengths, of.first_task, of.first_stage
    tasks, count = np.empty(len(by_due), np.int64), 0
    for task in by_due:
        if chosen[job_of[task]] and starts[task] == np.inf:
            tasks[count], count = task, count + 1
    tasks = tasks[:count].copy()
    opened, opens = np.full(len(first_task) - 1, -1.0), np.empty(count)
    for i in range(count):
        s = stage_of[tasks[i]]
        if opened[s] < 0.0:
            opened[s] = 0.0
            if s > first_stage[job_of[tasks[i]]]:
                for task in range(first_task[s - 1], first_task[s]):
                    opened[s] = max(opened[s], starts[task] + lengths[task])
                if opened[s] == np.inf:
                    opened[s] = latest[s]
        opens[i] = opened[s]
    bins, after = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    head = np.full(len(begin), -1, np.int64)
    sizes = lengths[tasks]
    return Tail(
        tasks, job_of[tasks], sizes, opens, due[tasks], bins, begin, begin.copy(), head, after
    )


def _completion_after_exchange(tail: Tail, p: int, less: int, more: int) -> float:
    """Return when a bin completes with one item for another (-1: none); infinite if late."""
    now, i = tail.begin[p], tail.head[p]
    while i >= 0 or more >= 0:
        if more >= 0 and (i < 0 or more < i):
            at, more = more, -1
        else:
            at, i = i, tail.after[i]
            if at == less:
                continue
        now = max(now, tail.opens[at]) + tail.lengths[at]
        if now > tail.due[at]:
            return float(np.inf)
    return float(now)


def _insert_item(tail: Tail, i: int, p: int) -> None:
    """Put an item into a bin."""
    at, before = tail.head[p], -1
    while at >= 0 and at < i:
        before, at = at, tail.after[at]
    tail.after[i], tail.bins[i] = at, p
    if before < 0:
        tail.head[p] = i
    else:
        tail.after[before] = i
    tail.end[p] = _completion_after_exchange(tail, p, -1, -1)


def _remove_item(tail: Tail, i: int) -> None:
    """Take an item out of its bin."""
    p = tail.bins[i]
    if tail.head[p] == i:
        tail.head[p] = tail.after[i]
    else:
        at = tail.head[p]
        while tail.after[at] != i:
            at = tail.after[at]
        tail.after[at] = tail.after[i]
    tail.bins[i] = -1
    tail.end[p] = _completion_after_exchange(tail, p, -1, -1)


def _best_fit(tail: Tail) -> None:
    """Append each item where it ends closest before its due time, if it fits anywhere."""
    order = np.argsort(tail.end, kind="mergesort")
    ends = tail.end[order]
    for i in range(len(tail.bins)):
        at = np.searchsorted(ends, tail.due[i] - tail.lengths[i], side="right") - 1
        p, now = order[at], max(ends[at], tail.opens[i]) + tail.lengths[i]
        if at < 0 or now > tail.due[i]:
            continue
        _insert_item(tail, i, p)
        while at + 1 < len(ends) and ends[at + 1] < now:
            ends[at], order[at] = ends[at + 1], order[at + 1]
            at += 1
        ends[at], order[at] = now, p


def _widen_bin(tail: Tail, q: int, u: int, span: float, work: Array) -> bool:
    """Exchange items of a bin for shorter ones of others until it takes one more, if it can."""
    while _completion_after_exchange(tail, q, -1, u) == np.inf:
        gain, one, other = 1e-9 * span, -1, -1
        k = tail.head[q]
        while k >= 0:
            work[0] -= len(tail.bins)
            for i in range(len(tail.bins)):
                p, d = tail.bins[i], tail.lengths[k] - tail.lengths[i]
                if d > gain and p >= 0 and p != q and tail.end[p] + d <= span:
                    work[0] -= 16
                    if (
                        _completion_after_exchange(tail, p, i, k) < np.inf
                        and _completion_after_exchange(tail, q, k, i) < np.inf
                    ):
                        gain, one, other = d, k, i
            k = tail.after[k]
        if one < 0 or work[0] < 0:
            return False
        p = tail.bins[other]
        _remove_item(tail, one)
        _remove_item(tail, other)
        _insert_item(tail, one, p)
        _insert_item(tail, other, q)
    return True


def _place_item(tail: Tail, u: int, span: float, work: Array) -> None:
    """Put an item where it can be in time, or into the emptiest bin once that is widened."""
    room, q = 0.0, 0
    for p in range(len(tail.end)):
        if tail.end[p] + tail.lengths[u] <= span:
            work[0] -= 8
            if _completion_after_exchange(tail, p, -1, u) < np.inf:
                _insert_item(tail, u, p)
                return
        room += max(0.0, span - tail.end[p])
        if tail.end[p] < tail.end[q]:
            q = p
    work[0] -= len(tail.end)
    if room >= tail.lengths[u] and _widen_bin(tail, q, u, span, work):
        _insert_item(tail, u, q)


@kernel(python_up_to=MOST_IN_PYTHON, size=lambda of, *_: len(of.lengths))
def dispatch_and_pack(
    of: Dispatch,
    known: Due,
    keys: Floats,
    jobs: Ints,
    record: Record,
    until: float,
    effort: int,
) -> None:
    """Dispatch by least key until a time, then pack what is left; fill in when tasks start.

    There are no releases and no seats. `effort` is how many comparisons mending may take. A job is
    given up, and has no completion, where one of its tasks finds no place.
    """
    lengths, first, starts, completion = of.lengths, of.first_task, record.starts, record.completion
    starts[:] = np.inf
    begin = by_key(of, keys, jobs, record, until, known.main)
    chosen = np.zeros(len(completion), np.bool_)
    chosen[jobs] = True
    tail = _unstarted_tasks(of, known, chosen, starts, begin)
    _best_fit(tail)
    work, span = np.array([effort]), known.due.max()
    for i in range(len(tail.bins)):
        if tail.bins[i] < 0 and chosen[tail.owners[i]]:
            if work[0] > 0:
                _place_item(tail, i, span, work)
            chosen[tail.owners[i]] = tail.bins[i] >= 0
    for p in range(len(begin)):
        now, i = begin[p], tail.head[p]
        while i >= 0:
            now = max(now, tail.opens[i])
            starts[tail.tasks[i]] = now
            now += tail.lengths[i]
            i = tail.after[i]
    for j in jobs:
        completion[j] = np.nan
        if chosen[j]:
            end = 0.0
            for task in range(first[of.first_stage[j]], first[of.first_stage[j + 1]]):
                end = max(end, starts[task] + lengths[task])
            completion[j] = end
