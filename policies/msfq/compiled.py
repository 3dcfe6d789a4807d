"""The compiled simulator, from records to arrays and back."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from schedopt.instances.msfq import Empirical, Instance
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.played import Played, Run, fault
from schedopt.policies.msfq.rule import Rule, Twin, slots

INITIAL_JOB_SLOTS = 4096
"""Jobs in the system that there is room for to begin with; doubled whenever that is too few."""
SLICE = 1 << 20
"""Jobs after which compiled code returns for a moment, so that it can be interrupted."""


def play_compiled(queue: Instance, name: str, rule: Rule, twin: Twin, run: Run) -> Played:
    """Play a rule by its twin: see `simulation.play`."""
    from schedopt.policies.msfq import kernels

    lean = not (run.sized or run.each or len(run.grid))
    if lean and twin.lean:
        played: Played = import_module(twin.lean).play_lean(queue, rule, run)
        return played
    count, trace = len(queue.classes), run.trace
    inputs, found = _inputs(queue, rule, run), nothing_yet(run, count)
    first = None if trace is None else float(trace.times[0])
    state = _state(queue, run, first, rule)
    pool = _pool(INITIAL_JOB_SLOTS)
    advance = kernels.advance_by(twin, lean)
    whole, real = state["whole"], state["real"]
    while True:
        whole[kernels.PAUSE] = whole[kernels.NUMBER] + SLICE
        advance(**inputs, **state, **pool, **found)
        if run.pace:
            run.pace(int(whole[kernels.NUMBER]))
        if whole[kernels.DONE]:
            break
        if whole[kernels.SPARE] >= 0:
            continue
        old = len(pool["of_class"])  # the pool is full: twice as many places
        pool = {name: np.concatenate([part, part]) for name, part in pool.items()}
        pool["pool"][old:, kernels.AFTER] = np.arange(old + 1, 2 * old + 1)
        pool["pool"][-1, kernels.AFTER] = -1
        whole[kernels.SPARE] = old
    if whole[kernels.FAULT] >= 0:
        raise fault(name, str(whole[kernels.FAULT]))
    now, free = real[kernels.NOW], whole[kernels.FREE]
    inside = state["waiting"] + state["running"]
    oldest = np.zeros(count)
    for c in np.flatnonzero(state["waiting"]):
        oldest[c] = now - pool["pool"][state["first"][c], kernels.CAME_AT]
    found["areas"] += inside * (now - state["since"])
    found["phases"][0, whole[kernels.PHASE]] += now
    busy = real[kernels.BUSY_AREA] + (queue.servers - free) * (now - real[kernels.BUSY_SINCE])
    return Played(
        **found, time=float(now - real[kernels.BEGAN]), busy=float(busy),
        most=int(whole[kernels.MOST]), elapsed=float(now - (first or 0.0)), oldest=oldest,
    )  # fmt: skip


def nothing_yet(run: Run, count: int) -> dict[str, Any]:
    """Return what is to be found, by the names of `Played`, before anything has happened."""
    from schedopt.policies.msfq.kernels import BUCKETS

    return {
        "sums": np.zeros((run.batches, count)),
        "counts": np.zeros((run.batches, count), np.int64),
        "levels": np.zeros((run.batches, count), np.int64),
        "areas": np.zeros(count),
        "came": np.zeros(count, np.int64),
        "histogram": np.zeros((count, BUCKETS), np.int64),
        "phases": np.zeros((2, 5)),
        "responses": np.full(run.arrivals if run.each else 0, np.nan),
        "samples": np.zeros((len(run.grid), count), np.int64),
    }


def _inputs(queue: Instance, rule: Rule, run: Run) -> dict[str, Any]:
    """Return what is given, by the kernel's names."""
    trace = run.trace
    empty = np.empty(0)
    return {
        "k": queue.servers,
        "total_rate": queue.arrival_rate,
        **_jobs(queue),
        **_of_rule(queue, rule),
        "arrivals": run.arrivals,
        "warm": run.warm,
        "sized": run.sized,
        "to_the_end": run.each,
        "trace_times": empty if trace is None else trace.times,
        "trace_classes": np.empty(0, np.int64) if trace is None else trace.classes,
        "trace_sizes": empty if trace is None else trace.sizes,
        "grid": run.grid,
    }


