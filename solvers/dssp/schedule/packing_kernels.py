"""Packing the last tasks of a horizon into the time that the processors have left.

A non-delay dispatcher wastes time only at the end: some processors end long before the deadline,
others would end after it. From some time on, the remaining tasks are those of each job's last long
stage and of the short stages after it. The time that each processor has left until the deadline is
a bin. Bins are filled in the order of due times: a task goes where it ends closest before its due
time, the longest first (best fit decreasing, Johnson 1973, with bins of several sizes). A task that
fits no bin is exchanged with tasks that do.
"""

from typing import Any, NamedTuple

import numpy as np

from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.compiling import kernel
from schedopt.solvers.dssp.schedule.machine_arrays import MOST_IN_PYTHON
from schedopt.solvers.kernels import last_at_most

Array = Any  # kernels pass numba's own types to each other


class Tail(NamedTuple):
    """The remaining tasks as items, in the order of due times, and a bin for each processor."""

    tasks: Array  # the task of each item, (items,)
    owners: Array  # the job of each item, (items,)
    lengths: Array
    opens: Array  # when each item may start, (items,)
    due: Array  # when each item must end, (items,)
    bins: Array  # the bin of each item, or -1, (items,)
    begin: Array  # when each processor is free, (bins,)
    end: Array  # when the last item of each bin ends, (bins,)
    head: Array  # first item of each bin, (bins,)
    after: Array  # the item that runs next in the bin, (items,)


def _completion_after_exchange(tail: Tail, p: int, less: int, more: int) -> float:
    """Return the end of a bin after an exchange of items (-1: none); infinite if one is late."""
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


def _best_fit(tail: Tail, order: Ints, ends: Floats) -> None:
    """Append each item to the bin where it ends closest before its due time, if it fits."""
    for i in range(len(tail.bins)):
        at = last_at_most(ends, 0, len(ends), tail.due[i] - tail.lengths[i])
        p, now = order[at], max(ends[at], tail.opens[i]) + tail.lengths[i]
        if now > tail.due[i]:
            continue
        _insert_item(tail, i, p)
        while at + 1 < len(ends) and ends[at + 1] < now:
            ends[at], order[at] = ends[at + 1], order[at + 1]
            at += 1
        ends[at], order[at] = now, p


def _widen_bin(tail: Tail, q: int, u: int, span: float, work: Array) -> bool:
    """Exchange items of a bin for shorter ones until item ``u`` fits; return True if it does."""
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
    """Put an item into a bin where it is on time, or into the emptiest bin after exchanges."""
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


@kernel(python_up_to=MOST_IN_PYTHON, size=lambda tail, *_: len(tail.bins))
def pack(
    tail: Tail,
    order: Ints,
    ends: Floats,
    span: float,
    remaining: Ints,
    chosen: Array,
    starts: Floats,
) -> None:
    """Pack items, and fill in the start times of their tasks.

    ``order`` are the bins by the time at which each is free, ``ends`` these times, ``span`` is the
    last due time, and ``remaining`` the number of comparisons for exchanges, shape (1,). A job with
    a task that fits nowhere is removed from ``chosen``.
    """
    _best_fit(tail, order, ends)
    for i in range(len(tail.bins)):
        if tail.bins[i] < 0 and chosen[tail.owners[i]]:
            if remaining[0] > 0:
                _place_item(tail, i, span, remaining)
            chosen[tail.owners[i]] = tail.bins[i] >= 0
    for p in range(len(tail.begin)):
        now, i = tail.begin[p], tail.head[p]
        while i >= 0:
            now = max(now, tail.opens[i])
            starts[tail.tasks[i]] = now
            now += tail.lengths[i]
            i = tail.after[i]
