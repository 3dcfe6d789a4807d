"""Simulation of a rule on random jobs or a trace: compiled for flat rules, else in plain Python.

Random jobs are drawn independently of the rule, so that all rules see the same jobs for the same
seed. They are drawn and measured in chunks, so memory does not grow with the number of arrivals.
"""

import traceback
from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf
from typing import Any

import numpy as np

from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq import Instance
from schedopt.policies.msfq import kernels
from schedopt.policies.msfq.rule import (
    Choice,
    FlatRule,
    FlatState,
    Job,
    Rule,
    RuleFactory,
    State,
    by_need,
    slots,
)
from schedopt.policies.msfq.summary import (
    BATCHES,
    BUCKETS,
    LOWEST,
    Counters,
    Floats,
    Ints,
    Trace,
    invalid_start,
)
from schedopt.solvers.compiling import COMPILES


def simulate(
    queue: Instance,
    plan: RuleFactory,
    *,
    arrivals: int,
    seed: int = 0,
    trace: Trace | None = None,
    estimates: bool = False,
    warm: int | None = None,
    grid: Sequence[float] | Floats = (),
    chunk: int = 1 << 18 if COMPILES else 1 << 13,
) -> Counters:
    """Simulate a policy, and return the counters.

    Parameters
    ----------
    arrivals, warm : int
        The number of arrivals, of which ``warm`` are not counted: by default a tenth, and 0 with a
        trace.
    trace : Trace, optional
        Jobs that replace the random ones. Then the simulation continues until all jobs end, and a
        rule is called once after all events at the same time.
    estimates : bool
        Whether rules in plain Python know the size of each job.
    grid : sequence of float
        Times at which the numbers of jobs in the system are sampled, in ascending order.
    chunk : int
        The number of random jobs that are drawn at a time.
    """
    if trace is not None:
        arrivals = min(arrivals, len(trace.times))
        trace = trace.take(slice(arrivals))
    if warm is None:
        warm = 0 if trace else arrivals // 10
    rule = plan.make()
    measurement = Measurement(queue, arrivals, warm, np.asarray(grid, dtype=np.float64))
    jobs_random, clock = (np.random.default_rng((seed, stream)) for stream in (1, 2))
    if not isinstance(rule, FlatRule):
        jobs = draw(queue, arrivals, jobs_random) if trace is None else trace
        starts, stop = simulate_plainly(
            queue, plan.name, rule, jobs, replays=trace is not None, estimates=estimates
        )
        measurement.expect(jobs.times)
        measurement.add(np.arange(arrivals), jobs, starts, stop)
        first = 0.0 if trace is None else float(jobs.times[0])
        return measurement.counters(stop, first, starts)
    state, sim = _flat_state(queue, rule), _simulator(queue, rule, clock)
    advance = kernels.advance_by(rule.next_start)
    number, table = np.arange(0), _table(Trace(np.empty(0), np.empty(0, np.int64), np.empty(0)))
    drawn, last = 0, 0.0
    while drawn < arrivals:
        new = trace or draw(queue, min(chunk, arrivals - drawn), jobs_random, last)
        measurement.expect(new.times)
        sim.real[kernels.BEGAN] = measurement.began
        number = np.concatenate((number, np.arange(drawn, drawn + len(new.times))))
        table = kernels.Jobs(*map(np.concatenate, zip(table, _table(new), strict=True)))
        drawn, last = drawn + len(new.times), new.times[-1]
        advance(table, state, sim, trace is not None, rule.phases)
        if (fault := sim.whole[kernels.FAULT]) >= 0:
            raise invalid_start(plan.name, str(fault))
        now = float(sim.real[kernels.NOW])
        over = table.starts + table.sizes <= now
        if drawn == arrivals:
            over[:] = True
        measurement.add(number[over], Trace(*table[:3]).take(over), table.starts[over], now)
        if drawn < arrivals:
            number, table = number[~over], _without(over, table, state, sim)
    sim.phases[0, sim.whole[kernels.PHASE]] += now - measurement.began
    first = float(new.times[0]) if trace else 0.0
    return measurement.counters(now, first, table.starts)._replace(phases=sim.phases)


