"""A rule played on random jobs or a trace: compiled where it has a twin, else in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.errors import InputError
from instances.msfq import Empirical, Instance
from instances.msfq.traces import Trace
from policies.msfq.rule import Plan, Rule, Twin
from policies.msfq.rules import slots

Floats = NDArray[np.float64]
BATCHES = 40
WARM_UP_FRACTION = 0.1
"""The part of the arrivals before anything is counted."""
INITIAL_JOB_SLOTS = 4096
"""Jobs in the system that there is room for to begin with; doubled whenever that is too few."""


class Played(NamedTuple):
    """What a simulation gives.

    Attributes
    ----------
    sums, counts : ndarray, shape (B, C)
        Response times and jobs, by batch and class.
    levels : ndarray, shape (B, C)
        Jobs in the system when each batch begins.
    areas, came : ndarray, shape (C,)
        Jobs in the system integrated over time, and arrivals.
    histogram : ndarray, shape (C, buckets)
    phases : ndarray, shape (2, 5)
        Time in, and entries of, MSFQ's phases; 0 is an empty system.
    time, busy : float
        Time that was counted, and busy servers integrated over it.
    most : int
        The most jobs that were ever in the system.
    responses : ndarray
        Each job's response time, where it was asked for.
    samples : ndarray, shape (G, C)
        Numbers in the system at the times asked for.
    elapsed : float
        Time from beginning to end, the warm-up included.
    oldest : ndarray, shape (C,)
        For how long each class's longest waiting job has waited at the end; 0 where none waits.
    """

    sums: Floats
    counts: NDArray[np.int64]
    levels: NDArray[np.int64]
    areas: Floats
    came: NDArray[np.int64]
    histogram: NDArray[np.int64]
    phases: Floats
    time: float
    busy: float
    most: int
    responses: Floats
    samples: NDArray[np.int64]
    elapsed: float
    oldest: Floats


def play(
    queue: Instance,
    plan: Plan,
    *,
    arrivals: int,
    seed: int = 0,
    trace: Trace | None = None,
    common: bool = False,
    each: bool = False,
    warm: int | None = None,
    grid: Sequence[float] | Floats = (),
    estimates: bool = False,
    plainly: bool = False,
) -> Played:
    """Simulate a policy.

    Parameters
    ----------
    queue : Instance
        Servers and classes.
    plan : Plan
        The policy.
    arrivals : int
        Jobs; with a trace, at most so many of it.
    seed : int
        The same seed, the same jobs.
    trace : Trace, optional
        Jobs to play in place of random ones.
    common : bool
        Whether sizes come with the jobs, so that policies share them; slower. Sizes that are not
        exponential always do.
    each : bool
        Whether to play to the end and return each job's response time.
    warm : int, optional
        Jobs before anything is counted.
    grid : sequence of float
        Times at which to note the numbers in the system.
    estimates : bool
        Whether a rule in plain Python knows how long each job takes.
    plainly : bool
        Whether to play in plain Python even where the rule has a compiled twin; sizes then come
        with the jobs.

    Raises
    ------
    InputError
        If the rule starts what it may not, or fails.
    """
    if trace is not None:
        arrivals = min(arrivals, len(trace.times))
    if warm is None:
        warm = 0 if each else int(WARM_UP_FRACTION * arrivals)
    batches = max(1, min(BATCHES, arrivals - warm))
    rule = plan.make()
    if plan.twin is None or plainly:
        from policies.msfq.plain import play_plainly

        jobs = draw(queue, arrivals, seed) if trace is None else trace
        return play_plainly(
            queue, plan.name, rule, jobs, arrivals, warm=warm, batches=batches, each=each,
            seed=seed, grid=np.asarray(grid, dtype=np.float64), estimates=estimates,
            origin=0.0 if trace is None else float(trace.times[0]),
        )  # fmt: skip
    sized = common or trace is not None or not queue.memoryless
    return _compiled(
        queue, plan.name, rule, plan.twin, arrivals, seed, trace, sized, each, warm, batches, grid
    )


def _compiled(  # noqa: PLR0917
    queue: Instance, name: str, rule: Rule, twin: Twin, arrivals: int, seed: int,
    trace: Trace | None, sized: bool, each: bool, warm: int, batches: int,
    grid: Sequence[float] | Floats,
) -> Played:  # fmt: skip
    from policies.msfq import kernels

    count = len(queue.classes)
    empty, whole_numbers = np.empty(0), np.int64
    inputs: dict[str, Any] = {
        "k": queue.servers,
        "total_rate": queue.arrival_rate,
        **_jobs(queue),
        **_of_rule(queue, rule),
        "arrivals": arrivals,
        "warm": warm,
        "sized": sized,
        "to_the_end": each,
        "trace_times": empty if trace is None else trace.times,
        "trace_classes": np.empty(0, whole_numbers) if trace is None else trace.classes,
        "trace_sizes": empty if trace is None else trace.sizes,
        "grid": np.asarray(grid, dtype=np.float64),
    }
    found: dict[str, Any] = {
        "sums": np.zeros((batches, count)),
        "counts": np.zeros((batches, count), whole_numbers),
        "levels": np.zeros((batches, count), whole_numbers),
        "areas": np.zeros(count),
        "came": np.zeros(count, whole_numbers),
        "histogram": np.zeros((count, kernels.BUCKETS), whole_numbers),
        "phases": np.zeros((2, 5)),
        "responses": np.full(arrivals if each else 0, np.nan),
        "samples": np.zeros((len(grid), count), whole_numbers),
    }
    first = None if trace is None else float(trace.times[0])
    state = _state(queue, seed, first, rule)
    pool = _pool(INITIAL_JOB_SLOTS)
    advance = kernels.advance_by(twin)
    while True:
        advance(**inputs, **state, **pool, **found)
        if state["whole"][kernels.DONE]:
            break
        old = len(pool["of_class"])  # the pool is full: twice as many places
        pool = {name: np.concatenate([part, part]) for name, part in pool.items()}
        pool["pool"][old:, kernels.AFTER] = np.arange(old + 1, 2 * old + 1)
        pool["pool"][-1, kernels.AFTER] = -1
        state["whole"][kernels.SPARE] = old
    real, whole = state["real"], state["whole"]
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
        found["sums"], found["counts"], found["levels"], found["areas"], found["came"],
        found["histogram"], found["phases"], float(now - real[kernels.BEGAN]), float(busy),
        int(whole[kernels.MOST]), found["responses"], found["samples"],
        float(now - (first or 0.0)), oldest,
    )  # fmt: skip


def _pool(places: int) -> dict[str, Any]:
    """Return room for so many jobs in the system, all of it spare."""
    from policies.msfq.kernels import AFTER

    pool = np.zeros((places, 4))
    pool[:, AFTER] = np.arange(1, places + 1)
    pool[-1, AFTER] = -1
    return {"pool": pool, "of_class": np.zeros(places, np.int64)}


def _state(queue: Instance, seed: int, first: float | None, rule: Rule) -> dict[str, Any]:
    """Return the state of an empty system, and the streams of random numbers."""
    from policies.msfq import kernels
    from policies.msfq.random_kernels import exponential, stream

    count, k = len(queue.classes), queue.servers
    draw, when, turn = (stream(seed, number) for number in (1, 2, 3))
    real, whole = np.zeros(7), np.zeros(12, np.int64)
    whole[kernels.FREE] = k
    whole[kernels.BATCH] = whole[kernels.FAULT] = -1
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


def draw(queue: Instance, arrivals: int, seed: int) -> Trace:
    """Return the very jobs that a compiled simulation with common sizes draws from a seed."""
    from policies.msfq.random_kernels import jobs, stream

    times, classes = np.empty(arrivals), np.empty(arrivals, np.int64)
    sizes = np.empty(arrivals)
    of = _jobs(queue)
    jobs(
        stream(seed, 1), stream(seed, 2), queue.arrival_rate, of["rates"], of["services"],
        of["shapes"], of["values"], of["starts"], times, classes, sizes,
    )  # fmt: skip
    return Trace(times, classes, sizes)


def fault(name: str, found: str) -> InputError:
    """Return what is said where a rule starts a job that it may not."""
    return InputError("a job that waits and fits into the idle servers", found=found,
                      place=f"admission rule {name}")  # fmt: skip
