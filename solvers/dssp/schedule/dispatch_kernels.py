"""The dispatch simulator of jobs that ask for processors alone, which are there all the time.

It plays as `simulation_kernels` does, several times as fast where few tasks are equal. Processors
that work are a tournament by (time of release, processor), and jobs with runnable tasks one by (key
of their next task, job).

A heap mispredicts half of its comparisons, and each costs more than a comparison. In a tournament
the rivals that a changed key meets are known beforehand, and who wins is a mask: nothing is
guessed. It takes a third of a heap's time.

A tournament is two arrays of twice as many places as it has leaves, a power of two: the key that
won each match, and whose it is. Place 1 is the final, and leaf i is in the second half. Keys are
integers of which no two are more than 2^63 - 2 apart; of two at a time the first leaf wins.

Source: Knuth, The Art of Computer Programming 3, section 5.4.1 (trees of winners).
"""

from typing import Final, NamedTuple

import numpy as np

from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.compiling import compiled, njit, small

NOBODY: Final = 2**63 - 2
"""The key of a leaf that does not compete: larger than any other."""
NEVER: Final = 0x7FF0_0000_0000_0000
"""The bits of an infinite time; the bits of nonnegative times are in the order of the times."""
_SIZE: Final = 2**63 - 1
"""The bits of a number without its sign."""


@njit(cache=True, nogil=True)
def leaves_for(count: int) -> int:
    """Return the least power of two that is not below a count."""
    leaves = 1
    while leaves < count:
        leaves *= 2
    return leaves


@compiled
def begin(best: Ints, who: Ints) -> None:
    """Play all matches, the keys of the leaves given."""
    half = len(best) >> 1
    for i in range(half):
        who[half + i] = i
    for node in range(half - 1, 0, -1):
        winner = 2 * node + (best[2 * node + 1] < best[2 * node])
        best[node], who[node] = best[winner], who[winner]


@compiled
def replay(best: Ints, who: Ints, leaf: int, key: int) -> None:
    """Change a leaf's key and replay its matches.

    The mask is the sign of a difference, since the compiler makes a branch of a comparison. An odd
    place is the right one of two, which loses where keys are equal.
    """
    node = (len(best) >> 1) + leaf
    best[node] = key
    at = leaf
    while node > 1:
        rival, other = best[node ^ 1], who[node ^ 1]
        loses = (rival - key - (node & 1)) >> 63
        key ^= (key ^ rival) & loses
        at ^= (at ^ other) & loses
        node >>= 1
        best[node], who[node] = key, at


@compiled
def without(best: Ints, leaf: int) -> int:
    """Return the least key of all leaves but one, changing nothing."""
    node = (len(best) >> 1) + leaf
    least = NOBODY
    while node > 1:
        least = min(least, best[node ^ 1])
        node >>= 1
    return least


@njit(cache=True, nogil=True)
def comparable(keys: Floats) -> Ints:
    """Return integers from 0 on that are ordered as numbers are, and equal where they are.

    The bits of numbers of one sign are in their order. Those between 0 and the least of them are
    left out, so that positive and negative ones together fit into 63 bits; where they do not (of
    two numbers one is over 10^300 times the other), ranks take their place.
    """
    bits = keys.view(np.int64)
    least = NOBODY
    for i in range(len(bits)):
        size = bits[i] & _SIZE
        least = min(least, size if size else NOBODY)
    numbers = np.empty(len(bits), np.int64)
    lowest, highest = NOBODY, -NOBODY
    for i in range(len(bits)):
        sign = bits[i] >> 63
        number = (max((bits[i] & _SIZE) - least + 1, 0) ^ sign) - sign
        lowest, highest = min(lowest, number), max(highest, number)
        numbers[i] = number
    if (highest >> 1) - (lowest >> 1) < (NOBODY >> 1) - 1:
        for i in range(len(bits)):
            numbers[i] -= lowest
        return numbers
    order = np.argsort(keys, kind="mergesort")
    rank = 0
    for i in range(len(order)):
        rank += i > 0 and keys[order[i]] != keys[order[i - 1]]
        numbers[order[i]] = rank
    return numbers


SMALL = 50_000
"""Most numbers for which a night is simulated in plain Python: some tenths of a second."""


class Dispatch(NamedTuple):
    """What is dispatched: tasks in the order in which their stage hands them out, on a machine."""

    lengths: Floats  # (tasks,)
    first_task: Ints  # of each stage, and their number, (stages + 1,)
    first_stage: Ints  # of each job, and their number, (jobs + 1,)
    processors: int


class Record(NamedTuple):
    """What dispatching fills in for the jobs that are run."""

    starts: Floats  # (tasks,)
    completion: Floats  # (jobs,)


class Play(NamedTuple):
    """The state of a simulation."""

    stage: Ints  # of each job
    upcoming: Ints  # each job's next task
    after: Ints  # the number of the task after it
    until: Ints  # the end of the stage
    unfinished: Ints  # tasks of the stage
    best: Ints  # the tournament of the jobs, by the number of their next task
    who: Ints
    times: Floats  # when processors are idle again
    ends: Ints  # the tournament of these: the bits of `times`
    worker: Ints
    idle: Ints  # processors
    works_on: Ints  # the job of each processor


def order_of(keys: Floats, first_task: Ints) -> Ints:
    """Return the tasks by stage, each stage's by key, and the file's order on ties.

    All are sorted at once by numpy's unstable sort, which is fastest, and dealt to their stages;
    ties are put in order there.
    """
    order = np.empty(len(keys), np.int64)
    _distribute_tasks(np.argsort(keys), first_task, order)
    _restore_file_order(keys, first_task, order)
    return order


