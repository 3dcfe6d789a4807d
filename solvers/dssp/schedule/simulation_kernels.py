"""The dispatch simulator, compiled: `policies.dssp.plain` over flat arrays, on every machine.

Equal tasks that a stage hands out one after the other are one *kind* with a count. As many of a
kind as find all that they need start at once, as a batch, and end at once: time grows with batches,
not with tasks. Jobs that need the same (processors, pools, what their tasks hold) are a *class*: of
a class that finds nothing at an instant, nobody else is asked. On which processors tasks run is
worked out afterwards: see `processors`.
"""

from typing import Any, NamedTuple

import numpy as np

from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.compiling import kernel, makes_no_arrays
from schedopt.solvers.dssp.schedule.machine_arrays import (
    MOST_IN_PYTHON,
    NEAR,
    MachineArrays,
    TaskKinds,
)
from schedopt.solvers.kernels import before, pop, push

Array = Any  # numba gives its own types to what these kernels hand to one another
IN_THE_CLASS, IN_THE_JOB, IN_LENGTH = -3, -2, -1
"""Why a task waits: so would any of its class, any of its job; or it is too long."""
FRESH, OPENED, DRAWN, LINES, RUNNING, CHANGED, COMING = range(7)
"""What is counted: kinds that begin to wait, jobs whose next stage opens, numbers drawn, lines of
the history, batches that run, changes and releases so far."""


class History(NamedTuple):
    """What started, in that order: a line for each layer that a batch takes processors from."""

    starts: Floats
    first: Ints  # task of the batch, in the order of the kinds
    tasks: Ints  # of the batch; 0 in lines after its first
    layers: Ints
    processors: Ints


class State(NamedTuple):
    """The state of a simulation."""

    busy: Ints  # processors of each layer
    step: Ints  # of each layer
    held: Ints  # of each amount from each of its levels on, by what has started
    at: Ints  # the level of each amount
    left: Ints  # tasks of each kind to start
    stage: Ints  # of each job
    reached: Ints  # the last kind of a job's stage that has waited, (jobs,)
    unfinished: Ints  # tasks of the stage
    working: Ints  # processors of each job
    pending: Ints  # predecessors of each job, and its release
    given_up: Array  # jobs
    after: Ints  # the kind after one in a list
    of_job: Ints  # the first of a job's kinds that wait for it
    of_class: Ints  # the first of a class's kinds that are too long
    shortest: Floats  # of these
    fresh: Ints
    opened: Ints
    counts: Ints
    clock: Floats  # the key drawn last
    keys: Floats  # of the kinds that wait: a heap for each class
    kinds: Ints
    heap: Ints  # where that of a class begins
    waiting: Ints  # how many of a class wait
    asked: Array  # whether a class may find what it needs
    ends: Floats  # of the batches that run: a heap
    batches: Ints  # their first lines
    batch: Ints  # the kind of each line


class Simulation(NamedTuple):
    """A simulation: what is given, its state, and what it fills in."""

    site: MachineArrays
    kinds: TaskKinds
    jobs: Ints
    until: float  # it ends at the first event from then on
    clocks: (
        Floats  # numbers that draw a task after another in place of keys; where keys decide: none
    )
    state: State
    history: History
    starts: Floats
    completion: Floats


