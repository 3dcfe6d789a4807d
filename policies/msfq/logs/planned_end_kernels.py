"""Running jobs by planned end, compiled: a sorted list."""

from typing import Any, NamedTuple

from schedopt.policies.msfq.logs.event_loop_kernels import (
    RUNNING,
    Log,
    ReplayState,
    add_needs,
    begin,
    fits,
)
from schedopt.solvers.compiling import makes_no_arrays


class PlannedEnds(NamedTuple):
    """Running jobs: when each is planned to end, in that order, and which it is.

    Both arrays are empty where nobody plans.
    """

    ends: Any
    jobs: Any


@makes_no_arrays
def _insertion_place(end: float, job: int, count: int, plan: PlannedEnds) -> Any:
    """Return where the first job is that is not before this one."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if plan.ends[middle] < end or (plan.ends[middle] == end and plan.jobs[middle] < job):
            low = middle + 1
        else:
            high = middle
    return low


@makes_no_arrays
def _shift_up(values: Any, first: int, count: int) -> None:
    """Make room at a place."""
    for step in range(count - first):
        values[count - step] = values[count - step - 1]


@makes_no_arrays
def _shift_down(values: Any, first: int, count: int) -> None:
    """Close the gap at a place."""
    for step in range(count - first - 1):
        values[first + step] = values[first + step + 1]


@makes_no_arrays
def start_planned(now: float, job: int, log: Log, machine: ReplayState, plan: PlannedEnds) -> None:
    """Start a job, and note when it is planned to end, where plans are kept."""
    begin(now, job, log, machine)
    if plan.ends.size:
        end, count = now + log.planned[job], machine.whole[RUNNING] - 1
        place = _insertion_place(end, job, count, plan)
        _shift_up(plan.ends, place, count)
        _shift_up(plan.jobs, place, count)
        plan.ends[place], plan.jobs[place] = end, job


@makes_no_arrays
def forget_planned(job: int, log: Log, machine: ReplayState, plan: PlannedEnds) -> None:
    """Take out a job that has ended."""
    if plan.ends.size:
        end, count = machine.starts[job] + log.planned[job], machine.whole[RUNNING] + 1
        place = _insertion_place(end, job, count, plan)
        _shift_down(plan.ends, place, count)
        _shift_down(plan.jobs, place, count)


@makes_no_arrays
def reserve(job: int, log: Log, machine: ReplayState, over: Any, plan: PlannedEnds) -> Any:
    """Return when a job that does not fit can start by plan; ``over`` takes what it then leaves.

    All that is planned to end at that instant counts.
    """
    for r in range(over.size):
        over[r] = machine.left[r]
    time, i = 0.0, 0
    while i < machine.whole[RUNNING] and (plan.ends[i] == time or not fits(job, log.need, over)):
        time = plan.ends[i]
        add_needs(plan.jobs[i], log.need, over, 1)
        i += 1
    add_needs(job, log.need, over, -1)
    return time
