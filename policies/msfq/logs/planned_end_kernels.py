"""The running jobs by planned end, as a sorted list, compiled."""

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
    """The planned ends of running jobs, ascending, and the jobs.

    Both arrays are empty where the discipline does not use planned ends.
    """

    ends: Any
    jobs: Any


@makes_no_arrays
def _insertion_place(end: float, job: int, count: int, plan: PlannedEnds) -> Any:
    """Return the first place whose job is not before a job with this end."""
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
    """Start a job, and insert its planned end."""
    begin(now, job, log, machine)
    if plan.ends.size:
        end, count = now + log.planned[job], machine.whole[RUNNING] - 1
        place = _insertion_place(end, job, count, plan)
        _shift_up(plan.ends, place, count)
        _shift_up(plan.jobs, place, count)
        plan.ends[place], plan.jobs[place] = end, job


@makes_no_arrays
def forget_planned(job: int, log: Log, machine: ReplayState, plan: PlannedEnds) -> None:
    """Remove a job that has ended."""
    if plan.ends.size:
        end, count = machine.starts[job] + log.planned[job], machine.whole[RUNNING] + 1
        place = _insertion_place(end, job, count, plan)
        _shift_down(plan.ends, place, count)
        _shift_down(plan.jobs, place, count)


@makes_no_arrays
def reserve(job: int, log: Log, machine: ReplayState, over: Any, plan: PlannedEnds) -> Any:
    """Return the shadow time of a job that does not fit: when it can start by planned ends.

    ``over`` is filled with the spare capacity then. All jobs with a planned end at that time count.
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