@njit(cache=True, nogil=True, plain=small(SMALL, 0.5))
def _distribute_tasks(by_key: Ints, first_task: Ints, order: Ints) -> None:
    """Distribute sorted tasks to their stages, keeping the order."""
    stage_of = np.empty(len(by_key), np.int32)
    for s in range(len(first_task) - 1):
        stage_of[first_task[s] : first_task[s + 1]] = s
    free = first_task[:-1].copy()
    for task in by_key:
        s = stage_of[task]
        order[free[s]] = task
        free[s] += 1


@njit(cache=True, nogil=True, plain=small(SMALL, 0.5))
def _restore_file_order(keys: Floats, first_task: Ints, order: Ints) -> None:
    """Restore the file's order among tasks of a stage with equal keys."""
    for s in range(len(first_task) - 1):
        start, end = first_task[s], first_task[s + 1]
        for i in range(start + 1, end + 1):
            if i == end or keys[order[i]] != keys[order[start]]:
                sort(order, start, i)
                start = i


@compiled
def sort(numbers: Ints, start: int, end: int) -> None:
    """Sort part of an array by Shellsort, which compiles faster than numpy's sort."""
    gap = 1
    while 3 * gap < end - start:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, end):
            number, at = numbers[i], i
            while at >= start + gap and numbers[at - gap] > number:
                numbers[at] = numbers[at - gap]
                at -= gap
            numbers[at] = number
        gap //= 3


@njit(cache=True, nogil=True, plain=small(SMALL, 4))
def by_key(
    of: Dispatch, keys: Floats, jobs: Ints, record: Record, stop: float, main: Ints
) -> Floats:
    """Simulate a dispatcher that always starts the runnable task with the least key.

    Keys never fall within a stage, nothing is released late, and each task takes some time. It
    ends at the first event from `stop` on at which only tasks of each job's `main` stage, shape
    (jobs,), and of those after it are left to start; with infinity, when all is done. Returns when
    each processor is idle.
    """
    first_task, first_stage = of.first_task, of.first_stage
    count = len(first_stage) - 1
    stage = first_stage[:-1].copy()
    upcoming, unfinished = np.zeros(count, np.int64), np.zeros(count, np.int64)
    after, until = np.zeros(count, np.int64), np.zeros(count, np.int64)
    numbers = comparable(keys)
    half = leaves_for(count)
    best, who = np.full(2 * half, NOBODY), np.zeros(2 * half, np.int64)
    for j in jobs:
        upcoming[j] = first_task[stage[j]]
        until[j] = first_task[stage[j] + 1]
        unfinished[j] = until[j] - upcoming[j]
        best[half + j] = numbers[upcoming[j]]
        after[j] = _next_key(numbers, upcoming[j], until[j])
    begin(best, who)
    times = np.full(2 * leaves_for(of.processors), np.inf)
    ends, worker = times.view(np.int64), np.zeros(len(times), np.int64)
    begin(ends, worker)
    idle, works_on = np.arange(of.processors - 1, -1, -1), np.zeros(of.processors, np.int64)
    play = Play(
        stage, upcoming, after, until, unfinished, best, who, times, ends, worker, idle, works_on
    )
    early = (first_task[main[jobs]] - first_task[first_stage[jobs]]).sum()
    now = _run_simulation(of, numbers, record, play, stop, main, early)
    idle_from = times[len(times) >> 1 :][: of.processors].copy()
    for i in range(of.processors):
        if idle_from[i] == np.inf:
            idle_from[i] = now
    return idle_from


@compiled
def _next_key(numbers: Ints, task: int, until: int) -> int:
    """Return the next task's key; `NOBODY` after the last of its stage."""
    return numbers[task + 1] if task + 1 < until else NOBODY


@compiled
def _run_simulation(
    of: Dispatch,
    numbers: Ints,
    record: Record,
    play: Play,
    stop: float,
    main: Ints,
    early: int,
) -> float:
    """Play until `early` tasks have started and a time is reached, or to the end.

    The number `after` is fetched when the task before it starts, to be there when it is needed.

    A processor that falls idle while a task waits for it gets one at the same instant, unless
    another falls idle with it: so its matches are played once, with the time at which it is idle
    next.
    """
    stage, upcoming, after, until, unfinished, best, who, times, ends, worker, idle, works_on = play
    lengths, first_task, first_stage = of.lengths, of.first_task, of.first_stage
    starts, completion = record
    half, free = len(times) >> 1, len(idle)
    now = 0.0
    while now < stop or early > 0:
        while free > 0 and best[1] != NOBODY and (now < stop or early > 0):
            j = who[1]
            task = upcoming[j]
            if after[j] != best[1]:
                replay(best, who, j, after[j])
            upcoming[j] = task + 1
            after[j] = _next_key(numbers, task + 1, until[j])
            free -= 1
            place = idle[free]
            starts[task] = now
            early -= stage[j] < main[j]
            works_on[place] = j
            times[half + place] = now + lengths[task]
            replay(ends, worker, place, ends[half + place])
        if free == len(idle):
            break
        now, at = times[1], ends[1]
        following = at
        while following == at:
            place = worker[1]
            following = without(ends, place)
            if following == at or best[1] == NOBODY:
                replay(ends, worker, place, NEVER)
            idle[free] = place
            free += 1
            j = works_on[place]
            unfinished[j] -= 1
            if unfinished[j] == 0:
                stage[j] += 1
                if stage[j] == first_stage[j + 1]:
                    completion[j] = now
                else:
                    upcoming[j] = first_task[stage[j]]
                    until[j] = first_task[stage[j] + 1]
                    unfinished[j] = until[j] - upcoming[j]
                    after[j] = _next_key(numbers, upcoming[j], until[j])
                    replay(best, who, j, numbers[upcoming[j]])
    return now