def _pool(places: int) -> dict[str, Any]:
    """Return room for so many jobs in the system, all of it spare."""
    from schedopt.policies.msfq.kernels import AFTER

    pool = np.zeros((places, 4))
    pool[:, AFTER] = np.arange(1, places + 1)
    pool[-1, AFTER] = -1
    return {"pool": pool, "of_class": np.zeros(places, np.int64)}


def _state(queue: Instance, run: Run, first: float | None, rule: Rule) -> dict[str, Any]:
    """Return the state of an empty system, and the streams of random numbers."""
    from schedopt.policies.msfq import kernels
    from schedopt.policies.msfq.random_kernels import exponential, stream

    count, k = len(queue.classes), queue.servers
    own = 8 * run.replication
    draw, when, turn = (stream(run.seed, own + number) for number in (1, 2, 3))
    real, whole = np.zeros(7), np.zeros(15, np.int64)
    whole[kernels.FREE] = k
    whole[kernels.BATCH] = whole[kernels.FAULT] = -1
    ahead = kernels.DRAWN_AHEAD
    whole[kernels.GAPS_USED] = whole[kernels.PICKS_USED] = ahead
    gap = exponential(when) / queue.arrival_rate if first is None else first
    real[kernels.NEXT_ARRIVAL] = gap
    holding = rule.holding[0] if rule.holding else np.inf
    real[kernels.NEXT_TURN] = exponential(turn) * holding
    room = [k // job.need for job in queue.classes]
    base = np.zeros(count + 1, np.int64)
    base[1:] = np.cumsum(room)
    bits_in = np.zeros(1)
    return {
        "whole": whole, "real": real, "draw": draw, "when": when, "turn": turn,
        "gaps": np.zeros(ahead), "picks": np.zeros(ahead),
        "waiting": np.zeros(count, np.int64), "running": np.zeros(count, np.int64),
        "first": np.full(count, -1), "last": np.full(count, -1), "head": np.zeros(count),
        "since": np.zeros(count), "base": base, "served": np.zeros(base[-1], np.int64),
        "ends": np.zeros(k + 2), "ended": np.zeros(k + 2, np.int64),
        "bits_in": bits_in, "bits": bits_in.view(np.int64),
    }  # fmt: skip


def _jobs(queue: Instance) -> dict[str, Any]:
    """Return needs, rates and size distributions as arrays, by the kernel's names."""
    classes = queue.classes
    values: list[float] = []
    starts = [0]
    for job in classes:
        if isinstance(job.sizes, Empirical):
            values.extend(job.sizes.scaled.tolist())
        starts.append(len(values))
    return {
        "needs": np.array([job.need for job in classes], dtype=np.int64),
        "rates": np.array([job.arrival_rate for job in classes]),
        "services": np.array([job.service_rate for job in classes]),
        "shapes": np.array([job.sizes.parameters() for job in classes], dtype=np.float64),
        "values": np.array(values, dtype=np.float64),
        "starts": np.array(starts, dtype=np.int64),
    }


def _of_rule(queue: Instance, rule: Rule) -> dict[str, Any]:
    """Return what a compiled twin knows, by the kernel's names."""
    count = len(queue.classes)
    needs = [job.need for job in queue.classes]
    return {
        "memory": np.array((*rule.memory, 0), dtype=np.int64),
        "numbers": np.array((*rule.numbers, 0.0), dtype=np.float64),
        "slots": np.array(slots(queue), dtype=np.int64),
        "by_need": np.array(sorted(range(count), key=lambda c: -needs[c]), dtype=np.int64),
        "holding": np.array(rule.holding or [1.0] * count, dtype=np.float64),
    }


def draw(queue: Instance, arrivals: int, seed: int, replication: int = 0) -> Trace:
    """Return the very jobs that a compiled simulation with common sizes draws from a seed."""
    from schedopt.policies.msfq.random_kernels import jobs, stream

    times, classes = np.empty(arrivals), np.empty(arrivals, np.int64)
    sizes = np.empty(arrivals)
    of, own = _jobs(queue), 8 * replication
    jobs(
        stream(seed, own + 1), stream(seed, own + 2), queue.arrival_rate, of["rates"],
        of["services"], of["shapes"], of["values"], of["starts"], times, classes, sizes,
    )  # fmt: skip
    return Trace(times, classes, sizes)