@makes_no_arrays
def _tasks_with_room(site: MachineArrays, state: State, r: int, use: int, end: float) -> int:
    """Return how many tasks find what they hold of an amount now, and at all times until an end."""
    first = state.at[r]
    room = (site.level[first] - state.held[first]) // use
    for i in range(first + 1, site.first_level[r + 1]):
        if site.level_times[i] * NEAR >= end:
            break
        room = min(room, (site.level[i] - state.held[i]) // use)
    return int(room)


@makes_no_arrays
def _idle_processors(site: MachineArrays, state: State, pool: int, end: float) -> int:
    """Return how many idle processors of a pool stay until an end."""
    idle = 0
    for layer in range(site.first_layer[pool], site.first_layer[pool + 1]):
        step = state.step[layer]
        if end <= site.stays[step] * NEAR:
            idle += max(0, site.there[step] - state.busy[layer])
    return idle


@makes_no_arrays
def _first_pool(site: MachineArrays, state: State, c: int, end: float) -> int:
    """Return the first pool in which a task of a class finds processors until an end; -1: none."""
    for i in range(site.first_pool[c], site.first_pool[c + 1]):
        if _idle_processors(site, state, site.pools[i], end) >= site.width[c]:
            return int(site.pools[i])
    return -1


@makes_no_arrays
def _startable(site: MachineArrays, kinds: TaskKinds, state: State, k: int, now: float) -> int:
    """Return how many tasks of a kind find what they hold, and may run; or why none does."""
    j = kinds.job_of[k]
    c, end = site.class_of[j], now + kinds.lengths[k]
    count = min(state.left[k], (site.most[j] - state.working[j]) // site.width[c])
    if count <= 0:
        return IN_THE_JOB
    for r in range(site.use.shape[1]):
        use = site.use[c, r]
        if use > 0:
            if site.level[state.at[r]] - state.held[state.at[r]] < use:
                return IN_THE_CLASS
            count = min(count, _tasks_with_room(site, state, r, use, end))
    if count <= 0:
        return IN_LENGTH
    if _first_pool(site, state, c, end) < 0:
        return IN_THE_CLASS if _first_pool(site, state, c, now) < 0 else IN_LENGTH
    return int(count)


@makes_no_arrays
def _hold_amounts(site: MachineArrays, state: State, c: int, tasks: int, end: float) -> None:
    """Take what tasks hold from now until an end."""
    for r in range(site.use.shape[1]):
        amount = site.use[c, r] * tasks
        if amount:
            state.held[state.at[r]] += amount
            for i in range(state.at[r] + 1, site.first_level[r + 1]):
                if site.level_times[i] * NEAR >= end:
                    break
                state.held[i] += amount


@makes_no_arrays
def _take_processors(sim: Simulation, line: int, pool: int, end: float, wanted: int) -> int:
    """Take idle processors of a pool until an end, a line for each layer; return their number."""
    site, state, history = sim.site, sim.state, sim.history
    while wanted > 0:
        best = -1
        for layer in range(site.first_layer[pool], site.first_layer[pool + 1]):
            step = state.step[layer]
            if (
                end <= site.stays[step] * NEAR
                and site.there[step] > state.busy[layer]
                and (best < 0 or site.stays[step] < site.stays[state.step[best]])
            ):
                best = layer
        taken = min(wanted, site.there[state.step[best]] - state.busy[best])
        state.busy[best] += taken
        wanted -= taken
        history.tasks[line], history.layers[line] = 0, best
        history.processors[line] = taken
        line += 1
    return line


@makes_no_arrays
def _end_batch(sim: Simulation, line: int) -> None:
    """End a batch: give back what it took, and note that its job goes on."""
    site, kinds, state, history = sim.site, sim.kinds, sim.state, sim.history
    k, tasks, start = state.batch[line], history.tasks[line], history.starts[line]
    j, end = kinds.job_of[k], start + kinds.lengths[k]
    c = site.class_of[j]
    for r in range(site.use.shape[1]):
        i = state.at[r]
        if start >= site.level_times[i] or site.level_times[i] * NEAR < end:
            state.held[i] -= site.use[c, r] * tasks
    while True:
        state.busy[history.layers[line]] -= history.processors[line]
        line += 1
        if line == state.counts[LINES] or history.tasks[line] > 0:
            break
    state.working[j] -= tasks * site.width[c]
    while state.of_job[j] >= 0:
        _begin_waiting(state, state.of_job[j])
        state.of_job[j] = state.after[state.of_job[j]]
    state.unfinished[j] -= tasks
    if state.unfinished[j] == 0:
        state.stage[j] += 1
        _release_stage(state, j)


@makes_no_arrays
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


@makes_no_arrays
def _begin_waiting(state: State, k: int) -> None:
    """Let a kind wait from now on."""
    state.fresh[state.counts[FRESH]] = k
    state.counts[FRESH] += 1


@makes_no_arrays
def _release_stage(state: State, j: int) -> None:
    """Let a job's present stage be opened."""
    state.opened[state.counts[OPENED]] = j
    state.counts[OPENED] += 1


@makes_no_arrays
def _open_stage(sim: Simulation, now: float) -> None:
    """Open the stages of jobs that go on; what has no length is done at once."""
    site, kinds, state = sim.site, sim.kinds, sim.state
    while state.counts[OPENED] > 0:
        state.counts[OPENED] -= 1
        j = state.opened[state.counts[OPENED]]
        s = state.stage[j]
        if s == kinds.first_stage[j + 1]:
            sim.completion[j] = now
            if now <= site.due[j] * NEAR or now - site.due[j] <= site.delay:
                for i in range(site.first_successor[j], site.first_successor[j + 1]):
                    _count_down_waits(state, site.successors[i])
            continue
        if now > site.end * NEAR:
            continue
        count = 0
        for k in range(kinds.first_kind[s], kinds.first_kind[s + 1]):
            if kinds.lengths[k] == 0:
                for i in range(kinds.first[k], kinds.first[k + 1]):
                    sim.starts[i] = now
                continue
            if count == 0 or len(sim.clocks) > 0:
                _begin_waiting(state, k)
                state.reached[j] = k
            count += state.left[k]
        state.unfinished[j] = count
        if count == 0:
            state.stage[j] += 1
            _release_stage(state, j)


@makes_no_arrays
def _count_down_waits(state: State, j: int) -> None:
    """Let a job wait for one thing less."""
    state.pending[j] -= 1
    if state.pending[j] == 0:
        _release_stage(state, j)


@makes_no_arrays
def _next_kind(kinds: TaskKinds, state: State, k: int) -> int:
    """Return the next kind of a stage, if no one asked for it yet; -1 where there is none."""
    j = kinds.job_of[k]
    if state.reached[j] != k:
        return -1
    for other in range(k + 1, kinds.first_kind[kinds.stage_of[k] + 1]):
        if kinds.lengths[other] > 0:
            state.reached[j] = other
            return other
    return -1


@makes_no_arrays
def _change_machine(site: MachineArrays, state: State, now: float) -> None:
    """Let the machine change to what it is now."""
    for layer in range(len(state.step)):
        last = site.first_step[layer + 1] - 1
        while state.step[layer] < last and site.step_times[state.step[layer] + 1] <= now:
            state.step[layer] += 1
    for r in range(len(state.at)):
        last = site.first_level[r + 1] - 1
        while state.at[r] < last and site.level_times[state.at[r] + 1] <= now:
            state.at[r] += 1


@makes_no_arrays
def _push_waiting(state: State, c: int, key: float, k: int) -> None:
    """Let a kind wait among those of its class, under a key."""
    at = state.heap[c]
    state.waiting[c] = push(state.keys[at:], state.kinds[at:], state.waiting[c], key, k)


@makes_no_arrays
def _pop_waiting(state: State, c: int) -> None:
    """Take the first kind of a class out of those that wait."""
    at = state.heap[c]
    state.waiting[c] = pop(state.keys[at:], state.kinds[at:], state.waiting[c])


@makes_no_arrays
def _next_event_time(sim: Simulation) -> float:
    """Return the time of the next event: a task ends, a job is released, the machine changes."""
    site, jobs, state, counts = sim.site, sim.jobs, sim.state, sim.state.counts
    now = state.ends[0] if counts[RUNNING] > 0 else np.inf
    if counts[COMING] < len(jobs):
        now = min(now, site.releases[jobs[counts[COMING]]])
    if counts[CHANGED] < len(site.changes):
        now = min(now, site.changes[counts[CHANGED]])
    return float(now)


@makes_no_arrays
def _process(sim: Simulation, now: float) -> None:
    """Let happen what happens now: the machine changes, batches end, jobs are released."""
    site, jobs, state, counts = sim.site, sim.jobs, sim.state, sim.state.counts
    while counts[CHANGED] < len(site.changes) and site.changes[counts[CHANGED]] <= now:
        _change_machine(site, state, now)
        counts[CHANGED] += 1
    while counts[RUNNING] > 0 and state.ends[0] <= now:
        line = state.batches[0]
        counts[RUNNING] = pop(state.ends, state.batches, counts[RUNNING])
        _end_batch(sim, line)
        if counts[OPENED] > 0:
            _open_stage(sim, now)
    while counts[COMING] < len(jobs) and site.releases[jobs[counts[COMING]]] <= now:
        _count_down_waits(state, jobs[counts[COMING]])
        counts[COMING] += 1
        _open_stage(sim, now)


@makes_no_arrays
def _queue_kinds(sim: Simulation, now: float) -> None:
    """Let kinds wait that begin to, and those again that may find more than before."""
    state, counts, drawn = sim.state, sim.state.counts, len(sim.clocks) > 0
    for c in range(len(state.waiting)):
        state.asked[c] = True
        if state.of_class[c] < 0:
            continue
        if drawn or _first_pool(sim.site, state, c, now + state.shortest[c]) >= 0:
            while state.of_class[c] >= 0:
                _begin_waiting(state, state.of_class[c])
                state.of_class[c] = state.after[state.of_class[c]]
            state.shortest[c] = np.inf
    if drawn:
        _sort(state.fresh, counts[FRESH])
    for i in range(counts[FRESH]):
        _enqueue_kind(sim, state.fresh[i])
    counts[FRESH] = 0


@makes_no_arrays
def _enqueue_kind(sim: Simulation, k: int) -> None:
    """Let a kind wait, under its key or one that is drawn."""
    kinds, state, clocks = sim.kinds, sim.state, sim.clocks
    key = kinds.keys[k]
    if len(clocks) > 0:
        number = state.counts[DRAWN] % len(clocks)
        key = state.clock[0] + clocks[number] / state.left[k]
        state.counts[DRAWN] += 1
    _push_waiting(state, sim.site.class_of[kinds.job_of[k]], key, k)


@makes_no_arrays
def _first_class(state: State) -> int:
    """Return the class that has the least key of all that may find what they need; -1: none."""
    best = -1
    for c in range(len(state.waiting)):
        if state.waiting[c] > 0 and state.asked[c]:
            at, least = state.heap[c], state.heap[best]
            if best < 0 or before(
                state.keys[at], state.kinds[at], state.keys[least], state.kinds[least]
            ):
                best = c
    return best


@makes_no_arrays
def _start_tasks(sim: Simulation, k: int, count: int, now: float) -> int:
    """Start up to so many tasks of a kind in the first pool that has room; return how many."""
    site, kinds, state, history = sim.site, sim.kinds, sim.state, sim.history
    j, end, counts = kinds.job_of[k], now + kinds.lengths[k], state.counts
    c = site.class_of[j]
    pool, width, line = _first_pool(site, state, c, end), site.width[c], counts[LINES]
    count = min(count, _idle_processors(site, state, pool, end) // width)
    first = kinds.first[k + 1] - state.left[k]
    state.left[k] -= count
    counts[RUNNING] = push(state.ends, state.batches, counts[RUNNING], end, line)
    counts[LINES] = _take_processors(sim, line, pool, end, count * width)
    for i in range(line, counts[LINES]):
        history.starts[i], history.first[i] = now, first
    state.batch[line], history.tasks[line] = k, count
    _hold_amounts(site, state, c, count, end)
    state.working[j] += count * width
    for i in range(first, first + count):
        sim.starts[i] = now
    return int(count)


@makes_no_arrays
def _dispatch_tasks(sim: Simulation, now: float) -> None:
    """Start tasks until none of those that wait finds all it needs."""
    site, kinds, state = sim.site, sim.kinds, sim.state
    drawn, idle = len(sim.clocks) > 0, 0
    for layer in range(len(state.busy)):
        idle += max(0, site.there[state.step[layer]] - state.busy[layer])
    while idle > 0 and now < sim.until:
        c = _first_class(state)
        if c < 0:
            return
        k = state.kinds[state.heap[c]]
        j = kinds.job_of[k]
        if now > kinds.latest[k]:
            state.given_up[j] = True
        if state.given_up[j]:
            _pop_waiting(state, c)
            continue
        count = _startable(site, kinds, state, k, now)
        if count == IN_THE_CLASS and not drawn:
            state.asked[c] = False
        elif count > 0:
            count = _start_tasks(sim, k, 1 if drawn else count, now)
            idle -= count * site.width[c]
            _continue(sim, c, k)
        else:
            _pop_waiting(state, c)
            _set_kind_aside(sim, c, k, count, now)


@makes_no_arrays
def _continue(sim: Simulation, c: int, k: int) -> None:
    """Let the rest of a kind wait whose first tasks have started, or else the next of its stage."""
    kinds, state, drawn = sim.kinds, sim.state, len(sim.clocks) > 0
    key = state.keys[state.heap[c]]
    state.clock[0] = key
    if state.left[k] > 0 and not drawn:
        return
    follower = -1 if drawn else _next_kind(kinds, state, k)
    if follower >= 0 and kinds.keys[follower] == key:
        state.kinds[state.heap[c]] = follower
        return
    _pop_waiting(state, c)
    if state.left[k] > 0:
        _enqueue_kind(sim, k)
    elif follower >= 0:
        _push_waiting(state, c, kinds.keys[follower], follower)


@makes_no_arrays
def _set_kind_aside(sim: Simulation, c: int, k: int, why: int, now: float) -> None:
    """Set a kind aside that does not find what it needs, until more may be there."""
    site, kinds, state, drawn = sim.site, sim.kinds, sim.state, len(sim.clocks) > 0
    j = kinds.job_of[k]
    if why == IN_THE_JOB and not drawn:
        state.after[k], state.of_job[j] = state.of_job[j], k
        return
    state.after[k], state.of_class[c] = state.of_class[c], k
    # What a dip of an amount refuses is asked again at each event.
    alone = drawn or _first_pool(site, state, c, now + kinds.lengths[k]) >= 0
    state.shortest[c] = min(state.shortest[c], 0.0 if alone else kinds.lengths[k])
    follower = -1 if drawn else _next_kind(kinds, state, k)
    if follower >= 0:
        _push_waiting(state, c, kinds.keys[follower], follower)


@makes_no_arrays
def _run(sim: Simulation) -> None:
    """Simulate from event to event."""
    while True:
        now = _next_event_time(sim)
        if now == np.inf or now >= sim.until:
            return
        _process(sim, now)
        _queue_kinds(sim, now)
        _dispatch_tasks(sim, now)


@kernel(python_up_to=MOST_IN_PYTHON, size=lambda site, kinds, *_: int(kinds.first[-1]))
def simulate(
    site: MachineArrays,
    kinds: TaskKinds,
    jobs: Ints,
    until: float,
    clocks: Floats,
    starts: Floats,
    completion: Floats,
) -> History:
    """Simulate a dispatcher that starts, of the tasks that find all they need, the least key's.

    Keys do not fall within a stage; `jobs` are those that are run, by release; `clocks` are
    exponential numbers, shape (tasks,), which draw tasks in place of keys. When each task starts,
    in the order of `kinds`, and when each job completes is filled in. Returns what has started.
    """
    layers, number = len(site.first_step) - 1, len(kinds.lengths)
    heap, most = np.zeros(len(site.width) + 1, np.int64), 1
    for j in jobs:
        c = site.class_of[j]
        first, end = (
            kinds.first_kind[kinds.first_stage[j]],
            kinds.first_kind[kinds.first_stage[j + 1]],
        )
        most += (kinds.first[end] - kinds.first[first]) * min(site.width[c], layers)
        heap[c + 1] += end - first
    count, classes = len(kinds.first_stage) - 1, len(site.width)
    state = State(
        np.zeros(layers, np.int64),
        site.first_step[:-1].copy(),
        np.zeros(len(site.level), np.int64),
        site.first_level[:-1].copy(),
        kinds.first[1:] - kinds.first[:-1],
        kinds.first_stage[:-1].copy(),
        np.full(count, -1, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        site.predecessors + 1,
        np.zeros(count, np.bool_),
        np.full(number, -1, np.int64),
        np.full(count, -1, np.int64),
        np.full(classes, -1, np.int64),
        np.full(classes, np.inf),
        np.empty(number, np.int64),
        np.empty(count, np.int64),
        np.zeros(7, np.int64),
        np.zeros(1),
        np.empty(number),
        np.empty(number, np.int64),
        np.cumsum(heap),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.bool_),
        np.empty(most),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    whole = np.empty((4, most), np.int64)
    history = History(np.empty(most), whole[0], whole[1], whole[2], whole[3])
    _run(Simulation(site, kinds, jobs, until, clocks, state, history, starts, completion))
    lines = state.counts[LINES]
    return History(
        history.starts[:lines],
        history.first[:lines],
        history.tasks[:lines],
        history.layers[:lines],
        history.processors[:lines],
    )
