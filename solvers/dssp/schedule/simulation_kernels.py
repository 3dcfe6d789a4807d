"""The simulation of a dispatcher.

The simulation is nonpreemptive and non-delay. Events are ends of tasks, releases of jobs and
changes of the machine. At each event, tasks end first, then jobs are released, then tasks start.
The tasks of a stage wait from the time at which the job is released, its predecessors have
completed with a reward, and the previous stage has ended. A task of length 0 is then completed at
once. The waiting task with the least key starts first; ties are broken by the order of the file. A
task that cannot start lets others start before it. A task takes its processors in the first of its
job's pools that has enough, and there the processors that leave first among those that stay until
the task ends. Its resources and seats must be free until it ends.

Consecutive equal tasks of a stage are one *kind* with a count. All tasks of a kind that can start
at an event start together, as a *batch*, and end together, so that the time of the simulation is
proportional to the number of batches. Jobs with the same needs (processors, pools, resources and
seats) are a *class*: after a task cannot start at an event, no other task of its class is tried.

Source: Anderson et al., SPAA 2005, section 3.2.
"""

from typing import Any, NamedTuple

import numpy as np

from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.compiling import kernel
from schedopt.solvers.dssp.schedule.machine_arrays import (
    MOST_IN_PYTHON,
    NEAR,
    MachineArrays,
    TaskKinds,
)
from schedopt.solvers.kernels import before, pop, push

Array = Any  # kernels pass numba's own types to each other
NO_ROOM, JOB_LIMIT, TOO_LONG = -3, -2, -1
"""Why no task of a kind starts: none of its class can start; the job holds its most processors; or
the tasks are too long for the processors and amounts that are free."""


class History(NamedTuple):
    """The batches in the order of their starts: a line for each layer that a batch uses."""

    starts: Floats
    first: Ints  # the batch's first task, in the order of the kinds
    tasks: Ints  # tasks of the batch; 0 in lines after its first
    layers: Ints
    processors: Ints


class Layers(NamedTuple):
    """The processors of the machine, by layer: see `MachineArrays`."""

    first: Ints  # the first layer of each pool, (pools + 1,)
    there: Ints  # processors of each step, (steps,)
    stays: Floats  # until when they stay, (steps,)
    step: Ints  # the current step, (layers,)
    busy: Ints  # processors in use, (layers,)


class Amounts(NamedTuple):
    """Resources and seats, and the amounts that running tasks hold: see `MachineArrays`."""

    first: Ints  # the first level of each amount, (amounts + 1,)
    times: Floats  # when each level begins, (levels,)
    there: Ints  # (levels,)
    level: Ints  # the current level, (amounts,)
    held: Ints  # (levels,)
    use: Ints  # what a task holds, (classes, amounts)


class Progress(NamedTuple):
    """The progress of kinds and jobs."""

    left: Ints  # tasks that have not started, (kinds,)
    after: Ints  # the next kind in a list of kinds that are set aside, -1 at its end, (kinds,)
    stage: Ints  # the current stage, (jobs,)
    reached: Ints  # the last kind of the stage that has begun to wait, (jobs,)
    unfinished: Ints  # tasks of the stage that have not ended, (jobs,)
    working: Ints  # processors in use, (jobs,)
    pending: Ints  # predecessors, and the release, that the job waits for, (jobs,)
    given_up: Array  # whether the job can no longer be on time, (jobs,)
    aside: Ints  # the first kind set aside until a batch of the job ends, (jobs,)
    opened: Ints  # room for the jobs whose next stage opens, (jobs,)


class Waiting(NamedTuple):
    """The kinds that wait: a heap for each class."""

    keys: Floats  # (kinds,)
    kinds: Ints  # (kinds,)
    first: Ints  # where the heap of each class begins, (classes + 1,)
    size: Ints  # kinds in the heap, (classes,)
    tried: Array  # whether a task of the class found no room at this event, (classes,)
    aside: Ints  # the first kind set aside until there is room for longer tasks, (classes,)
    shortest: Floats  # the shortest task of these kinds, (classes,)
    fresh: Ints  # room for the kinds that begin to wait at this event, (kinds,)


class Running(NamedTuple):
    """The batches that run: a heap."""

    ends: Floats
    lines: Ints  # the first line of each batch in the history
    kind: Ints  # the kind of the batch of each line in the history


def _idle_processors(layers: Layers, pool: int, end: float) -> int:
    """Return how many idle processors of a pool stay until an end."""
    idle = 0
    for layer in range(layers.first[pool], layers.first[pool + 1]):
        step = layers.step[layer]
        if end <= layers.stays[step] * NEAR:
            idle += max(0, layers.there[step] - layers.busy[layer])
    return idle


