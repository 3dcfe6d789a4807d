"""Admission rules on logs, compiled: the needs of the jobs are their classes."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from schedopt.policies.msfq.admission_kernels import fcfs
from schedopt.policies.msfq.compiling import digest, ready, specialized
from schedopt.policies.msfq.logs.heap_kernels import pop, push
from schedopt.policies.msfq.rule import Twin

OWN = tuple(
    f"schedopt.policies.msfq.{name}" for name in ("admission_kernels", "logs.class_kernels")
)
CAME, WAITING, FREE, RUNNING, EVENTS, STUCK, FAULT = range(7)
"""Places in ``whole``; ``STUCK`` says that the rule lets jobs wait for ever,
``FAULT`` which class it started that may not start, -1 for none."""
NEVER = 1e308

next_start = fcfs
"""What stands here for a rule's twin: `advance_by` puts the rule's own in its place."""


@cache
def advance_by(twin: Twin) -> Any:
    """Return `advance` compiled for a rule, the rule a constant in it."""
    module = import_module(twin.module)
    parts = {"next_start": ready(getattr(module, twin.next_start))}
    name = f"log_{twin.next_start}_{digest(twin.module, *OWN)}"
    return specialized(advance, name, parts)


def advance(
    submit: Any, need: Any, run: Any, kind: Any, memory: Any, numbers: Any, needs: Any, slots: Any,
    by_need: Any, waiting: Any, running: Any, head: Any, last: Any, after: Any,
    most: int, whole: Any, starts: Any, heap_ends: Any, heap_jobs: Any,
) -> None:  # fmt: skip
    """Replay until all jobs have started, ``most`` events have passed, or none starts any more.

    Parameters
    ----------
    submit, need, run, kind : ndarray, shape (jobs,)
        ``kind`` is each job's class.
    memory, numbers, needs, slots, by_need, waiting, running, head : ndarray
        What a rule asks for: see `admission_kernels`.
    last, after : ndarray
        The last job of each class's line, and the one behind each job.
    whole : ndarray
        The state: see `CAME` and those after it.
    starts : ndarray of float, shape (jobs,)
    """
    n, end = submit.size, whole[EVENTS] + most
    while (whole[CAME] < n or whole[WAITING]) and whole[EVENTS] < end:
        whole[EVENTS] += 1
        now = submit[whole[CAME]] if whole[CAME] < n else NEVER
        if whole[RUNNING]:
            now = min(now, heap_ends[0])
        if now == NEVER:
            whole[STUCK] = 1
            return
        while whole[RUNNING] and heap_ends[0] == now:
            job = heap_jobs[0]
            pop(heap_ends, heap_jobs, whole[RUNNING])
            whole[RUNNING] -= 1
            whole[FREE] += need[job]
            running[kind[job]] -= 1
        while whole[CAME] < n and submit[whole[CAME]] == now:
            job = whole[CAME]
            c = kind[job]
            if waiting[c]:
                after[last[c]] = job
            else:
                head[c] = job
            last[c] = job
            waiting[c] += 1
            whole[CAME] += 1
            whole[WAITING] += 1
        while True:
            c = next_start(memory, numbers, needs, slots, by_need, waiting, running, whole[FREE],
                           head)  # fmt: skip
            if c < 0:
                break
            if c >= needs.size or not waiting[c] or needs[c] > whole[FREE]:
                whole[FAULT], whole[STUCK] = c, 1
                return
            job = head[c]
            head[c] = after[job]
            waiting[c] -= 1
            running[c] += 1
            whole[WAITING] -= 1
            whole[FREE] -= need[job]
            starts[job] = now
            push(heap_ends, heap_jobs, whole[RUNNING], now + run[job], job)
            whole[RUNNING] += 1
