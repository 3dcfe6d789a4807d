"""Epochs of a timeline: the jobs in each, the event that ends it, and limits on the shares.

A timeline follows from a completion order. Side constraints limit the shares in each epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, FairShare, Shares
from schedopt.instances.errors import InputError, quote, suggestion
from schedopt.instances.hesrpt import Instance
from schedopt.instances.options import Option

Order = NDArray[np.int64]
"""Positions of jobs from the last to complete to the first, shape (M,)."""

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


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
