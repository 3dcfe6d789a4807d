"""The event loop of the simulator for flat rules: arrivals, completions, and starts.

It computes only the start of each job, in compiled code or as Python; all measures follow from
these.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from schedopt.policies.msfq.rule import FlatState, NextStart
from schedopt.solvers.compiling import kernel, specialized
from schedopt.solvers.kernels import pop, push

ARRIVED, IN_SYSTEM, FREE, RUNNING, PHASE, FAULT = range(6)
"""Places in ``whole``: arrivals so far, jobs in the system, idle servers, running jobs,
the phase of MSFQ, and a class that the rule was not allowed to start (-1: none)."""
NOW, NEXT_TURN, BEGAN = range(3)
"""Places in ``real``: the time, the next change of a random clock, the end of the warm-up."""


class Jobs(NamedTuple):
    """The jobs in order of arrival: arrays of shape (jobs,).

    ``starts`` is NaN for jobs that have not started; ``after`` is the next job in line.
    """

    times: Any
    classes: Any
    sizes: Any
    starts: Any
    after: Any


class Simulator(NamedTuple):
    """The state of the simulator; `FlatState` is the state of the queue.

    ``whole`` and ``real`` hold scalars by place. ``last`` is the last waiting job of each class.
    ``ends`` and ``ended`` are a heap of the completion times and jobs. ``holding`` is the mean time
    for which nMSR keeps each class's schedule, and ``random`` draws these times. ``phases``, shape
    (2, 5), has the time in MSFQ's phases and the entries.
    """

    whole: Any
    real: Any
    last: Any
    ends: Any
    ended: Any
    holding: Any
    random: Any
    phases: Any


def next_start(state: FlatState, free: int) -> int:
    """Return the class that starts next; `advance_by` replaces this by a rule."""
    raise NotImplementedError


@cache
def advance_by(rule: NextStart) -> Any:
    """Return `advance` compiled for a rule, which is a constant in it."""
    own = specialized(advance, f"advance_{rule.__name__}", next_start=rule)
    return kernel()(own)


def advance(
    jobs: Jobs,
    state: FlatState,
    sim: Simulator,
    replays: bool,
    has_phases: bool,
) -> None:
    """Simulate until the last job has arrived; in a replay, until no job can start.

    The rule is called after each event, and in a replay after all events at the same time.
    """
    whole, real, last = sim.whole, sim.real, jobs.times.size
    while whole[ARRIVED] < last or (replays and whole[IN_SYSTEM]):
        arrival = jobs.times[whole[ARRIVED]] if whole[ARRIVED] < last else np.inf
        end = sim.ends[0] if whole[RUNNING] else np.inf
        now = min(arrival, end)
        if real[NEXT_TURN] < now:
            now = real[NEXT_TURN]
            state.memory[0] = (state.memory[0] + 1) % len(state.needs)
            mean = sim.holding[state.memory[0]]
            real[NEXT_TURN] = now + mean * sim.random.standard_exponential()
        elif now == np.inf:
            return
        elif end <= arrival:
            c = jobs.classes[sim.ended[0]]
            whole[RUNNING] = pop(sim.ends, sim.ended, whole[RUNNING])
            state.running[c] -= 1
            whole[FREE] += state.needs[c]
            whole[IN_SYSTEM] -= 1
        else:
            arrive(jobs, state, sim)
        real[NOW] = now
        if replays:
            coming = jobs.times[whole[ARRIVED]] if whole[ARRIVED] < last else np.inf
            if coming == now or (whole[RUNNING] and sim.ends[0] == now):
                continue
        c = next_start(state, whole[FREE])
        while c >= 0:
            if c >= len(state.needs) or not state.waiting[c] or state.needs[c] > whole[FREE]:
                whole[FAULT] = c
                return
            begin(c, jobs, state, sim)
            c = next_start(state, whole[FREE])
        if has_phases:
            note_phase(state, sim)


def arrive(jobs: Jobs, state: FlatState, sim: Simulator) -> None:
    """Append the next job to the line of its class."""
    job = sim.whole[ARRIVED]
    c = jobs.classes[job]
    if state.waiting[c]:
        jobs.after[sim.last[c]] = job
    else:
        state.head[c] = job
    sim.last[c] = job
    state.waiting[c] += 1
    sim.whole[ARRIVED] += 1
    sim.whole[IN_SYSTEM] += 1


def begin(c: int, jobs: Jobs, state: FlatState, sim: Simulator) -> None:
    """Start the first job of a class."""
    whole, job, now = sim.whole, state.head[c], sim.real[NOW]
    state.head[c] = jobs.after[job]
    state.waiting[c] -= 1
    state.running[c] += 1
    whole[FREE] -= state.needs[c]
    jobs.starts[job] = now
    whole[RUNNING] = push(sim.ends, sim.ended, whole[RUNNING], now + jobs.sizes[job], job)


def note_phase(state: FlatState, sim: Simulator) -> None:
    """Record the time in each phase of section 4.2; phase 0 is an empty system."""
    small, large, phase = state.memory[0], state.memory[1], sim.whole[PHASE]
    inside = state.waiting[small] + state.running[small]
    if state.running[large]:
        new = 1
    elif not state.running[small]:
        new = 0
    elif state.memory[2]:
        new = 4
    else:
        new = 2 if phase != 3 and inside >= state.needs[large] else 3
    if new != phase:
        counted = max(sim.real[NOW] - sim.real[BEGAN], 0.0)
        sim.phases[0, phase] += counted
        sim.phases[0, new] -= counted
        sim.phases[1, new] += counted > 0.0
        sim.whole[PHASE] = new
