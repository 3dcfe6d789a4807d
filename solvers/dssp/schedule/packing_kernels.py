"""Packing the last tasks of a horizon into the time that the processors have left.

A non-delay dispatcher wastes time only at the end: some processors end long before the deadline,
others would end after it. From some time on, the remaining tasks are those of each job's last long
stage and of the short stages after it. The time that each processor has left until the deadline is
a bin. Bins are filled in the order of due times: a task goes where it ends closest before its due
time, the longest first (best fit decreasing, Johnson 1973, with bins of several sizes).
"""

from typing import Any, NamedTuple

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
    head: Array  # first item of each bin, (bins,)
    after: Array  # the item that runs next in the bin, (items,)


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


@kernel(python_up_to=MOST_IN_PYTHON, size=lambda tail, *_: len(tail.bins))
def pack(tail: Tail, order: Ints, ends: Floats, chosen: Array, starts: Floats) -> None:
    """Pack items, and fill in the start times of their tasks.

    ``order`` are the bins by the time at which each is free, ``ends`` these times. A job with a
    task that fits nowhere is removed from ``chosen``.
    """
    _best_fit(tail, order, ends)
    for i in range(len(tail.bins)):
        if tail.bins[i] < 0:
            chosen[tail.owners[i]] = False
    for p in range(len(tail.begin)):
        now, i = tail.begin[p], tail.head[p]
        while i >= 0:
            now = max(now, tail.opens[i])
            starts[tail.tasks[i]] = now
            now += tail.lengths[i]
            i = tail.after[i]
