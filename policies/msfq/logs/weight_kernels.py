"""Policies whose order changes with time, compiled: see `rules.ordered`, their definition."""

from __future__ import annotations

from math import exp, log
from typing import Any

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.logs.order_kernels import EASY, STOP
from schedopt.policies.msfq.logs.plan_kernels import reserve
from schedopt.policies.msfq.logs.running_kernels import (
    BLOCKS,
    CAME,
    EVENTS,
    FREE,
    NEVER,
    WAITING,
    begin,
    finish,
    upcoming,
)

WFP3, LEAST_SERVED, MULTIFACTOR = range(3)
AGE, SIZE, FAIR_SHARE, MOST_AGE, HALF_LIFE, SERVERS = range(6)
"""Places in ``weights``."""


@compiled
def advance(
    submit: Any, need: Any, run: Any, planned: Any, user: Any, kind: int, fill: int, weights: Any,
    most: int, whole: Any, real: Any, starts: Any, line: Any, keys: Any, usage: Any, rates: Any,
    heap_ends: Any, heap_jobs: Any,
    blocks: Any, ends: Any, jobs: Any, held: Any, count: Any, total: Any,
) -> None:  # fmt: skip
    """Replay until all jobs have started, or ``most`` events have passed.

    Parameters
    ----------
    submit, need, run, planned : ndarray, shape (jobs,)
    user : ndarray of int32, shape (jobs,)
    kind, fill : int
        The order, and what is done once its first does not fit: see `order_kernels`.
    whole, real : ndarray
        The state: see `running_kernels`; in ``real`` the present.
    starts : ndarray of float, shape (jobs,)
        Infinite where a job has not started.
    line, keys : ndarray, shape (jobs,)
        Waiting jobs in no order, and what they are ordered by.
    usage, rates : ndarray of float, shape (users,)
    """
    n, last = submit.size, whole[EVENTS] + most
    while (whole[CAME] < n or whole[WAITING]) and whole[EVENTS] < last:
        whole[EVENTS] += 1
        now = upcoming(submit, whole, heap_ends)
        _pass(now - real[0], weights[HALF_LIFE], usage, rates)
        real[0] = now
        finish(now, need, planned, user, rates, starts, whole, heap_ends, heap_jobs, blocks, ends,
               jobs, held, count, total)  # fmt: skip
        while whole[CAME] < n and submit[whole[CAME]] == now:
            line[whole[WAITING]] = whole[CAME]
            whole[CAME] += 1
            whole[WAITING] += 1
        if not whole[WAITING] or not whole[FREE]:
            continue
        _weigh(kind, now, whole[WAITING], line, keys, submit, need, planned, user, usage, weights)
        time, spare, head = NEVER, 0, -1
        while whole[WAITING] and whole[FREE]:
            at = _best(whole[WAITING], line, keys, need, planned, now,
                       whole[FREE] if head >= 0 else -1, spare, time)  # fmt: skip
            if at < 0:
                break
            job = line[at]
            if need[job] > whole[FREE]:  # the first of all that wait
                if fill == STOP:
                    break
                head = job
                if fill == EASY:
                    time, spare = reserve(need[job], whole[FREE], whole[BLOCKS], blocks, ends, held,
                                          count, total)  # fmt: skip
                continue
            if head >= 0 and now + planned[job] > time:
                spare -= need[job]
            begin(job, now, need, run, planned, user, rates, starts, whole, heap_ends, heap_jobs,
                  blocks, ends, jobs, held, count, total)  # fmt: skip
            line[at], keys[at] = line[whole[WAITING]], keys[whole[WAITING]]


@compiled
def _pass(passed: float, half_life: float, usage: Any, rates: Any) -> None:
    """Let usage decay, and grow by what runs."""
    if not passed < NEVER:
        return
    rate = log(2.0) / half_life
    kept = exp(-passed * rate)
    gained = (1.0 - kept) / rate
    for user in range(usage.size):
        usage[user] = usage[user] * kept + rates[user] * gained


@compiled
def _weigh(kind: int, now: float, waiting: int, line: Any, keys: Any, submit: Any, need: Any,
           planned: Any, user: Any, usage: Any, weights: Any) -> None:  # fmt: skip
    """Say what each waiting job is ordered by: the least is the first."""
    if kind == WFP3:
        for i in range(waiting):
            job = line[i]
            ratio = (now - submit[job]) / planned[job]
            keys[i] = -(ratio * ratio * ratio * need[job])
        return
    if kind == LEAST_SERVED:
        for i in range(waiting):
            keys[i] = usage[user[line[i]]]
        return
    total = 0.0
    for i in range(usage.size):
        total += usage[i]
    for i in range(waiting):
        job = line[i]
        part = usage[user[job]] / total if total > 0 else 0.0
        fair = exp(-part * usage.size * log(2.0))
        old = min(1.0, (now - submit[job]) / weights[MOST_AGE])
        size = need[job] / weights[SERVERS]
        keys[i] = -(weights[AGE] * old + weights[SIZE] * size + weights[FAIR_SHARE] * fair)


@compiled
def _best(waiting: int, line: Any, keys: Any, need: Any, planned: Any, now: float, free: int,
          spare: int, time: float) -> Any:  # fmt: skip
    """Return where in the line the first is; with ``free`` the first of those that may start."""
    best = -1
    for i in range(waiting):
        job = line[i]
        if free >= 0 and (need[job] > free or (need[job] > spare and now + planned[job] > time)):
            continue
        if best < 0 or keys[i] < keys[best] or (keys[i] == keys[best] and job < line[best]):
            best = i
    return best
