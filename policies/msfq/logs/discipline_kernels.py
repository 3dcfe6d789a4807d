"""The disciplines of compiled replays: fixed orders, and orders that change with time."""

from math import exp, log10
from math import log as ln
from typing import Any, NamedTuple

from schedopt.policies.msfq.logs.event_loop_kernels import (
    CAME,
    FRONT,
    NEVER,
    WAITING,
    Log,
    ReplayState,
    add_needs,
    fits,
    loop_of,
)
from schedopt.policies.msfq.logs.planned_end_kernels import (
    PlannedEnds,
    forget_planned,
    reserve,
    start_planned,
)
from schedopt.policies.msfq.logs.waiting_line_kernels import Line, join, leave, next_fitting
from schedopt.solvers.compiling import kernel, makes_no_arrays

STOP, SKIP, EASY = range(3)
"""After the first job that does not fit: no job starts; jobs that fit start; or jobs start if by
plan they do not delay it."""
(
    AGE,
    WAIT,
    STRETCH,
    SIZE,
    NEED,
    RUN,
    AREA,
    FAIR_SHARE,
    USAGE,
    QOS,
    MOST_AGE,
    HALF_LIFE,
    SERVERS,
) = range(13)
"""Places in ``weights``, which begins with the fields of `instances.msfq.site.Weights`."""


class FixedOrder(NamedTuple):
    """The state of a fixed order.

    With ``oldest``, the oldest waiting job is the head of the line, whatever the order. ``over`` is
    filled with the spare capacity of each resource at the reservation of the head.
    """

    line: Line
    oldest: bool
    fill: int
    plan: PlannedEnds
    over: Any


class ChangingOrder(NamedTuple):
    """The state of an order that changes with time: weighted priorities, or WFP3.

    Attributes
    ----------
    weighted : bool
        Whether the order is that of weighted priorities.
    fill : int
        `STOP`, `SKIP` or `EASY`.
    weights : ndarray
        See `AGE`.
    constant : ndarray, shape (jobs,)
        The constant part of each job's priority.
    shares : ndarray, shape (users,)
        The sum of all shares divided by the user's share.
    by_user : ndarray, shape (users,)
        The part of priorities from usage.
    line, keys : ndarray
        The waiting jobs in no order, and their keys.
    user : ndarray of int, shape (jobs,)
        The user of each job.
    usage, rates : ndarray, shape (users,)
        Decayed usage at the time ``real[0]``, and the size of what each user holds.
    over : ndarray
        The spare capacity of each resource at the reservation of the first job.
    """

    weighted: bool
    fill: int
    weights: Any
    constant: Any
    shares: Any
    by_user: Any
    line: Any
    keys: Any
    user: Any
    usage: Any
    rates: Any
    real: Any
    plan: PlannedEnds
    over: Any


def end_job_fixed(now: float, job: int, log: Log, machine: ReplayState, own: FixedOrder) -> None:
    """Remove the planned end of a job that has ended."""
    forget_planned(job, log, machine, own.plan)


def start_jobs_fixed(now: float, log: Log, machine: ReplayState, own: FixedOrder) -> None:
    """Start jobs in order while they fit, then the jobs that may backfill."""
    whole, line = machine.whole, own.line
    while whole[CAME] < log.submit.size and log.submit[whole[CAME]] == now:
        join(whole[CAME], log, line)
        whole[CAME] += 1
        whole[WAITING] += 1
    while True:
        head = first_waiting(machine, own)
        if head < 0:
            return
        if not fits(head, log.need, machine.left):
            break
        leave(head, line)
        start_planned(now, head, log, machine, own.plan)
    if own.fill == STOP:
        return
    time, at = NEVER, 0
    if own.fill == EASY:
        time = reserve(head, log, machine, own.over, own.plan)
    while machine.left[0]:
        at = next_fitting(at, machine.left, own.over, now, time, line)
        if at < 0:
            return
        job = line.order[at]
        if now + log.planned[job] > time:
            add_needs(job, log.need, own.over, -1)
        leave(job, line)
        start_planned(now, job, log, machine, own.plan)


@makes_no_arrays
def first_waiting(machine: ReplayState, own: FixedOrder) -> Any:
    """Return the first waiting job, or -1."""
    whole, line = machine.whole, own.line
    if not whole[WAITING]:
        return -1
    if not own.oldest:
        return line.order[next_fitting(0, line.anything, line.anything, 0.0, NEVER, line)]
    while machine.starts[whole[FRONT]] < NEVER:
        whole[FRONT] += 1
    return whole[FRONT]


def end_job_changing(
    now: float, job: int, log: Log, machine: ReplayState, own: ChangingOrder
) -> None:
    """Remove the planned end of a job that has ended, and update usage."""
    forget_planned(job, log, machine, own.plan)
    _decay_usage(now, own)
    own.rates[own.user[job]] -= log.size[job]


