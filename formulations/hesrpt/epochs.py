"""Epochs of a timeline: the jobs in each, the event that ends it, and limits on the shares.

A timeline follows from a completion order. Side constraints limit the shares in each epoch. Shares
of a program become an allocation in which every job completes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, FairShare, Shares
from schedopt.instances.errors import InputError, quote, suggestion
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.instances.options import Option

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Jobs = NDArray[np.intp]
Order = NDArray[np.int64]
"""Positions of jobs from the last to complete to the first, shape (M,)."""

ROUNDS = 500
"""Most rounds in which shares are repaired to satisfy side constraints."""
AIM, LIMIT = 1e-10, 1e-8
"""The violation of a share at which repairs stop, and the largest that is accepted."""
NEGLIGIBLE = 1e-10
"""The fraction of the makespan below which the shares of an epoch are rounding errors."""
COINCIDENT = 1e-5
"""The fraction of the makespan below which completion times are merged if no shares between them
satisfy the side constraints."""

ORDER = Option(
    default=None,
    expected="names of all jobs, the first to complete first, with commas between",
    accepts=lambda value: isinstance(value, str | int | float),
)


def positions(instance: Instance, order: str | Sequence[str]) -> Order:
    """Return a completion order from names of jobs, as a sequence or separated by commas.

    `InputError` names a job that is missing, repeated or unknown.
    """
    if isinstance(order, str | int | float):
        order = [name.strip() for name in str(order).split(",")]
    names = list(order)
    for name in names:
        if name not in instance.index:
            hint = suggestion(name, instance.index)
            raise InputError(f"the name of a job{hint}", found=quote(name), place="option order")
    if len(set(names)) < len(names) or len(names) < len(instance.jobs):
        raise InputError(ORDER.expected, found=quote(",".join(names)), place="option order")
    return np.array([instance.index[name] for name in reversed(names)], dtype=np.int64)


def smiths_order(instance: Instance) -> Order:
    """Return Smith's order: by processing time over weight with equal shares."""
    order: Order | None = instance.__dict__.get("_smiths")
    if order is None:
        count = len(instance.jobs)
        even = np.full(count, instance.servers / count)
        rates = instance.each("at", np.arange(count), even)
        by = -instance.sizes / rates / instance.costs
        instance.__dict__["_smiths"] = order = np.argsort(by, kind="stable").astype(np.int64)
    return order.copy()


Timeline = tuple[list[int], dict[str, int]]
"""An order from the last job to complete, and the number of completions before each arrival."""


class Epochs(NamedTuple):
    """The epochs of a completion order.

    ``present`` holds the positions of the jobs that are present in each epoch, ``ends`` the event
    that ends it: the ``completion`` or the ``arrival`` of a job.
    """

    present: list[list[int]]
    ends: list[tuple[str, int]]


def epochs_of(instance: Instance, last_first: Order, arrived: Mapping[str, int]) -> Epochs:
    """Return the epochs of an order, given from the last job to complete to the first.

    ``arrived`` is the number of completions before each job arrives, 0 for jobs present at first.
    """
    waiting = sorted((float(r), j) for j, r in enumerate(instance.arrivals) if r > 0)
    here = {j for j, r in enumerate(instance.arrivals) if r == 0}
    epochs = Epochs([], [])
    for completed, j in enumerate(last_first[::-1].tolist()):
        while waiting and (
            arrived.get(instance.jobs[waiting[0][1]].name, 0) <= completed
            or j in {other for _, other in waiting}
        ):
            epochs.present.append(sorted(here))
            epochs.ends.append(("arrival", waiting[0][1]))
            here.add(waiting.pop(0)[1])
        epochs.present.append(sorted(here))
        epochs.ends.append(("completion", j))
        here.remove(j)
    return epochs


class Bound(NamedTuple):
    """Limits on the total share of some jobs, by position; 0 and 1 are no limits."""

    name: str
    jobs: tuple[int, ...]
    at_least: float
    at_most: float


@runtime_checkable
class CustomShareConstraint(Protocol):
    """A user's constraint kind that limits shares."""

    def bounds(self, instance: Instance, name: str) -> Iterable[Bound]:
        """Return its limits with all jobs present; each applies to the jobs that are present."""
        ...


