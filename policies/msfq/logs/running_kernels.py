"""The running jobs of a replay, compiled: what begins and what ends, by fact and by plan."""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.logs.heap_kernels import pop, push
from schedopt.policies.msfq.logs.plan_kernels import insert, remove

CAME, WAITING, FREE, RUNNING, BLOCKS, EVENTS, HEAD, SPARE, FRONT = range(9)
"""Places in ``whole``, the state of a replay in whole numbers."""
NEVER = 1e308


@compiled
def begin(
    job: int, now: float, need: Any, run: Any, planned: Any, user: Any, rates: Any, starts: Any,
    whole: Any, heap_ends: Any, heap_jobs: Any,
    blocks: Any, ends: Any, jobs: Any, held: Any, count: Any, total: Any,
) -> None:  # fmt: skip
    """Start a job; plans are kept where there are ``blocks``, use where there are ``rates``."""
    starts[job] = now
    push(heap_ends, heap_jobs, whole[RUNNING], now + run[job], job)
    whole[RUNNING] += 1
    whole[WAITING] -= 1
    whole[FREE] -= need[job]
    if blocks.size:
        whole[BLOCKS] = insert(now + planned[job], job, need[job], whole[BLOCKS], blocks, ends,
                               jobs, held, count, total)  # fmt: skip
    if rates.size:
        rates[user[job]] += need[job]


@compiled
def finish(
    now: float, need: Any, planned: Any, user: Any, rates: Any, starts: Any,
    whole: Any, heap_ends: Any, heap_jobs: Any,
    blocks: Any, ends: Any, jobs: Any, held: Any, count: Any, total: Any,
) -> Any:  # fmt: skip
    """End all jobs whose end it is, and return whether there were any."""
    found = False
    while whole[RUNNING] and heap_ends[0] == now:
        found = True
        job = heap_jobs[0]
        pop(heap_ends, heap_jobs, whole[RUNNING])
        whole[RUNNING] -= 1
        whole[FREE] += need[job]
        if blocks.size:
            whole[BLOCKS] = remove(starts[job] + planned[job], job, whole[BLOCKS], blocks, ends,
                                   jobs, held, count, total)  # fmt: skip
        if rates.size:
            rates[user[job]] -= need[job]
    return found


@compiled
def upcoming(submit: Any, whole: Any, heap_ends: Any) -> Any:
    """Return when something happens next."""
    now = submit[whole[CAME]] if whole[CAME] < submit.size else NEVER
    return min(now, heap_ends[0]) if whole[RUNNING] else now
