"""Side constraints as bounds on the shares of the jobs in the system."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, FairShare, Shares
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Instance

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Bound(NamedTuple):
    """Bounds on the total share of some jobs, by position; 0 and 1 where nothing is asked."""

    name: str
    jobs: tuple[int, ...]
    at_least: float
    at_most: float


@runtime_checkable
class Bounding(Protocol):
    """A user's own kind of side constraint, which states its bounds on shares."""

    def bounds(self, instance: Instance, name: str) -> Iterable[Bound]:
        """Return its bounds with all jobs in the system; each holds for those that are."""
        ...


class Rules:
    """The side constraints of an instance, as bounds on shares with all jobs in the system."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.names: list[str] = []
        self.bounds: list[Bound] = []

    def take(self, constraint: Constraint, name: str) -> None:
        """Add a side constraint; `InputError` if shares of servers cannot express its kind."""
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
        elif isinstance(constraint, Bounding):
            self.bounds.extend(constraint.bounds(self._instance, name))
        else:
            raise InputError(
                "a kind that allocation takes (fair-share, share)",
                found=constraint.kind(),
                place=name,
            )

    def only(self, names: Collection[str]) -> Rules:
        """Return only the rules of some side constraints."""
        some = Rules(self._instance)
        some.names = [name for name in self.names if name in names]
        some.bounds = [bound for bound in self.bounds if bound.name in names]
        return some

    def in_force(self, present: Sequence[int]) -> Iterator[Bound]:
        """Yield the bounds on those of their jobs that are in the system, if there are any."""
        return in_force(self.bounds, present)


def without_floors(rules: Rules) -> Rules:
    """Return the relaxation without floors."""
    some = rules.only(rules.names)
    some.bounds = [bound._replace(at_least=0.0) for bound in some.bounds]
    return some


def in_force(bounds: Iterable[Bound], present: Sequence[int]) -> Iterator[Bound]:
    """Yield bounds on those of their jobs that are in the system, if there are any."""
    here = set(present)
    for bound in bounds:
        jobs = tuple(j for j in bound.jobs if j in here)
        if jobs:
            yield bound._replace(jobs=jobs)


class Bounds(NamedTuple):
    """Side constraints as bounds on each job and on disjoint teams, for prices.

    Bounds of jobs are of shape (M,), those of teams of shape (G,). ``teams`` is the team of each
    job, -1 for none; a team's bounds hold while any of its jobs is there. ``whole`` is False where
    the rules ask for more than these bounds say.
    """

    leasts: Floats
    mosts: Floats
    teams: Ints
    team_leasts: Floats
    team_mosts: Floats
    whole: bool


def bounds_of(rules: Rules, jobs: int) -> Bounds:
    """Return the bounds on single jobs, and on teams in order while they are disjoint."""
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
