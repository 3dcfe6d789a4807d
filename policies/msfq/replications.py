"""One long simulation as independent replications, on as many cores as there are.

Each replication is a run of its own: it begins with an empty system, leaves a tenth of its arrivals
uncounted, and draws its own random numbers. How many there are, and what each of them plays,
follows from the instance, the policy, the arrivals and the seed alone, and they are put together in
their order: the answer is the same, bit by bit, on any number of cores.

What it costs: one long run forgets its empty start once, and each replication has to do so anew.
What is left of that start is a bias that more replications do not make smaller. A queue forgets
its start like exp(-observations), see `intervals.observations`; a run is split by default only as
far as each replication counts as `FORGETS` of them, of which its warm-up has three: what is left
then is some 10^-4 of the mean, a hundredth of its own interval or less. Very near saturation there
is therefore one run, on one core.

Intervals are batch means over the batches of all replications, one after another: the same
intervals as those of one run, with its rules on what is too short, and not Student's for the
replications' means alone, of which there are few. Where batches are put together into long ones
those are at least as independent as within one run.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from functools import reduce
from operator import add
from threading import Event
from typing import NamedTuple

import numpy as np

from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.experiment import Measured
from schedopt.policies.msfq.intervals import observations
from schedopt.policies.msfq.rule import Plan, Watch
from schedopt.policies.msfq.simulation import simulate
from schedopt.solvers.compiling import COMPILES

LONG_RUN = 10_000_000
"""Runs of at least so many arrivals are split by default."""
USUAL = 16
"""The most replications by default."""
FORGETS = 30.0
"""Independent observations that each replication must be worth, by the load."""
FEWEST_ARRIVALS = 1000
"""The least for a replication."""
LOOK = 0.1
"""Seconds between two reports of progress."""


class Replicated(NamedTuple):
    """Replications that were played, in order, and the arrivals of those.

    ``of`` is how many were asked for: more than are done after an interrupt.
    """

    done: list[Measured]
    arrivals: int
    of: int


class _StoppedError(Exception):
    """Ends a replication after another failed or was interrupted."""


def default_replications(
    queue: Instance, plan: Plan, arrivals: int, load: float | None = None
) -> int:
    """Return into how many replications a run is split by default: 1, 2, 4, 8 or 16.

    A rule that is not compiled is never split: plain Python has one core. A policy's own
    ``load`` counts where it is higher than the instance's.
    """
    if not plan.compiled or arrivals < LONG_RUN:
        return 1
    parts, most = 1, observations(queue, arrivals / queue.arrival_rate, load) / FORGETS
    while 2 * parts <= min(USUAL, most):
        parts *= 2
    return parts


def replicate(
    queue: Instance,
    plan: Plan,
    *,
    arrivals: int,
    replications: int,
    seed: int = 0,
    jobs: int = 1,
    watch: Watch | None = None,
    estimates: bool = False,
) -> Replicated:
    """Play replications of so many arrivals in all; after an interrupt keep those done.

    Each replication has its own streams of random numbers of the seed. ``jobs`` is the number of
    threads, for a compiled rule. `InputError` if a replication has too few arrivals;
    `KeyboardInterrupt` if none was done.
    """
    if arrivals < FEWEST_ARRIVALS * replications:
        raise InputError(
            f"at most {arrivals // FEWEST_ARRIVALS}, each of {FEWEST_ARRIVALS} arrivals or more",
            found=shown(replications),
            place="option replications",
        )
    ends = [(r + 1) * arrivals // replications for r in range(replications)]
    sizes = np.diff([0, *ends]).tolist()
    came, stop = [0] * replications, Event()

    def one(r: int) -> Measured:
        def pace(number: int) -> None:
            came[r] = number
            if stop.is_set():
                raise _StoppedError
            if watch and not threaded:
                watch(sum(came), arrivals)

        measured = simulate(
            queue, plan, arrivals=sizes[r], seed=seed, replication=r, pace=pace, estimates=estimates
        )
        came[r] = sizes[r]
        return measured

    threaded = min(jobs, replications) > 1 and plan.compiled and COMPILES
    if threaded:
        simulate(queue, plan, arrivals=1)  # compiles, which threads cannot do at the same time
        look = (lambda: watch(sum(came), arrivals)) if watch else (lambda: None)
        found = _run_in_threads(one, replications, jobs, look, stop)
    else:
        found = _run_in_turn(one, replications)
    if not found:
        raise KeyboardInterrupt
    done = sorted(found)
    return Replicated([found[r] for r in done], sum(sizes[r] for r in done), replications)


def _run_in_turn(one: Callable[[int], Measured], count: int) -> dict[int, Measured]:
    measured: dict[int, Measured] = {}
    try:
        for r in range(count):
            measured[r] = one(r)
    except KeyboardInterrupt:
        pass
    return measured


def _run_in_threads(
    one: Callable[[int], Measured], count: int, jobs: int, look: Callable[[], None], stop: Event
) -> dict[int, Measured]:
    """Run replications in threads: compiled code releases the lock."""
    measured: dict[int, Measured] = {}
    with ThreadPoolExecutor(min(jobs, count)) as pool:
        futures = [pool.submit(one, r) for r in range(count)]
        try:
            left = set(futures)
            while left and not any(f.done() and f.exception() for f in futures):
                left = wait(left, LOOK, FIRST_EXCEPTION).not_done
                look()
        except KeyboardInterrupt:
            pass
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    for r, future in enumerate(futures):
        try:
            measured[r] = future.result()
        except (CancelledError, _StoppedError):
            continue
    return measured


def pool(parts: Sequence[Measured]) -> Measured:
    """Pool replications: concatenate their batches, and merge some into each long one."""
    if len(parts) == 1:
        return parts[0]
    batches, classes = parts[0].sums.shape
    shape = (batches, len(parts), classes)
    sums = np.concatenate([part.sums for part in parts]).reshape(shape).sum(axis=1)
    counts = np.concatenate([part.counts for part in parts]).reshape(shape).sum(axis=1)
    added = {
        name: reduce(add, (getattr(part, name) for part in parts))
        for name in ("areas", "came", "histogram", "phases", "time", "busy", "elapsed")
    }
    levels = np.rint(np.mean([part.levels for part in parts], axis=0)).astype(np.int64)
    oldest = np.max([part.oldest for part in parts], axis=0)
    most = max(part.most for part in parts)
    return parts[0]._replace(
        sums=sums, counts=counts, levels=levels, oldest=oldest, most=most, **added
    )