def draw(queue: Instance, arrivals: int, random: np.random.Generator, after: float = 0.0) -> Trace:
    """Return random jobs that arrive after a time."""
    rates = np.array([job.arrival_rate for job in queue.classes])
    times = after + np.cumsum(random.exponential(1.0 / queue.arrival_rate, arrivals))
    classes = random.choice(len(rates), arrivals, p=rates / rates.sum())
    sizes = np.empty(arrivals)
    for c, job in enumerate(queue.classes):
        mine = np.flatnonzero(classes == c)
        sizes[mine] = job.sizes.draw(random, len(mine)) / job.service_rate
    return Trace(times, classes, sizes)


def _flat_state(queue: Instance, rule: FlatRule) -> FlatState:
    needs = [job.need for job in queue.classes]
    zeros = [0] * len(needs)
    numbers: Any = np.array((*rule.numbers, 0.0), dtype=np.float64)
    parts = ((*rule.memory, 0), needs, slots(queue), by_need(queue), *[zeros] * 3)
    whole: list[Any] = [np.array(part, dtype=np.int64) for part in parts]
    return FlatState(whole[0], numbers, *whole[1:])


def _simulator(queue: Instance, rule: FlatRule, clock: np.random.Generator) -> kernels.Simulator:
    count, most = len(queue.classes), queue.servers + 1
    whole = np.zeros(6, np.int64)
    whole[kernels.FREE], whole[kernels.FAULT] = queue.servers, -1
    holding = np.array(rule.holding or [np.inf] * count, dtype=np.float64)
    return kernels.Simulator(
        whole=whole,
        real=np.array([0.0, holding[0] * clock.standard_exponential(), np.inf]),
        last=np.zeros(count, np.int64),
        ends=np.zeros(most),
        ended=np.zeros(most, np.int64),
        holding=holding,
        random=clock,
        phases=np.zeros((2, 5)),
    )


def _table(jobs: Trace) -> kernels.Jobs:
    count = len(jobs.times)
    return kernels.Jobs(*jobs, np.full(count, np.nan), np.zeros(count, np.int64))


def _without(
    over: np.ndarray, table: kernels.Jobs, state: FlatState, sim: kernels.Simulator
) -> kernels.Jobs:
    """Return the jobs that have not ended, and update their numbers in the queue's state."""
    place = np.cumsum(~over) - 1
    for numbers in (table.after, state.head, sim.last, sim.ended):
        numbers[:] = place[numbers]
    sim.whole[kernels.ARRIVED] = np.count_nonzero(~over)
    return kernels.Jobs(*(column[~over] for column in table))


def simulate_plainly(
    queue: Instance,
    name: str,
    rule: Rule,
    trace: Trace,
    *,
    replays: bool,
    estimates: bool,
) -> tuple[Floats, float]:
    """Simulate a rule that reads the `State`; completions precede arrivals at the same time.

    Returns the start of each job, NaN if it never starts, and the time at which the simulation
    stopped.
    """
    state, starts = State(queue), np.full(len(trace.times), np.nan)
    ends: list[tuple[float, int]] = []
    arrived, inside, count = 0, 0, len(trace.times)
    at, kinds, sizes = trace.times.tolist(), trace.classes.tolist(), trace.sizes.tolist()
    while arrived < count or (replays and inside):
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
        state.now = now
        if replays and now in ([end for end, _ in ends[:1]] + at[arrived : arrived + 1]):
            continue
        while (started := _next_job(name, rule, state)) is not None:
            state.start(started)
            job = started.number
            starts[job] = now
            heappush(ends, (now + sizes[job], job))
    return starts, state.now


def _next_job(name: str, rule: Rule, state: State) -> Job | None:
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
    if isinstance(choice, Job):
        return choice if choice in state else None
    if isinstance(choice, int) and not isinstance(choice, bool) and 0 <= choice < len(state.needs):
        return state.head(choice)
    return None


