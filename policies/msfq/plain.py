"""The simulator in plain Python, for rules that are not compiled, and to test compiled ones.

At the same time, completions precede arrivals. The simulation computes only the start and end of
each job; all counters follow from these.
"""

import traceback
from heapq import heappop, heappush
from math import inf

import numpy as np

from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.experiment import Counters, Experiment, Floats, Ints, invalid_start
from schedopt.policies.msfq.rule import Choice, Job, Rule, State


class Times:
    """The start and end of each job, NaN where there is none, and when the simulation stopped.

    ``most`` is the largest number of jobs in the system.
    """

    def __init__(self, jobs: int) -> None:
        self.starts, self.ends = np.full(jobs, np.nan), np.full(jobs, np.nan)
        self.stop, self.most = 0.0, 0


def times(
    queue: Instance,
    name: str,
    rule: Rule,
    trace: Trace,
    run: Experiment,
) -> Times:
    """Return when each job starts and ends under a new rule.

    With ``run.each`` the simulation continues after the last arrival until no job can start. The
    rule is called after each event or, with ``run.together``, after all events at the same time.
    """
    state, outcome = State(queue), Times(len(trace.times))
    ends: list[tuple[float, int]] = []
    clock = _Clock(rule, run.seed)
    arrived, inside, count = 0, 0, len(trace.times)
    at, kinds, sizes = trace.times.tolist(), trace.classes.tolist(), trace.sizes.tolist()
    while True:
        arrival = at[arrived] if arrived < count else np.inf
        end = ends[0][0] if ends else inf
        now = min(arrival, end)
        turn = clock.next < now
        if (not turn and now == np.inf) or (arrived == count and not (inside and run.each)):
            break
        state.now = clock.next if turn else now
        if turn:
            clock.move_on(rule)
        elif end <= arrival:
            job = heappop(ends)[1]
            state.complete(job)
            outcome.ends[job] = now
            inside -= 1
        else:
            kind, job = kinds[arrived], arrived
            size = sizes[job] if run.estimates else None
            state.arrive(Job(job, kind, state.needs[kind], arrival, size))
            arrived, inside = arrived + 1, inside + 1
            outcome.most = max(outcome.most, inside)
        if run.together and state.now in ([end for end, _ in ends[:1]] + at[arrived : arrived + 1]):
            continue
        while (started := next_start(name, rule, state)) is not None:
            state.start(started)
            job = started.number
            outcome.starts[job] = state.now
            heappush(ends, (state.now + sizes[job], job))
    outcome.stop = state.now
    return outcome


class _Clock:
    """The random clock of a rule whose turn changes with time."""

    def __init__(self, rule: Rule, seed: int) -> None:
        self.next = np.inf
        if rule.holding:
            from schedopt.policies.msfq.random_kernels import exponential, stream

            self._draw, self._exponential = stream(seed, 3), exponential
            self.next = self._exponential(self._draw) * rule.holding[rule.turn]

    def move_on(self, rule: Rule) -> None:
        """Change the turn, and draw when it changes next."""
        rule.turn = (rule.turn + 1) % len(rule.holding)
        self.next += self._exponential(self._draw) * rule.holding[rule.turn]


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


def simulate_plainly(
    queue: Instance, name: str, rule: Rule, trace: Trace, run: Experiment
) -> Counters:
    """Simulate jobs under a rule, and return the counters of the compiled simulator."""
    return _measure(queue, trace, times(queue, name, rule, trace, run), run)


def _measure(queue: Instance, trace: Trace, outcome: Times, run: Experiment) -> Counters:
    """Compute the counters from the starts and ends."""
    from schedopt.policies.msfq.kernels import BUCKETS, LOWEST

    came, kinds, ends, stop = trace.times, trace.classes, outcome.ends, outcome.stop
    warm, batches, classes = run.warm, run.batches, len(queue.classes)
    first = warm + np.arange(batches) * (len(came) - warm) // batches
    began = came[warm]
    responses = ends - came
    # A batch ends with its last arrival; completions before the next arrival belong to it.
    done = np.flatnonzero((ends >= began) & (np.arange(len(came)) >= warm))
    last = np.searchsorted(came, ends[done], side="left") - 1
    batch = np.clip(np.searchsorted(first, last, side="right") - 1, 0, batches - 1)
    sums, counts = np.zeros((batches, classes)), np.zeros((batches, classes), np.int64)
    np.add.at(sums, (batch, kinds[done]), responses[done])
    np.add.at(counts, (batch, kinds[done]), 1)
    inside = np.minimum(np.where(np.isnan(ends), stop, ends), stop)
    running = np.where(np.isnan(outcome.starts), stop, outcome.starts)
    stayed = np.maximum(inside - np.maximum(came, began), 0.0)
    needs = np.array([job.need for job in queue.classes])
    histogram = np.zeros((classes, BUCKETS), np.int64)
    buckets = (responses[done].view(np.int64) >> 45) - LOWEST
    np.add.at(histogram, (kinds[done], np.clip(buckets, 0, BUCKETS - 1)), 1)
    seen, samples = run.grid[run.grid < stop], np.zeros((len(run.grid), classes), np.int64)
    before = np.searchsorted(came, seen, side="right") - 1
    samples[: len(seen)] = _jobs_in_system(ends, kinds, classes, before, seen)
    return Counters(
        sums=sums,
        counts=counts,
        levels=_jobs_in_system(ends, kinds, classes, first, came[first]),
        areas=np.bincount(kinds, stayed, classes).astype(np.float64),
        came=np.bincount(kinds[warm:], minlength=classes),
        histogram=histogram,
        phases=np.zeros((2, 5)),
        time=float(stop - began),
        busy=float(needs[kinds] @ np.maximum(inside - np.maximum(running, began), 0)),
        most=outcome.most,
        starts=outcome.starts if run.each else np.empty(0),
        samples=samples,
        elapsed=float(stop - (0.0 if run.trace is None else came[0])),
        oldest=_oldest_waits(came, outcome, kinds, classes),
    )


def _jobs_in_system(ends: Floats, kinds: Ints, classes: int, last: Ints, times: Floats) -> Ints:
    """Return the numbers of jobs in the system by class at some times, after given arrivals."""
    numbers = np.zeros((len(times), classes), np.int64)
    for c in range(classes):
        mine = np.flatnonzero(kinds == c)
        gone = np.searchsorted(np.sort(ends[mine]), times, side="right")
        numbers[:, c] = np.searchsorted(mine, last, side="right") - gone
    return numbers


def _oldest_waits(came: Floats, outcome: Times, kinds: Ints, classes: int) -> Floats:
    """Return how long the oldest waiting job of each class has waited at the end."""
    wait = np.zeros(classes)
    waiting = np.isnan(outcome.starts) & (came <= outcome.stop)
    np.maximum.at(wait, kinds[waiting], outcome.stop - came[waiting])
    return wait