def start_jobs_changing(now: float, log: Log, machine: ReplayState, own: ChangingOrder) -> None:
    """Start jobs in the current order; jobs that may backfill pass the first that does not fit."""
    whole, line, keys = machine.whole, own.line, own.keys
    _decay_usage(now, own)
    while whole[CAME] < log.submit.size and log.submit[whole[CAME]] == now:
        line[whole[WAITING]] = whole[CAME]
        whole[CAME] += 1
        whole[WAITING] += 1
    for i in range(whole[WAITING]):
        if fits(line[i], log.need, machine.left):
            break
    else:
        return
    _compute_keys(now, whole[WAITING], log, own)
    time, head = NEVER, -1
    while whole[WAITING] and machine.left[0]:
        at = best_place(now, head >= 0, time, log, machine, own)
        if at < 0:
            break
        job = line[at]
        if not fits(job, log.need, machine.left):  # the first job in line
            if own.fill == STOP:
                break
            head = job
            if own.fill == EASY:
                time = reserve(job, log, machine, own.over, own.plan)
            continue
        if now + log.planned[job] > time:
            add_needs(job, log.need, own.over, -1)
        start_planned(now, job, log, machine, own.plan)
        own.rates[own.user[job]] += log.size[job]
        line[at], keys[at] = line[whole[WAITING]], keys[whole[WAITING]]


@makes_no_arrays
def _decay_usage(now: float, own: ChangingOrder) -> None:
    """Update usage to the present: decay, plus the service since the last update."""
    passed = now - own.real[0]
    if passed == 0.0:
        return
    own.real[0] = now
    if not passed < NEVER:
        return
    rate = ln(2.0) / own.weights[HALF_LIFE]
    kept = exp(-passed * rate)
    gained = (1.0 - kept) / rate
    for user in range(own.usage.size):
        own.usage[user] = own.usage[user] * kept + own.rates[user] * gained


@makes_no_arrays
def _compute_keys(now: float, waiting: int, jobs: Log, own: ChangingOrder) -> None:
    """Compute the keys of the waiting jobs; the least goes first."""
    line, keys, usage, weights = own.line, own.keys, own.usage, own.weights
    if own.weighted:
        total = 0.0
        for user in range(usage.size):
            total += usage[user]
        for user in range(usage.size):
            part = usage[user] / total if total > 0 else 0.0
            fair = exp(-(part * own.shares[user]) * ln(2.0))
            own.by_user[user] = weights[USAGE] * part + weights[FAIR_SHARE] * fair
    for i in range(waiting):
        job = line[i]
        waited = now - jobs.submit[job]
        ratio = waited / jobs.planned[job]
        if own.weighted:
            old, stretched = min(1.0, waited / weights[MOST_AGE]), weights[STRETCH] * ratio
            changing = own.by_user[own.user[job]]
            keys[i] = -(own.constant[job] + changing + weights[AGE] * old + stretched)
        else:
            keys[i] = -(ratio * ratio * ratio * jobs.size[job])


@makes_no_arrays
def best_place(
    now: float, fill: bool, time: float, log: Log, machine: ReplayState, own: ChangingOrder
) -> Any:
    """Return the place of the first job in line; with ``fill``, of the first that may start."""
    best, line, keys = -1, own.line, own.keys
    for i in range(machine.whole[WAITING]):
        if fill:
            if not fits(line[i], log.need, machine.left):
                continue
            if now + log.planned[line[i]] > time and not fits(line[i], log.need, own.over):
                continue
        if best < 0 or keys[i] < keys[best] or (keys[i] == keys[best] and line[i] < line[best]):
            best = i
    return best


@kernel(makes_arrays=False)
def constant(log: Log, weights: Any, qos: Any, values: Any) -> None:
    """Compute the constant part of each job's weighted priority.

    Waiting times increase by the same amount for all jobs, so only the submit counts.
    """
    for job in range(log.submit.size):
        size, planned = log.size[job], log.planned[job]
        total = weights[SIZE] * (size / weights[SERVERS]) + weights[NEED] * log10(size)
        total += weights[RUN] * log10(planned)
        waited = weights[WAIT] * (log.submit[job] / weights[MOST_AGE])
        values[job] = total + weights[AREA] * log10(planned * size) + qos[job] - waited


@kernel(makes_arrays=False)
def f1(submit: Any, size: Any, planned: Any, keys: Any) -> None:
    """Compute log10(r)·n + 870·log10(s) of each job, with the logarithm of C; numpy's differs.

    r is the planned run time and s the submit, in seconds and at least 1; n is the size.
    """
    for job in range(submit.size):
        r, s = max(planned[job], 1.0), max(submit[job], 1.0)
        keys[job] = log10(r) * size[job] + 870.0 * log10(s)


fixed_order = loop_of("fixed_order", start_jobs_fixed, end_job_fixed)
changing_order = loop_of("changing_order", start_jobs_changing, end_job_changing)
