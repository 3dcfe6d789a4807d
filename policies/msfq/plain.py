"""The simulator in plain Python, for rules that read the `State`.

Completions precede arrivals at the same time. The simulation computes only the start of each job.
"""

import traceback
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple

import numpy as np

from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.rule import Choice, Job, Rule, State
from schedopt.policies.msfq.summary import Floats, Trace, invalid_start


class Simulation(NamedTuple):
    """The outcome of a simulation.

    ``starts`` has the start of each job, NaN if it never starts; ``stop`` is the time at which the
    simulation stopped; ``most`` is the largest number of jobs in the system.
    """

    starts: Floats
    stop: float
    most: int


def simulate_plainly(
    queue: Instance,
    name: str,
    rule: Rule,
    trace: Trace,
    *,
    each: bool,
    together: bool,
    estimates: bool,
) -> Simulation:
    """Return when each job starts under a new rule: see `simulation.simulate`."""
    state, starts = State(queue), np.full(len(trace.times), np.nan)
    ends: list[tuple[float, int]] = []
    arrived, inside, most, count = 0, 0, 0, len(trace.times)
    at, kinds, sizes = trace.times.tolist(), trace.classes.tolist(), trace.sizes.tolist()
    while arrived < count or (each and inside):
        arrival = at[arrived] if arrived < count else inf
        end = ends[0][0] if ends else inf
        now = min(arrival, end)
        if now == inf:
            break
        if end <= arrival:
            state.complete(heappop(ends)[1])
            inside -= 1
        else:
            kind, job = kinds[arrived], arrived
            size = sizes[job] if estimates else None
            state.arrive(Job(job, kind, state.needs[kind], arrival, size))
            arrived, inside = arrived + 1, inside + 1
            most = max(most, inside)
        state.now = now
        if together and now in ([end for end, _ in ends[:1]] + at[arrived : arrived + 1]):
            continue
        while (started := next_start(name, rule, state)) is not None:
            state.start(started)
            job = started.number
            starts[job] = now
            heappush(ends, (now + sizes[job], job))
    return Simulation(starts, state.now, most)


def next_start(name: str, rule: Rule, state: State) -> Job | None:
    """Return the job that a rule starts next, or None; raise `InputError` if it may not start."""
    try:
        choice = rule(state)
    except InputError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise InputError(
            "a rule that returns a class, a job or None",
            found=f"{type(error).__name__}: {quote(str(error))} in line {last.lineno} of "
            f"{last.filename}",
            place=f"admission rule {name}",
        ) from error
    if choice is None:
        return None
    job = _chosen_job(choice, state)
    if job is None or job.need > state.free:
        raise invalid_start(name, quote(choice))
    return job


def _chosen_job(choice: Choice, state: State) -> Job | None:
    """Return the waiting job that a rule has chosen, or None."""
    if isinstance(choice, Job):
        return choice if choice in state else None
    if isinstance(choice, int) and not isinstance(choice, bool) and 0 <= choice < len(state.needs):
        return state.head(choice)
    return None
