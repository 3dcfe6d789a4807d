"""Policies with a fixed order of jobs, compiled: see `rules.ordered`, their definition."""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.logs.line_kernels import NOBODY, following, join, leave
from schedopt.policies.msfq.logs.plan_kernels import reserve
from schedopt.policies.msfq.logs.running_kernels import (
    BLOCKS,
    CAME,
    EVENTS,
    FREE,
    FRONT,
    HEAD,
    NEVER,
    SPARE,
    WAITING,
    begin,
    finish,
    upcoming,
)

STOP, SKIP, EASY = range(3)


@compiled
def advance(
    submit: Any, need: Any, run: Any, planned: Any, rank: Any, order: Any, oldest: bool, fill: int,
    most: int, whole: Any, real: Any, starts: Any, inside: Any, needs: Any, shortest: Any,
    base: Any, user: Any, rates: Any, heap_ends: Any, heap_jobs: Any,
    blocks: Any, ends: Any, jobs: Any, held: Any, count: Any, total: Any,
) -> None:  # fmt: skip
    """Replay until all jobs have started, or ``most`` events have passed.

    Parameters
    ----------
    submit, need, run, planned : ndarray, shape (jobs,)
    rank, order : ndarray of int32, shape (jobs,)
        Each job's place in the order in which others pass the first, and the job at each place.
    oldest : bool
        Whether who comes first is the first of all; else it is the first by ``rank``.
    fill : int
        `STOP`, `SKIP` or `EASY`.
    whole, real : ndarray
        The state: see `running_kernels`; in ``real`` when the job that waits first can start.
    starts : ndarray of float, shape (jobs,)
        Infinite where a job has not started.
    inside, needs, shortest, base : ndarray
        The line: see `line_kernels`.
    user, rates : ndarray
        Empty, since these orders ask for no use.
    """
    n, last = submit.size, whole[EVENTS] + most
    while (whole[CAME] < n or whole[WAITING]) and whole[EVENTS] < last:
        whole[EVENTS] += 1
        now = upcoming(submit, whole, heap_ends)
        freed = finish(now, need, planned, user, rates, starts, whole, heap_ends, heap_jobs,
                       blocks, ends, jobs, held, count, total)  # fmt: skip
        before = whole[CAME]
        first = _arrive(now, submit, need, planned, rank, oldest, whole, inside, needs, shortest,
                        base)  # fmt: skip
        if not whole[WAITING]:
            continue
        alone = not (freed or whole[HEAD] < 0 or first or whole[CAME] > before + 1)
        if not alone:
            while True:  # the first, as long as they fit
                head = _head(oldest, starts, order, whole, inside, need, planned, needs, shortest,
                             base)  # fmt: skip
                whole[HEAD] = head
                if head < 0 or need[head] > whole[FREE]:
                    break
                leave(rank[head], inside, order, need, planned, needs, shortest, base)
                begin(head, now, need, run, planned, user, rates, starts, whole, heap_ends,
                      heap_jobs, blocks, ends, jobs, held, count, total)  # fmt: skip
            if head < 0:
                continue
            real[0], whole[SPARE] = NEVER, 0
            if fill == EASY:
                real[0], whole[SPARE] = reserve(need[head], whole[FREE], whole[BLOCKS], blocks,
                                                ends, held, count, total)  # fmt: skip
        at = 0
        while fill != STOP and whole[FREE]:
            if alone:  # nothing changed but that one job came: no other may start
                at = rank[before]
                if need[before] > whole[FREE] or (
                    need[before] > whole[SPARE] and now + planned[before] > real[0]
                ):
                    break
            else:
                at = following(at, whole[FREE], whole[SPARE], now, real[0], inside, order, need,
                               planned, needs, shortest, base)  # fmt: skip
                if at < 0:
                    break
            job = order[at]
            if now + planned[job] > real[0]:
                whole[SPARE] -= need[job]
            leave(at, inside, order, need, planned, needs, shortest, base)
            begin(job, now, need, run, planned, user, rates, starts, whole, heap_ends,
                  heap_jobs, blocks, ends, jobs, held, count, total)  # fmt: skip
            at += 1
            if alone or at >= n:
                break


@compiled
def _arrive(now: float, submit: Any, need: Any, planned: Any, rank: Any, oldest: bool, whole: Any,
            inside: Any, needs: Any, shortest: Any, base: Any) -> Any:  # fmt: skip
    """Let all come whose time it is, and return whether one goes before who waited first."""
    first = False
    head = whole[HEAD]
    came = whole[CAME]
    while came < submit.size and submit[came] == now:
        join(rank[came], need[came], planned[came], inside, needs, shortest, base)
        first = first or (not oldest and head >= 0 and rank[came] < rank[head])
        came += 1
    whole[WAITING] += came - whole[CAME]
    whole[CAME] = came
    return first


@compiled
def _head(oldest: bool, starts: Any, order: Any, whole: Any, inside: Any, need: Any, planned: Any,
          needs: Any, shortest: Any, base: Any) -> Any:  # fmt: skip
    """Return who is first of all that wait, or -1."""
    if not oldest:
        at = following(0, NOBODY - 1, NOBODY - 1, 0.0, NEVER, inside, order, need, planned, needs,
                       shortest, base)  # fmt: skip
        return order[at] if at >= 0 else -1
    front = whole[FRONT]
    while front < whole[CAME] and starts[front] < NEVER:
        front += 1
    whole[FRONT] = front
    return front if front < whole[CAME] else -1
