"""Simulation of a rule on random jobs or a trace: compiled for flat rules, else in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from schedopt.instances.msfq import Empirical, Instance
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.experiment import (
    DEFAULTS,
    Counters,
    Experiment,
    Floats,
    invalid_start,
)
from schedopt.policies.msfq.rule import FlatRule, FlatState, Rule, RuleFactory, by_need, slots

if TYPE_CHECKING:
    from schedopt.policies.msfq.kernels import Inputs, Simulator


def simulate(
    queue: Instance,
    plan: RuleFactory,
    *,
    arrivals: int,
    trace: Trace | None = None,
    common: bool = False,
    warm: int | None = None,
    grid: Sequence[float] | Floats = (),
    plainly: bool = False,
    warm_up: float = 0.1,
    pause: int = 1 << 20,
    **more: Any,
) -> Counters:
    """Simulate a policy, and return the counters.

    Parameters
    ----------
    queue : Instance
        Of classes.
    plan : RuleFactory
        The rule.
    arrivals : int
        Jobs that arrive; of a trace, at most so many.
    trace : Trace, optional
        Jobs that replace the random ones.
    common : bool
        Whether sizes are drawn on arrival, so that all policies see the same jobs. This is slower;
        it is always so for sizes that are not exponential.
    warm : int, optional
        Arrivals that are not counted: by default `warm_up` times all, and 0 if each job is
        recorded.
    grid : sequence of float
        Times at which the numbers of jobs in the system are sampled.
    plainly : bool
        Whether a flat rule runs in plain Python, too; sizes are then drawn on arrival.
    warm_up : float
        See `warm`.
    pause : int
        Arrivals after which compiled code returns, so that it can be interrupted.
    **more
        Other fields of `Experiment`: ``seed``, ``each``, ``estimates``, ``together``.

    Raises
    ------
    InputError
        If the rule fails, or starts a job that it may not.
    """
    if trace is not None:
        arrivals = min(arrivals, len(trace.times))
    if warm is None:
        warm = 0 if more.get("each") else int(warm_up * arrivals)
    run = Experiment(
        arrivals=arrivals,
        warm=warm,
        batches=max(1, min(DEFAULTS.batches, arrivals - warm)),
        trace=trace,
        sized=common or trace is not None or not queue.memoryless,
        grid=np.asarray(grid, dtype=np.float64),
        **more,
    )
    rule = plan.make()
    if isinstance(rule, FlatRule) and not plainly:
        return _simulate_compiled(queue, plan.name, rule, run, pause=pause)
    from schedopt.policies.msfq.plain import simulate_plainly

    jobs = draw(queue, arrivals, run.seed) if trace is None else trace
    jobs = Trace(jobs.times[:arrivals], jobs.classes[:arrivals], jobs.sizes[:arrivals])
    return simulate_plainly(queue, plan.name, rule, jobs, run)


def _simulate_compiled(
    queue: Instance, name: str, rule: FlatRule, run: Experiment, *, pause: int, room: int = 4096
) -> Counters:
    """Simulate a compiled rule, which returns after `pause` jobs so that it can be interrupted.

    `room` is the first capacity of the pool of jobs in the system, which grows when it is full.
    """
    from schedopt.policies.msfq import kernels

    inputs, counters = _inputs(queue, rule, run), _counters(run, len(queue.classes))
    state, simulator = flat_state_of(queue, rule), _simulator(queue, rule, run)
    pool, of_class = _spare_places(0, room), np.zeros(room, np.int64)
    advance = kernels.advance_by(rule.next_start, rule.phases)
    whole, real = simulator.whole, simulator.real
    while True:
        whole[kernels.PAUSE] = whole[kernels.NUMBER] + pause
        advance(inputs, state, simulator, pool, of_class, counters)
        if whole[kernels.DONE]:
            break
        if whole[kernels.SPARE] < 0:  # the pool is full: twice as many places
            whole[kernels.SPARE] = old = len(pool)
            pool = np.concatenate([pool, _spare_places(old, 2 * old)])
            of_class = np.concatenate([of_class, of_class])
    if whole[kernels.FAULT] >= 0:
        raise invalid_start(name, str(whole[kernels.FAULT]))
    now, free = real[kernels.NOW], whole[kernels.FREE]
    for c in np.flatnonzero(state.waiting):
        counters.oldest[c] = now - pool[simulator.first[c], kernels.CAME_AT]
    counters.areas[:] += np.add(state.waiting, state.running) * (now - simulator.since)
    counters.phases[0, whole[kernels.PHASE]] += now
    busy = real[kernels.BUSY_AREA] + (queue.servers - free) * (now - real[kernels.BUSY_SINCE])
    began = 0.0 if run.trace is None else float(run.trace.times[0])
    return counters._replace(
        time=float(now - real[kernels.BEGAN]),
        busy=float(busy),
        elapsed=float(now - began),
        most=int(whole[kernels.MOST]),
    )


def _counters(run: Experiment, count: int) -> Counters:
    """Return counters that are 0."""
    from schedopt.policies.msfq.kernels import BUCKETS

    return Counters(
        sums=np.zeros((run.batches, count)),
        counts=np.zeros((run.batches, count), np.int64),
        levels=np.zeros((run.batches, count), np.int64),
        areas=np.zeros(count),
        came=np.zeros(count, np.int64),
        histogram=np.zeros((count, BUCKETS), np.int64),
        phases=np.zeros((2, 5)),
        starts=np.full(run.arrivals if run.each else 0, np.nan),
        samples=np.zeros((len(run.grid), count), np.int64),
        oldest=np.zeros(count),
    )


def _inputs(queue: Instance, rule: Rule, run: Experiment) -> Inputs:
    """Return the jobs and the settings of a simulation in flat arrays."""
    from schedopt.policies.msfq.kernels import Inputs

    classes, empty = queue.classes, np.empty(0)
    trace = run.trace or Trace(empty, np.empty(0, np.int64), empty)
    values = [job.sizes.scaled if isinstance(job.sizes, Empirical) else empty for job in classes]
    return Inputs(
        k=queue.servers,
        total_rate=queue.arrival_rate,
        rates=np.array([job.arrival_rate for job in classes]),
        services=np.array([job.service_rate for job in classes]),
        shapes=np.array([job.sizes.parameters() for job in classes], dtype=np.float64),
        values=np.concatenate(values).astype(np.float64),
        starts=np.cumsum([0, *map(len, values)]),
        holding=np.array(rule.holding or [1.0] * len(classes), dtype=np.float64),
        arrivals=run.arrivals,
        warm=run.warm,
        sized=run.sized,
        to_the_end=run.each,
        together=run.together,
        trace_times=trace.times,
        trace_classes=trace.classes,
        trace_sizes=trace.sizes,
        grid=run.grid,
    )


def flat_state_of(queue: Instance, rule: FlatRule) -> FlatState:
    """Return the state of an empty queue for a compiled rule."""
    needs = [job.need for job in queue.classes]
    nobody = [0] * len(needs)
    numbers: Any = np.array((*rule.numbers, 0.0), dtype=np.float64)
    whole: list[Any] = [
        np.array(part, dtype=np.int64)
        for part in ((*rule.memory, 0), needs, slots(queue), by_need(queue), *[nobody] * 3)
    ]
    return FlatState(whole[0], numbers, *whole[1:])


def _spare_places(first: int, end: int) -> Floats:
    """Return spare places of the pool, each linked to the next."""
    from schedopt.policies.msfq.kernels import AFTER

    pool = np.zeros((end - first, 4))
    pool[:, AFTER] = np.arange(first + 1, end + 1)
    pool[-1, AFTER] = -1
    return pool


def _simulator(queue: Instance, rule: FlatRule, run: Experiment) -> Simulator:
    """Return the simulator of an empty system, with its streams of random numbers."""
    from schedopt.policies.msfq import kernels
    from schedopt.policies.msfq.random_kernels import exponential, stream

    count, k, ahead = len(queue.classes), queue.servers, kernels.DRAWN_AHEAD
    draws, when, turn = (stream(run.seed, number) for number in (1, 2, 3))
    real, whole = np.zeros(7), np.zeros(15, np.int64)
    whole[kernels.FREE] = k
    whole[kernels.BATCH] = whole[kernels.FAULT] = -1
    whole[kernels.GAPS_USED] = whole[kernels.PICKS_USED] = ahead
    drawn = exponential(when) / queue.arrival_rate
    real[kernels.NEXT_ARRIVAL] = drawn if run.trace is None else run.trace.times[0]
    real[kernels.NEXT_TURN] = exponential(turn) * (rule.holding[0] if rule.holding else np.inf)
    base = np.cumsum([0, *slots(queue)])
    return kernels.Simulator(
        whole=whole,
        real=real,
        draw=draws,
        when=when,
        turn=turn,
        gaps=np.zeros(ahead),
        picks=np.zeros(ahead),
        first=np.full(count, -1),
        last=np.full(count, -1),
        since=np.zeros(count),
        base=base,
        served=np.zeros(base[-1], np.int64),
        ends=np.zeros(k + 1),
        ended=np.zeros(k + 1, np.int64),
    )


def draw(queue: Instance, arrivals: int, seed: int) -> Trace:
    """Return the jobs of a seed that a compiled simulation with common sizes draws."""
    from schedopt.policies.msfq.random_kernels import jobs, stream

    inputs = _inputs(queue, Rule(), Experiment(arrivals, seed=seed, sized=True))
    drawn = Trace(np.empty(arrivals), np.empty(arrivals, np.int64), np.empty(arrivals))
    jobs(stream(seed, 1), stream(seed, 2), inputs, drawn)
    return drawn
