"""Queues with quotas in cohorts, compiled: `rules.Borrowing` is the definition."""

from typing import Any, NamedTuple

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.logs.replay_kernels import (
    CAME,
    WAITING,
    Log,
    ReplayState,
    begin,
    fits,
    loop_of,
)

NOBODY, PASSED, LATE, KEPT = range(4)
"""What a turn knows of a queue: nobody is left, it had its turn, its first would not fit at the
turn's beginning, or it would."""


class Shared(NamedTuple):
    """Queues, the nodes that they count in, and the jobs that wait in them.

    Of nodes, of which the first are the queues, ``parent`` is the one above, -1 for none, and
    ``nominal``, ``most`` and ``used`` are amounts of servers and then of each resource. Of jobs
    ``queue`` is which, ``rank`` in what order, ``after`` the one behind in the same queue, -1 for
    none. Of queues ``head`` and ``tail`` are the first and last that wait, ``strict`` whether
    nobody passes the first; ``at`` and ``before`` are the job that a turn looks at and the one
    ahead of it, ``state`` is as `NOBODY` says, ``borrows`` whether that job would.
    """

    parent: Any
    nominal: Any
    most: Any
    used: Any
    queue: Any
    rank: Any
    after: Any
    head: Any
    tail: Any
    strict: Any
    at: Any
    before: Any
    state: Any
    borrows: Any


@compiled
def _within(node: int, job: int, log: Log, used: Any, limits: Any) -> Any:
    """Tell whether a job stays within the limits of a node."""
    enough = True
    for r in range(used.shape[1]):
        enough = enough and used[node, r] + log.need[job, r] <= limits[node, r]
    return enough


@compiled
def _admits(job: int, log: Log, machine: ReplayState, own: Shared) -> Any:
    """Tell whether a job fits its queue, all cohorts above, and the machine."""
    node = own.queue[job]
    while node >= 0:
        if not _within(node, job, log, own.used, own.most):
            return False
        node = own.parent[node]
    return fits(job, log.need, machine.left)


@compiled
def _hold(job: int, sign: int, log: Log, own: Shared) -> None:
    """Count a job in its queue and all cohorts above, or with -1 no longer."""
    node = own.queue[job]
    while node >= 0:
        for r in range(own.used.shape[1]):
            own.used[node, r] += sign * log.need[job, r]
        node = own.parent[node]


@compiled
def _join(job: int, own: Shared) -> None:
    """Let a job into its queue, behind all whose rank is less."""
    queue = own.queue[job]
    ahead, behind = own.tail[queue], -1
    if ahead >= 0 and own.rank[ahead] > own.rank[job]:
        ahead, behind = -1, own.head[queue]
        while own.rank[behind] < own.rank[job]:
            ahead, behind = behind, own.after[behind]
    own.after[job] = behind
    if ahead < 0:
        own.head[queue] = job
    else:
        own.after[ahead] = job
    if behind < 0:
        own.tail[queue] = job


@compiled
def _leave(queue: int, own: Shared) -> None:
    """Take the job that a queue's turn looks at out of the queue, and look at the next."""
    behind, ahead = own.after[own.at[queue]], own.before[queue]
    if ahead < 0:
        own.head[queue] = behind
    else:
        own.after[ahead] = behind
    if behind < 0:
        own.tail[queue] = ahead
    own.at[queue] = behind


@compiled
def _turn(log: Log, machine: ReplayState, own: Shared) -> Any:
    """Look at the first of each queue; return whether there is one."""
    some = False
    for queue in range(own.head.size):
        job = own.at[queue]
        own.state[queue] = NOBODY
        if job >= 0:
            some = True
            own.state[queue] = KEPT if _admits(job, log, machine, own) else LATE
            own.borrows[queue] = not _within(queue, job, log, own.used, own.nominal)
    return some


@compiled
def _next(own: Shared) -> Any:
    """Return the queue whose job is next in this turn, or -1."""
    best = -1
    for queue in range(own.head.size):
        if own.state[queue] < LATE:
            continue
        if best >= 0:
            if own.borrows[queue] != own.borrows[best]:
                sooner = own.borrows[best]
            else:
                sooner = own.rank[own.at[queue]] < own.rank[own.at[best]]
            if not sooner:
                continue
        best = queue
    return best


def _shared(now: float, log: Log, machine: ReplayState, own: Shared) -> None:
    """Take turns until nobody is left to look at."""
    whole = machine.whole
    while whole[CAME] < log.submit.size and log.submit[whole[CAME]] == now:
        _join(whole[CAME], own)
        whole[CAME] += 1
        whole[WAITING] += 1
    for queue in range(own.head.size):
        own.at[queue], own.before[queue] = own.head[queue], -1
    while machine.left[0] and _turn(log, machine, own):
        while True:
            queue = _next(own)
            if queue < 0:
                break
            job = own.at[queue]
            if _admits(job, log, machine, own):
                _leave(queue, own)
                _hold(job, 1, log, own)
                begin(now, job, log, machine)
            elif own.state[queue] == LATE:
                own.before[queue] = job
                own.at[queue] = -1 if own.strict[queue] else own.after[job]
            own.state[queue] = PASSED


def _shared_ended(now: float, job: int, log: Log, machine: ReplayState, own: Shared) -> None:
    _hold(job, -1, log, own)


shared = loop_of("shared", _shared, _shared_ended)
