"""What side constraints ask of the shares in an epoch, by who is in the system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from instances.constraints import Constraint, FairShare, Shares
from instances.errors import InputError
from instances.hesrpt import Instance


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
        elif hasattr(constraint, "bounds"):  # a kind of the user's own
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

    def satisfiable(self, asked: Any, present: Sequence[Sequence[int]]) -> bool:
        """Tell whether some of the constraints leave shares with which all jobs get work done.

        Amounts of share times time can be scaled up at will, so it is a linear program: each job
        has one unit over all of the epochs in which it is in the system.

        Parameters
        ----------
        asked : collection of str
            Names of constraints.
        present : sequence of sequences of int
            Who is in the system in each epoch.
        """
        from scipy.optimize import linprog

        pairs = [(j, e) for e, jobs in enumerate(present) for j in jobs]
        at = {pair: len(present) + i for i, pair in enumerate(pairs)}
        rows: list[dict[int, float]] = [
            {at[pair]: -1.0 for pair in pairs if pair[0] == j}
            for j in range(len(self._instance.jobs))
        ]
        limits = [-1.0] * len(rows)
        for e, jobs in enumerate(present):
            rows.append({e: -1.0, **{at[j, e]: 1.0 for j in jobs}})
            for bound in self.in_force(jobs):
                if bound.name not in asked:
                    continue
                if bound.at_least > 0:
                    rows.append({e: bound.at_least, **{at[j, e]: -1.0 for j in bound.jobs}})
                if bound.at_most < 1:
                    rows.append({e: -bound.at_most, **{at[j, e]: 1.0 for j in bound.jobs}})
        limits += [0.0] * (len(rows) - len(limits))
        from scipy.sparse import coo_array

        entries = [(i, k, v) for i, row in enumerate(rows) for k, v in row.items()]
        i, k, v = zip(*entries, strict=True)
        shape = (len(rows), len(present) + len(pairs))
        done = linprog(
            [0.0] * shape[1], A_ub=coo_array((v, (i, k)), shape=shape).tocsr(), b_ub=limits
        )
        return bool(done.status == 0)