class Measurement:
    """The counters of a simulation, from the starts of jobs that have ended."""

    def __init__(self, queue: Instance, arrivals: int, warm: int, grid: Floats) -> None:
        batches = max(1, min(BATCHES, arrivals - warm))
        self._needs = np.array([job.need for job in queue.classes])
        self._warm, self._grid, count = warm, grid, len(queue.classes)
        self._first = warm + np.arange(batches) * (arrivals - warm) // batches
        self._begins = np.full(batches, np.inf)  # the times at which batches begin
        self._seen, self._busy = 0, 0.0
        self._counters = Counters(
            sums=np.zeros((batches, count)),
            counts=np.zeros((batches, count), np.int64),
            levels=np.zeros((batches, count), np.int64),
            areas=np.zeros(count),
            came=np.zeros(count, np.int64),
            histogram=np.zeros((count, BUCKETS), np.int64),
            phases=np.zeros((2, 5)),
            starts=np.empty(0),
            samples=np.zeros((len(grid), count), np.int64),
            oldest=np.zeros(count),
        )

    @property
    def began(self) -> float:
        """When the warm-up ends; infinite if it is not known yet."""
        return float(self._begins[0])

    def expect(self, times: Floats) -> None:
        """Take the arrival times of the next jobs, at which batches begin."""
        new = (self._first >= self._seen) & (self._first < self._seen + len(times))
        self._begins[new] = times[self._first[new] - self._seen]
        self._seen += len(times)

    def add(self, number: Ints, jobs: Trace, starts: Floats, now: float) -> None:
        """Add jobs: those that have ended by now, and at the end of the simulation the others."""
        into, count = self._counters, len(self._needs)
        came, kinds = jobs.times, jobs.classes
        ends = starts + jobs.sizes
        ends[~(ends <= now)] = np.inf
        mine = number >= self._warm
        into.came[:] += np.bincount(kinds[mine], minlength=count)
        until = np.minimum(ends, now)
        stayed = np.maximum(until - np.maximum(came, self.began), 0.0)
        into.areas[:] += np.bincount(kinds, stayed, count)
        served = np.maximum(until - np.maximum(starts, self.began), 0.0)
        self._busy += float(np.nansum(self._needs[kinds] * served))
        waiting = np.isnan(starts)
        np.maximum.at(into.oldest, kinds[waiting], now - came[waiting])
        into.levels[:] += _jobs_in_system(self._begins, came, ends, kinds, count)
        seen = self._grid < now
        into.samples[seen] += _jobs_in_system(self._grid[seen], came, ends, kinds, count)
        done = np.flatnonzero(mine & (ends < np.inf))
        kinds, ends, responses = kinds[done], ends[done], (ends - came)[done]
        batch = np.searchsorted(self._begins, ends, side="left") - 1
        place = batch * count + kinds
        shape = into.sums.shape
        into.counts[:] += np.bincount(place, minlength=into.counts.size).reshape(shape)
        into.sums[:] += np.bincount(place, responses, into.sums.size).reshape(shape)
        bucket = np.clip((responses.view(np.int64) >> 45) - LOWEST, 0, BUCKETS - 1)
        places = np.bincount(kinds * BUCKETS + bucket, minlength=into.histogram.size)
        into.histogram[:] += places.reshape(into.histogram.shape)

    def counters(self, stop: float, first: float, starts: Floats) -> Counters:
        """Return the counters of a simulation that began at ``first`` and ended at ``stop``."""
        return self._counters._replace(
            time=stop - self.began, busy=self._busy, elapsed=stop - first, starts=starts
        )


def _jobs_in_system(times: Floats, came: Floats, ends: Floats, kinds: Ints, count: int) -> Ints:
    """Return the numbers of jobs in the system by class at times, shape (times, classes)."""
    if not len(times):
        return np.zeros((0, count), np.int64)
    size = (len(times) + 1) * count
    at = (np.searchsorted(times, moment, side="left") * count + kinds for moment in (came, ends))
    entered, left = (np.bincount(place, minlength=size).reshape(-1, count) for place in at)
    return np.cumsum(entered - left, axis=0)[:-1]
