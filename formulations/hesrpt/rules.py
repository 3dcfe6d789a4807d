"""What side constraints ask of the shares in an epoch, by who is in the system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from schedopt.instances.constraints import Constraint, FairShare, Shares
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Instance


class Bound(NamedTuple):
    """Bounds on what some jobs have together.

    Attributes
    ----------
    name : str
        The side constraint's.
    jobs : tuple of int
        Positions.
    at_least, at_most : float
        0 and 1 where nothing is asked.
    """

    name: str
    jobs: tuple[int, ...]
    at_least: float
    at_most: float


@runtime_checkable
class Bounding(Protocol):
    """A kind of side constraint of the user's own, which says itself what it asks of shares."""

    def bounds(self, instance: Instance, name: str) -> Iterable[Bound]:
        """Return its bounds with all jobs in the system; each holds for those that are."""
        ...


class Rules:
    """The side constraints of an instance, as bounds on shares.

    Attributes
    ----------
    names : list of str
        The constraints.
    bounds : list of Bound
        With all jobs in the system.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.names: list[str] = []
        self.bounds: list[Bound] = []

    def take(self, constraint: Constraint, name: str) -> None:
        """Add a side constraint.

        Raises
        ------
        InputError
            If it is of a kind that shares of servers cannot take.
        """
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

    def in_force(self, present: Sequence[int]) -> Iterator[Bound]:
        """Yield the bounds on those of their jobs that are in the system, if there are any."""
        here = set(present)
        for bound in self.bounds:
            jobs = tuple(j for j in bound.jobs if j in here)
            if jobs:
                yield bound._replace(jobs=jobs)