def _first_pool(layers: Layers, site: MachineArrays, c: int, end: float) -> int:
    """Return the first pool with enough processors for a task of a class until an end, or -1."""
    for i in range(site.first_pool[c], site.first_pool[c + 1]):
        if _idle_processors(layers, site.pools[i], end) >= site.width[c]:
            return int(site.pools[i])
    return -1


def _count_held(amounts: Amounts, c: int, count: int, end: float) -> int:
    """Return how many tasks find free amounts until an end, or the reason why none does."""
    for r in range(amounts.use.shape[1]):
        use, first = amounts.use[c, r], amounts.level[r]
        if use <= 0:
            continue
        if amounts.there[first] - amounts.held[first] < use:
            return NO_ROOM
        for i in range(first, amounts.first[r + 1]):
            if i > first and amounts.times[i] * NEAR >= end:
                break
            count = min(count, (amounts.there[i] - amounts.held[i]) // use)
    return count if count > 0 else TOO_LONG


def _hold(amounts: Amounts, c: int, tasks: int, end: float) -> None:
    """Take the amounts that tasks hold from now until an end."""
    for r in range(amounts.use.shape[1]):
        for i in range(amounts.level[r], amounts.first[r + 1]):
            if i > amounts.level[r] and amounts.times[i] * NEAR >= end:
                break
            amounts.held[i] += amounts.use[c, r] * tasks


def _take_processors(
    layers: Layers, history: History, line: int, pool: int, end: float, wanted: int
) -> int:
    """Use the processors of a pool that leave first; return the line after the last one used."""
    while wanted > 0:
        best = -1
        for layer in range(layers.first[pool], layers.first[pool + 1]):
            step = layers.step[layer]
            if (
                end <= layers.stays[step] * NEAR
                and layers.there[step] > layers.busy[layer]
                and (best < 0 or layers.stays[step] < layers.stays[layers.step[best]])
            ):
                best = layer
        taken = min(wanted, layers.there[layers.step[best]] - layers.busy[best])
        layers.busy[best] += taken
        wanted -= taken
        history.tasks[line], history.layers[line], history.processors[line] = 0, best, taken
        line += 1
    return line


def _sort(numbers: Ints, end: int) -> None:
    """Sort the first numbers of an array by Shellsort, which compiles faster than numpy's sort."""
    gap = 1
    while 3 * gap < end:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, end):
            number, at = numbers[i], i
            while at >= gap and numbers[at - gap] > number:
                numbers[at] = numbers[at - gap]
                at -= gap
            numbers[at] = number
        gap //= 3


def _first_class(waiting: Waiting) -> int:
    """Return the class with the least key among those that may fit; -1 if there is none."""
    best = -1
    for c in range(len(waiting.size)):
        if waiting.size[c] > 0 and not waiting.tried[c]:
            at, least = waiting.first[c], waiting.first[best]
            if best < 0 or before(
                waiting.keys[at], waiting.kinds[at], waiting.keys[least], waiting.kinds[least]
            ):
                best = c
    return best


def _wait(waiting: Waiting, c: int, key: float, k: int) -> None:
    """Let a kind wait in the heap of its class."""
    at = waiting.first[c]
    waiting.size[c] = push(waiting.keys[at:], waiting.kinds[at:], waiting.size[c], key, k)


def _count_tasks(site: MachineArrays, tasks: TaskKinds, *_: object) -> int:
    return int(tasks.first[-1])