class Rules:
    """The side constraints of an instance, as limits on shares with all jobs present."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.names: list[str] = []
        self.bounds: list[Bound] = []

    def take(self, constraint: Constraint, name: str) -> None:
        """Add a side constraint; `InputError` if its kind does not limit shares."""
        self.names.append(name)
        if isinstance(constraint, Shares):
            most = 1.0 if constraint.at_most is None else constraint.at_most
            for job in constraint.jobs:
                one = (self._instance.index[job],)
                self.bounds.append(Bound(name, one, constraint.at_least or 0.0, most))
        elif isinstance(constraint, FairShare):
            groups = self._instance.groups[constraint.by]
            for group in dict.fromkeys([*constraint.at_least, *constraint.at_most]):
                least = constraint.at_least.get(group, 0.0)
                most = constraint.at_most.get(group, 1.0)
                self.bounds.append(Bound(name, tuple(groups[group]), least, most))
        elif isinstance(constraint, CustomShareConstraint):
            self.bounds.extend(constraint.bounds(self._instance, name))
        else:
            raise InputError(
                "a kind that allocation takes (fair-share, share)",
                found=constraint.kind(),
                place=name,
            )

    def only(self, names: Collection[str]) -> Rules:
        """Return the rules of the named side constraints."""
        some = Rules(self._instance)
        some.names = [name for name in self.names if name in names]
        some.bounds = [bound for bound in self.bounds if bound.name in names]
        return some


def without_floors(rules: Rules) -> Rules:
    """Return the relaxation without minimum shares."""
    some = rules.only(rules.names)
    some.bounds = [bound._replace(at_least=0.0) for bound in some.bounds]
    return some


def in_force(bounds: Iterable[Bound], present: Sequence[int]) -> Iterator[Bound]:
    """Yield the limits for the present jobs, if there are any."""
    here = set(present)
    for bound in bounds:
        jobs = tuple(j for j in bound.jobs if j in here)
        if jobs:
            yield bound._replace(jobs=jobs)


class Bounds(NamedTuple):
    """Side constraints as limits of each job and of disjoint teams, for prices.

    Limits of jobs have shape (M,), limits of teams (G,). ``teams`` is the team of each job, -1 for
    none. The limits of a team apply while any of its jobs is present. ``whole`` is False if the
    rules contain more than these limits.
    """

    leasts: Floats
    mosts: Floats
    teams: Ints
    team_leasts: Floats
    team_mosts: Floats
    whole: bool


def bounds_of(rules: Rules, jobs: int) -> Bounds:
    """Return the limits of single jobs and of teams; the teams in order while they are disjoint."""
    leasts, mosts = np.zeros(jobs), np.ones(jobs)
    teams = np.full(jobs, -1, dtype=np.int64)
    bounded: dict[tuple[int, ...], list[float]] = {}
    whole = True
    for bound in rules.bounds:
        members = tuple(sorted(bound.jobs))
        if bound.at_least <= 0.0 and bound.at_most >= 1.0:
            continue
        if len(members) == 1:
            leasts[members] = np.maximum(leasts[members], bound.at_least)
            mosts[members] = np.minimum(mosts[members], bound.at_most)
        elif members in bounded or (members and (teams[list(members)] < 0).all()):
            asked = bounded.setdefault(members, [0.0, 1.0])
            asked[:] = max(asked[0], bound.at_least), min(asked[1], bound.at_most)
            teams[list(members)] = list(bounded).index(members)
        else:
            whole = whole and not members
    for members, (least, _) in bounded.items():  # else it cannot be kept when one job is left
        whole = whole and least <= mosts[list(members)].min()
    limits = np.array(list(bounded.values())).reshape(-1, 2)
    return Bounds(leasts, mosts, teams, limits[:, 0].copy(), limits[:, 1].copy(), whole)


def planned_allocation(
    instance: Instance,
    epochs: Epochs,
    durations: Floats,
    used: Floats,
    rules: Rules,
) -> Allocated:
    """Return the allocation in which jobs complete at the ends of their epochs, in the given order.

    Epochs are lengthened as needed. A job whose work is done before its turn keeps its share until
    then: completing earlier would be another order, in which others might violate a side
    constraint. ``durations`` has shape (E,), ``used`` (share times duration) shape (E, M).
    """
    long = _lasting_epochs(instance, epochs, durations)
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
                _repair(shares[row], list(in_force(rules.bounds, epochs.present[e])))
                or durations[e] > COINCIDENT * durations.sum()
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


def _lasting_epochs(instance: Instance, epochs: Epochs, durations: Floats) -> Bools:
    """Return which epochs have shares above rounding errors.

    The time before an arrival passes in any case, so that one of its epochs is kept.
    """
    long: Bools = durations > NEGLIGIBLE * durations.sum()
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


def _repair(shares: Floats, bounds: list[Bound]) -> bool:
    """Correct violations within a solver's tolerance in place; return True if all limits hold."""
    floors = np.zeros(len(shares))
    for bound in bounds:
        if len(bound.jobs) == 1:
            floors[bound.jobs[0]] = max(floors[bound.jobs[0]], bound.at_least)
    above = np.maximum(shares - floors, 0.0)
    if floors.sum() + above.sum() > 1.0 >= floors.sum() - AIM:
        above *= max(1.0 - floors.sum(), 0.0) / above.sum()
    shares[:] = floors + above
    for _ in range(ROUNDS):  # a repair can violate another limit, by less each time
        wrong = False
        for bound in bounds:
            jobs = list(bound.jobs)
            total = shares[jobs].sum()
            wanted = min(max(total, bound.at_least), bound.at_most)
            wrong = wrong or abs(wanted - total) > AIM
            shares[jobs] = wanted / len(jobs) if total <= 0 else shares[jobs] * (wanted / total)
            rest = shares.sum() - wanted
            if wanted > total and rest > 1 - wanted:
                others = np.ones(len(shares), dtype=np.bool_)
                others[jobs] = False
                shares[others] *= (1 - wanted) / rest
        if not wrong:
            break
    sums = [shares[list(bound.jobs)].sum() for bound in bounds]
    return shares.sum() <= 1 + LIMIT and all(
        bound.at_least - LIMIT <= total <= bound.at_most + LIMIT
        for bound, total in zip(bounds, sums, strict=True)
    )


def _serve_one_by_one(instance: Instance, epochs: Epochs) -> Allocated:
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
