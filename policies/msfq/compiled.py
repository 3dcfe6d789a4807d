"""The compiled simulator, from records to arrays and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from schedopt.instances.msfq import Empirical, Instance
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.played import Counters, Experiment, Floats, Measured, fault
from schedopt.policies.msfq.rule import Rule, Seen, Twin, by_need, slots

if TYPE_CHECKING:
    from schedopt.policies.msfq.kernels import Inputs, SimulatorState

INITIAL_JOB_SLOTS = 4096
"""Initial capacity of the pool of jobs in the system; doubled whenever it is full."""
SLICE = 1 << 20
"""Jobs after which compiled code returns, so that it can be interrupted."""


def play_compiled(queue: Instance, name: str, rule: Rule, twin: Twin, run: Experiment) -> Measured:
    """Simulate a rule by its compiled twin: see `simulation.simulate`."""
    from schedopt.policies.msfq import kernels

    lean = not (run.sized or run.each or len(run.grid))
    given, found = given_of(queue, rule, run), nothing_yet(run, len(queue.classes))
    seen, kept = seen_of(queue, rule), _kept(queue, rule, run)
    pool, of_class = _places(0, INITIAL_JOB_SLOTS), np.zeros(INITIAL_JOB_SLOTS, np.int64)
    advance = kernels.advance_by(twin, lean)
    whole, real = kept.whole, kept.real
    while True:
        whole[kernels.PAUSE] = whole[kernels.NUMBER] + SLICE
        advance(given, seen, kept, pool, of_class, found)
        if run.pace:
            run.pace(int(whole[kernels.NUMBER]))
        if whole[kernels.DONE]:
            break
        if whole[kernels.SPARE] < 0:  # the pool is full: twice as many places
            whole[kernels.SPARE] = old = len(pool)
            pool = np.concatenate([pool, _places(old, 2 * old)])
            of_class = np.concatenate([of_class, of_class])
    if whole[kernels.FAULT] >= 0:
        raise fault(name, str(whole[kernels.FAULT]))
    now, free = real[kernels.NOW], whole[kernels.FREE]
    oldest = np.zeros(len(queue.classes))
    for c in np.flatnonzero(seen.waiting):
        oldest[c] = now - pool[kept.first[c], kernels.CAME_AT]
    found.areas[:] += np.add(seen.waiting, seen.running) * (now - kept.since)
    found.phases[0, whole[kernels.PHASE]] += now
    busy = real[kernels.BUSY_AREA] + (queue.servers - free) * (now - real[kernels.BUSY_SINCE])
    began = 0.0 if run.trace is None else float(run.trace.times[0])
    return Measured(
        **found._asdict(),
        time=float(now - real[kernels.BEGAN]),
        busy=float(busy),
        most=int(whole[kernels.MOST]),
        elapsed=float(now - began),
        oldest=oldest,
    )


def nothing_yet(run: Experiment, count: int) -> Counters:
    """Return empty counters for a run."""
    from schedopt.policies.msfq.kernels import BUCKETS

    return Counters(
        sums=np.zeros((run.batches, count)),
        counts=np.zeros((run.batches, count), np.int64),
        levels=np.zeros((run.batches, count), np.int64),
        areas=np.zeros(count),
        came=np.zeros(count, np.int64),
        histogram=np.zeros((count, BUCKETS), np.int64),
        phases=np.zeros((2, 5)),
        responses=np.full(run.arrivals if run.each else 0, np.nan),
        samples=np.zeros((len(run.grid), count), np.int64),
    )


def given_of(queue: Instance, rule: Rule, run: Experiment) -> Inputs:
    """Return the jobs and the run to simulate, in flat arrays."""
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
        trace_times=trace.times,
        trace_classes=trace.classes,
        trace_sizes=trace.sizes,
        grid=run.grid,
    )


def seen_of(queue: Instance, rule: Rule) -> Seen:
    """Return the view that a compiled rule has of an empty queue."""
    needs = [job.need for job in queue.classes]
    nobody = [0] * len(needs)
    numbers: Any = np.array((*rule.numbers, 0.0), dtype=np.float64)
    whole: list[Any] = [
        np.array(part, dtype=np.int64)
        for part in ((*rule.memory, 0), needs, slots(queue), by_need(queue), *[nobody] * 3)
    ]
    return Seen(whole[0], numbers, *whole[1:])


def _places(first: int, end: int) -> Floats:
    """Return places of the pool of jobs, all of them spare, each with the next."""
    from schedopt.policies.msfq.kernels import AFTER

    pool = np.zeros((end - first, 4))
    pool[:, AFTER] = np.arange(first + 1, end + 1)
    pool[-1, AFTER] = -1
    return pool


def _kept(queue: Instance, rule: Rule, run: Experiment) -> SimulatorState:
    """Return the state of an empty system, and the streams of random numbers."""
    from schedopt.policies.msfq import kernels
    from schedopt.policies.msfq.random_kernels import exponential, stream

    count, k, ahead = len(queue.classes), queue.servers, kernels.DRAWN_AHEAD
    draw, when, turn = (stream(run.seed, 8 * run.replication + number) for number in (1, 2, 3))
    real, whole = np.zeros(7), np.zeros(15, np.int64)
    whole[kernels.FREE] = k
    whole[kernels.BATCH] = whole[kernels.FAULT] = -1
    whole[kernels.GAPS_USED] = whole[kernels.PICKS_USED] = ahead
    drawn = exponential(when) / queue.arrival_rate
    real[kernels.NEXT_ARRIVAL] = drawn if run.trace is None else run.trace.times[0]
    real[kernels.NEXT_TURN] = exponential(turn) * (rule.holding[0] if rule.holding else np.inf)
    base = np.cumsum([0, *slots(queue)])
    return kernels.SimulatorState(
        whole=whole,
        real=real,
        draw=draw,
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


def draw(queue: Instance, arrivals: int, seed: int, replication: int = 0) -> Trace:
    """Return the very jobs that a compiled simulation with common sizes draws from a seed."""
    from schedopt.policies.msfq.random_kernels import jobs, stream

    run = Experiment(arrivals, 0, 1, seed, None, sized=True, each=False, grid=np.empty(0))
    of, own = given_of(queue, Rule(), run), 8 * replication
    drawn = Trace(np.empty(arrivals), np.empty(arrivals, np.int64), np.empty(arrivals))
    jobs(
        stream(seed, own + 1),
        stream(seed, own + 2),
        of.total_rate,
        of.rates,
        of.services,
        of.shapes,
        of.values,
        of.starts,
        drawn.times,
        drawn.classes,
        drawn.sizes,
    )
    return drawn