@kernel(python_up_to=MOST_IN_PYTHON, size=_count_tasks)
def _run(  # noqa: PLR0915 - in pieces, which hand all arrays on, it takes five times as long
    site: MachineArrays,
    tasks: TaskKinds,
    jobs: Ints,
    until: float,
    clocks: Floats,
    layers: Layers,
    amounts: Amounts,
    progress: Progress,
    waiting: Waiting,
    running: Running,
    history: History,
    starts: Floats,
    completion: Floats,
) -> int:
    """Simulate from event to event; return the number of lines in the history."""
    lengths, job_of, class_of, width = tasks.lengths, tasks.job_of, site.class_of, site.width
    left, after, fresh, opened = progress.left, progress.after, waiting.fresh, progress.opened
    drawn, number, clock = len(clocks) > 0, 0, 0.0
    line = batches = changed = released = 0
    while True:
        now = running.ends[0] if batches > 0 else np.inf
        if released < len(jobs):
            now = min(now, site.releases[jobs[released]])
        if changed < len(site.changes):
            now = min(now, site.changes[changed])
        if now >= until:  # infinite where nothing happens any more
            return line
        count_fresh = count_opened = 0

        # The machine changes.
        if changed < len(site.changes) and site.changes[changed] <= now:
            changed += 1
            for layer in range(len(layers.step)):
                last = site.first_step[layer + 1] - 1
                while layers.step[layer] < last and site.step_times[layers.step[layer] + 1] <= now:
                    layers.step[layer] += 1
            for r in range(len(amounts.level)):
                last = amounts.first[r + 1] - 1
                while amounts.level[r] < last and amounts.times[amounts.level[r] + 1] <= now:
                    amounts.level[r] += 1

        # Batches end, and give back all they hold.
        while batches > 0 and running.ends[0] <= now:
            at = running.lines[0]
            batches = pop(running.ends, running.lines, batches)
            k, count, start = running.kind[at], history.tasks[at], history.starts[at]
            j, end = job_of[k], start + lengths[k]
            for r in range(amounts.use.shape[1]):
                i = amounts.level[r]
                if start >= amounts.times[i] or amounts.times[i] * NEAR < end:
                    amounts.held[i] -= amounts.use[class_of[j], r] * count
            layers.busy[history.layers[at]] -= history.processors[at]
            at += 1
            while at < line and history.tasks[at] == 0:
                layers.busy[history.layers[at]] -= history.processors[at]
                at += 1
            progress.working[j] -= count * width[class_of[j]]
            while progress.aside[j] >= 0:
                fresh[count_fresh] = progress.aside[j]
                progress.aside[j] = after[progress.aside[j]]
                count_fresh += 1
            progress.unfinished[j] -= count
            if progress.unfinished[j] == 0:
                progress.stage[j] += 1
                opened[count_opened] = j
                count_opened += 1

        # Jobs are released.
        while released < len(jobs) and site.releases[jobs[released]] <= now:
            j = jobs[released]
            released += 1
            progress.pending[j] -= 1
            if progress.pending[j] == 0:
                opened[count_opened] = j
                count_opened += 1

        # Stages open; a job completes after its last, and its successors no longer wait for it.
        while count_opened > 0:
            count_opened -= 1
            j = opened[count_opened]
            s, count = progress.stage[j], 0
            if s == tasks.first_stage[j + 1]:
                completion[j] = now
                if now <= site.due[j] * NEAR or now - site.due[j] <= site.delay:
                    for i in range(site.first_successor[j], site.first_successor[j + 1]):
                        other = site.successors[i]
                        progress.pending[other] -= 1
                        if progress.pending[other] == 0:
                            opened[count_opened] = other
                            count_opened += 1
                continue
            if now > site.end * NEAR:
                continue
            for k in range(tasks.first_kind[s], tasks.first_kind[s + 1]):
                if lengths[k] == 0:
                    for i in range(tasks.first[k], tasks.first[k + 1]):
                        starts[i] = now
                    continue
                if count == 0 or drawn:
                    fresh[count_fresh] = k
                    count_fresh += 1
                    progress.reached[j] = k
                count += left[k]
            progress.unfinished[j] = count
            if count == 0:
                progress.stage[j] += 1
                opened[count_opened] = j
                count_opened += 1

        # Kinds begin to wait; those that were set aside do so again where they may find room.
        for c in range(len(waiting.size)):
            waiting.tried[c] = False
            if waiting.aside[c] >= 0 and (
                drawn or _first_pool(layers, site, c, now + waiting.shortest[c]) >= 0
            ):
                while waiting.aside[c] >= 0:
                    fresh[count_fresh] = waiting.aside[c]
                    waiting.aside[c] = after[waiting.aside[c]]
                    count_fresh += 1
                waiting.shortest[c] = np.inf
        if drawn:  # numbers are drawn in the order of the kinds
            _sort(fresh, count_fresh)
        for i in range(count_fresh):
            k = fresh[i]
            key = tasks.keys[k]
            if drawn:  # so that each waiting task is as likely as another to be the next
                key = clock + clocks[number % len(clocks)] / left[k]
                number += 1
            _wait(waiting, class_of[job_of[k]], key, k)

        # Tasks start, until no waiting task finds all it needs.
        idle = 0
        for layer in range(len(layers.busy)):
            idle += max(0, layers.there[layers.step[layer]] - layers.busy[layer])
        while idle > 0:
            c = _first_class(waiting)
            if c < 0:
                break
            at = waiting.first[c]
            key, k = waiting.keys[at], waiting.kinds[at]
            j, end = job_of[k], now + lengths[k]
            if now > tasks.latest[k]:
                progress.given_up[j] = True
            count, pool = 0, -1
            if not progress.given_up[j]:
                count = min(left[k], (site.most[j] - progress.working[j]) // width[c])
                count = _count_held(amounts, c, count, end) if count > 0 else JOB_LIMIT
                if count > 0:
                    pool = _first_pool(layers, site, c, end)
                    if pool < 0:
                        count = NO_ROOM if _first_pool(layers, site, c, now) < 0 else TOO_LONG
                if count == NO_ROOM and not drawn:
                    waiting.tried[c] = True
                    continue
            if count > 0:
                count = min(count, _idle_processors(layers, pool, end) // width[c])
                count = 1 if drawn else count
                first = tasks.first[k + 1] - left[k]
                left[k] -= count
                progress.working[j] += count * width[c]
                batches = push(running.ends, running.lines, batches, end, line)
                before_line = line
                line = _take_processors(layers, history, line, pool, end, count * width[c])
                for i in range(before_line, line):
                    history.starts[i], history.first[i] = now, first
                running.kind[before_line], history.tasks[before_line] = k, count
                _hold(amounts, c, count, end)
                for i in range(first, first + count):
                    starts[i] = now
                idle -= count * width[c]
                clock = key
                if left[k] > 0 and not drawn:
                    continue
            waiting.size[c] = pop(waiting.keys[at:], waiting.kinds[at:], waiting.size[c])
            if progress.given_up[j]:
                continue
            if count == JOB_LIMIT and not drawn:
                after[k], progress.aside[j] = progress.aside[j], k
                continue
            if count <= 0:
                after[k], waiting.aside[c] = waiting.aside[c], k
                # An amount that is lower for a while may be there again at the next event.
                retried = drawn or _first_pool(layers, site, c, end) >= 0
                waiting.shortest[c] = min(waiting.shortest[c], 0.0 if retried else lengths[k])
            if drawn:
                if count > 0 and left[k] > 0:
                    key = clock + clocks[number % len(clocks)] / left[k]
                    number += 1
                    _wait(waiting, c, key, k)
            elif progress.reached[j] == k:  # the kind that the stage hands out next
                for other in range(k + 1, tasks.first_kind[tasks.stage_of[k] + 1]):
                    if lengths[other] > 0:
                        progress.reached[j] = other
                        _wait(waiting, c, tasks.keys[other], other)
                        break


def simulate(
    site: MachineArrays,
    tasks: TaskKinds,
    jobs: Ints,
    until: float,
    clocks: Floats,
    starts: Floats,
    completion: Floats,
) -> History:
    """Simulate a dispatcher that always starts the startable task with the least key.

    Parameters
    ----------
    site, tasks
        The machine, and the kinds of tasks. Keys do not fall within a stage.
    jobs : ndarray of int
        The jobs to run, by release.
    until : float
        The simulation ends at the first event from then on.
    clocks : ndarray of float, shape (tasks,)
        Exponential numbers that draw tasks at random in place of keys; empty with keys.
    starts, completion : ndarray of float, shapes (tasks,) and (jobs,)
        Filled in: when each task starts, in the order of the kinds, and when each job completes.

    Returns
    -------
    History
        All batches that started.
    """
    layers, kinds, classes = len(site.first_step) - 1, len(tasks.lengths), len(site.width)
    first_kind = tasks.first_kind[tasks.first_stage]
    c, first, end = site.class_of[jobs], first_kind[jobs], first_kind[jobs + 1]
    used = (tasks.first[end] - tasks.first[first]) * np.minimum(site.width[c], layers)
    heap, most = np.bincount(c + 1, end - first, classes + 1), 1 + int(used.sum())
    number = len(tasks.first_stage) - 1
    layer_arrays = Layers(
        first=site.first_layer,
        there=site.there,
        stays=site.stays,
        step=site.first_step[:-1].copy(),
        busy=np.zeros(layers, np.int64),
    )
    amounts = Amounts(
        first=site.first_level,
        times=site.level_times,
        there=site.level,
        level=site.first_level[:-1].copy(),
        held=np.zeros(len(site.level), np.int64),
        use=site.use,
    )
    progress = Progress(
        left=np.diff(tasks.first),
        after=np.full(kinds, -1),
        stage=tasks.first_stage[:-1].copy(),
        reached=np.full(number, -1),
        unfinished=np.zeros(number, np.int64),
        working=np.zeros(number, np.int64),
        pending=site.predecessors + 1,
        given_up=np.zeros(number, np.bool_),
        aside=np.full(number, -1),
        opened=np.empty(number, np.int64),
    )
    waiting = Waiting(
        keys=np.empty(kinds),
        kinds=np.empty(kinds, np.int64),
        first=np.cumsum(heap).astype(np.int64),
        size=np.zeros(classes, np.int64),
        tried=np.zeros(classes, np.bool_),
        aside=np.full(classes, -1),
        shortest=np.full(classes, np.inf),
        fresh=np.empty(kinds, np.int64),
    )
    running = Running(np.empty(most), np.empty(most, np.int64), np.empty(most, np.int64))
    history = History(np.empty(most), *np.empty((4, most), np.int64))
    lines = _run(
        site,
        tasks,
        jobs,
        until,
        clocks,
        layer_arrays,
        amounts,
        progress,
        waiting,
        running,
        history,
        starts,
        completion,
    )
    return History._make(column[:lines] for column in history)
