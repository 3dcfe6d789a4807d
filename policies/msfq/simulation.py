"""Simulation of a rule on random jobs or a trace: compiled for flat rules, else in plain Python.

Random jobs are drawn independently of the rule, so that all rules see the same jobs for the same
seed. They are drawn and measured in chunks, so memory does not grow with the number of arrivals.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.policies.msfq import kernels
from schedopt.policies.msfq.plain import simulate_plainly
from schedopt.policies.msfq.rule import FlatRule, FlatState, RuleFactory, by_need, slots
from schedopt.policies.msfq.summary import (
    BUCKETS,
    DEFAULTS,
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
    each: bool = False,
    together: bool = False,
    estimates: bool = False,
    warm: int | None = None,
    grid: Sequence[float] | Floats = (),
    chunk: int = 1 << 18 if COMPILES else 1 << 13,
) -> Counters:
    """Simulate a policy, and return the counters.

    Parameters
    ----------
    queue : Instance
        An instance of job classes.
    plan : RuleFactory
        The rule.
    arrivals : int
        The number of arrivals; of a trace, at most so many jobs are used.
    seed : int
        The seed of the random jobs.
    trace : Trace, optional
        Jobs that replace the random ones.
    each : bool
        Whether the simulation continues until all jobs end, and records the starts of a trace.
    together : bool
        Whether a rule is called once after all events at the same time, not after each.
    estimates : bool
        Whether rules in plain Python know the size of each job.
    warm : int, optional
        Arrivals that are not counted: by default a tenth, and 0 with ``each``.
    grid : sequence of float
        Times at which the numbers of jobs in the system are sampled, in ascending order.
    chunk : int
        The number of random jobs that are drawn at a time.

    Raises
    ------
    InputError
        If the rule fails, or starts a job that does not wait or does not fit.
    """
    if trace is not None:
        arrivals = min(arrivals, len(trace.times))
        trace = trace.take(slice(arrivals))
    if warm is None:
        warm = 0 if each else arrivals // 10
    rule = plan.make()
    measurement = Measurement(queue, arrivals, warm, np.asarray(grid, dtype=np.float64))
    jobs_random, clock = (np.random.default_rng((seed, stream)) for stream in (1, 2))
    if not isinstance(rule, FlatRule):
        jobs = draw(queue, arrivals, jobs_random) if trace is None else trace
        simulation = simulate_plainly(
            queue, plan.name, rule, jobs, each=each, together=together, estimates=estimates
        )
        measurement.expect(jobs.times)
        measurement.add(np.arange(arrivals), jobs, simulation.starts, simulation.stop)
        first = 0.0 if trace is None else float(jobs.times[0])
        return measurement.counters(simulation.stop, simulation.most, first, simulation.starts)
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
        advance(table, state, sim, each and drawn == arrivals, together, rule.phases)
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
    first, most = float(new.times[0]) if trace else 0.0, int(sim.whole[kernels.MOST])
    return measurement.counters(now, most, first, table.starts)._replace(phases=sim.phases)


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
    """Return the state of an empty queue for a compiled rule."""
    needs = [job.need for job in queue.classes]
    zeros = [0] * len(needs)
    numbers: Any = np.array((*rule.numbers, 0.0), dtype=np.float64)
    parts = ((*rule.memory, 0), needs, slots(queue), by_need(queue), *[zeros] * 3)
    whole: list[Any] = [np.array(part, dtype=np.int64) for part in parts]
    return FlatState(whole[0], numbers, *whole[1:])


def _simulator(queue: Instance, rule: FlatRule, clock: np.random.Generator) -> kernels.Simulator:
    """Return the simulator of an empty system."""
    count, most = len(queue.classes), queue.servers + 1
    whole = np.zeros(7, np.int64)
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
    """Return jobs that have not arrived."""
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


class Measurement:
    """The counters of a simulation, from the starts of jobs that have ended.

    Parameters
    ----------
    queue : Instance
        An instance of job classes.
    arrivals, warm : int
        The number of jobs, and the number of jobs in the warm-up, which are not counted.
    grid : ndarray
        Times at which the jobs in the system are counted.
    """

    def __init__(self, queue: Instance, arrivals: int, warm: int, grid: Floats) -> None:
        batches = max(1, min(DEFAULTS.batches, arrivals - warm))
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

    def counters(self, stop: float, most: int, first: float, starts: Floats) -> Counters:
        """Return the counters of a simulation that began at ``first`` and ended at ``stop``."""
        return self._counters._replace(
            time=stop - self.began, busy=self._busy, elapsed=stop - first, most=most, starts=starts
        )


def _jobs_in_system(times: Floats, came: Floats, ends: Floats, kinds: Ints, count: int) -> Ints:
    """Return the numbers of jobs in the system by class at times, shape (times, classes)."""
    if not len(times):
        return np.zeros((0, count), np.int64)
    size = (len(times) + 1) * count
    at = (np.searchsorted(times, moment, side="left") * count + kinds for moment in (came, ends))
    entered, left = (np.bincount(place, minlength=size).reshape(-1, count) for place in at)
    return np.cumsum(entered - left, axis=0)[:-1]
