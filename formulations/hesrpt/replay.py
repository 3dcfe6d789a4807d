"""Convert a program's shares to an allocation in which every job completes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.hesrpt.epochs import Bound, Epochs, Rules, in_force
from schedopt.instances.hesrpt import Allocated, Instance, allocated

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Jobs = NDArray[np.intp]


@dataclass(frozen=True)
class ReplayParams:
    """Tolerances with which a solver's shares become an allocation.

    Attributes
    ----------
    rounds : int
        Most rounds in which shares are repaired to satisfy side constraints.
    aim, limit : float
        The violation of a share at which repairs stop, and the largest that is accepted.
    negligible : float
        The fraction of the makespan below which the shares of an epoch are rounding errors.
    coincident : float
        The fraction of the makespan below which completion times are merged if no shares between
        them satisfy the side constraints.
    """

    rounds: int = 500
    aim: float = 1e-10
    limit: float = 1e-8
    negligible: float = 1e-10
    coincident: float = 1e-5


DEFAULTS = ReplayParams()


def planned_allocation(
    instance: Instance,
    epochs: Epochs,
    durations: Floats,
    used: Floats,
    rules: Rules,
    *,
    params: ReplayParams = DEFAULTS,
) -> Allocated:
    """Return the allocation in which jobs complete at the ends of their epochs, in the given order.

    Epochs are lengthened as needed. A job whose work is done before its turn keeps its share until
    then: completing earlier would be another order, in which others might violate a side
    constraint. ``durations`` has shape (E,), ``used`` (share times duration) shape (E, M).
    """
    long = _lasting_epochs(instance, epochs, durations, params.negligible)
    durations = np.where(long, durations, 0.0)
    lasts = np.flatnonzero(long)
    shares = used[lasts] / np.maximum(durations[lasts, None], 1e-300)
    everyone = np.arange(len(instance.jobs))
    here = np.zeros(shares.shape, dtype=np.bool_)
    for row, e in enumerate(lasts.tolist()):
        here[row, epochs.present[e]] = True
    if rules.names:
        kept = np.array(
            [
                _repair(shares[row], list(in_force(rules.bounds, epochs.present[e])), params)
                or durations[e] > params.coincident * durations.sum()
                for row, e in enumerate(lasts.tolist())
            ]
        )
        lasts, shares, here = lasts[kept], shares[kept], here[kept]
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    rates = np.array([instance.each("at", everyone, row * instance.servers) for row in shares])
    if not rates.any(axis=0).all():  # what a job needs is beyond the solver's digits
        return _serve_one_by_one(instance, epochs)
    lengths = _sufficient_lengths(instance, epochs, lasts, durations[lasts], rates * here)
    completion, now = np.zeros(len(everyone)), 0.0
    lasting: list[tuple[float, float, list[int], Floats]] = []
    at = {int(e): row for row, e in enumerate(lasts)}
    for e, (what, job) in enumerate(epochs.ends):
        end = now + float(lengths[at[e]]) if e in at else now
        if what == "arrival":
            end = max(now, float(instance.arrivals[job]))
        else:
            completion[job] = end
        if e in at:
            lasting.append((now, end, epochs.present[e], shares[at[e]][epochs.present[e]]))
        now = end
    first_first = [job for what, job in epochs.ends if what == "completion"]
    return allocated(instance, completion, lasting, order=first_first)


def _lasting_epochs(
    instance: Instance, epochs: Epochs, durations: Floats, negligible: float
) -> Bools:
    """Return which epochs have shares above rounding errors.

    The time before an arrival passes in any case, so that one of its epochs is kept.
    """
    long: Bools = durations > negligible * durations.sum()
    for span, length in _stretches_between_arrivals(instance, epochs):
        if length > 0 and not long[span].any():
            long[span.stop - 1] = True
    return long


def _stretches_between_arrivals(
    instance: Instance, epochs: Epochs
) -> Iterator[tuple[slice, float]]:
    """Yield the epochs between two arrivals, and their total length."""
    first, start = 0, 0.0
    for e, (what, job) in enumerate(epochs.ends):
        if what == "arrival":
            yield slice(first, e + 1), float(instance.arrivals[job]) - start
            first, start = e + 1, float(instance.arrivals[job])


def _sufficient_lengths(
    instance: Instance, epochs: Epochs, long: Jobs, durations: Floats, rates: Floats
) -> Floats:
    """Return lengths of the epochs such that each job completes by the end of its own epoch.

    A job receives its missing work in the last epoch in which it is served. The lengths of the
    other epochs are kept, except for the last before an arrival.
    """
    durations = durations.copy()
    spans = [
        (np.flatnonzero((long >= span.start) & (long < span.stop)), length)
        for span, length in _stretches_between_arrivals(instance, epochs)
    ]
    for e, (what, job) in enumerate(epochs.ends):
        for rows, length in spans:
            if len(rows):
                others = float(durations[rows[:-1]].sum())
                durations[rows[-1]] = max(length - others, 0.0)
        mine = np.flatnonzero((long <= e) & (rates[:, job] > 0))
        lacks = instance.sizes[job] - float(durations @ rates[:, job])
        if what == "completion" and lacks > 0 and len(mine):
            durations[mine[-1]] += lacks / rates[mine[-1], job]
    return durations


def _repair(shares: Floats, bounds: list[Bound], params: ReplayParams) -> bool:
    """Correct violations within a solver's tolerance in place; return True if all limits hold."""
    floors = np.zeros(len(shares))
    for bound in bounds:
        if len(bound.jobs) == 1:
            floors[bound.jobs[0]] = max(floors[bound.jobs[0]], bound.at_least)
    above = np.maximum(shares - floors, 0.0)
    if floors.sum() + above.sum() > 1.0 >= floors.sum() - params.aim:
        above *= max(1.0 - floors.sum(), 0.0) / above.sum()
    shares[:] = floors + above
    for _ in range(params.rounds):  # a repair can violate another limit, by less each time
        wrong = False
        for bound in bounds:
            jobs = list(bound.jobs)
            total = shares[jobs].sum()
            wanted = min(max(total, bound.at_least), bound.at_most)
            wrong = wrong or abs(wanted - total) > params.aim
            shares[jobs] = wanted / len(jobs) if total <= 0 else shares[jobs] * (wanted / total)
            rest = shares.sum() - wanted
            if wanted > total and rest > 1 - wanted:
                others = np.ones(len(shares), dtype=np.bool_)
                others[jobs] = False
                shares[others] *= (1 - wanted) / rest
        if not wrong:
            break
    sums = [shares[list(bound.jobs)].sum() for bound in bounds]
    return shares.sum() <= 1 + params.limit and all(
        bound.at_least - params.limit <= total <= bound.at_most + params.limit
        for bound, total in zip(bounds, sums, strict=True)
    )


def _serve_one_by_one(instance: Instance, epochs: Epochs) -> Allocated:
    """Serve jobs one after another, each with all servers."""
    everyone = np.arange(len(instance.jobs))
    servers = np.full(len(everyone), float(instance.servers))
    lengths = instance.sizes / instance.each("at", everyone, servers)
    completion, now = np.zeros(len(everyone)), 0.0
    turns: list[tuple[float, float, list[int], Floats]] = []
    for job in (job for what, job in epochs.ends if what == "completion"):
        arrival = float(instance.arrivals[job])
        if now < arrival:
            turns.append((now, arrival, [], np.zeros(0)))
            now = arrival
        completion[job] = now + float(lengths[job])
        turns.append((now, float(completion[job]), [job], np.ones(1)))
        now = float(completion[job])
    return allocated(instance, completion, turns)
