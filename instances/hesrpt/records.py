"""Records of hesrpt: jobs of known size that share servers, and allocations over time.

Source: Berg, Vesilo and Harchol-Balter, "heSRPT: Optimal Parallel Scheduling of Jobs With Known
Sizes", 2019.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import fsum, isfinite
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from schedopt.instances.constraints import FairShare, NonNegative, Shares, check_rules
from schedopt.instances.declarations import CheckedRecord, Name, Record
from schedopt.instances.errors import InputError, join_places, quote
from schedopt.instances.hesrpt.speedups import Power, Speedup
from schedopt.instances.protocol import BaseInstance

Floats = NDArray[np.float64]
SideConstraint = FairShare | Shares
Objective = Literal["mean-flow-time", "total-flow-time", "weighted-flow-time", "makespan"]
Measure = Annotated[float, msgspec.Meta(ge=1e-100, le=1e100)]
"""Sizes and weights for which products and powers of them are finite."""


class Job(CheckedRecord, kw_only=True, omit_defaults=True):
    """A job that can run on any share of the servers at any time.

    Attributes
    ----------
    name : str
        Its name, unique in the instance.
    size : float
        x, its work; it takes x/s(k) on k servers.
    weight : float
        Its weight in ``weighted-flow-time``.
    arrival : float
        Its arrival time, at least 0.
    groups : dict of str to str
        Its group in each grouping, such as ``{"team": "fx"}``.
    speedup : Speedup, optional
        Its own speedup, in place of the instance's.
    """

    name: Name
    size: Measure
    weight: Measure = 1.0
    arrival: NonNegative = 0.0
    groups: dict[Name, Name] = msgspec.field(default_factory=dict)
    speedup: Speedup | None = None


class Instance(BaseInstance, kw_only=True, tag="hesrpt"):
    """Servers, and the parallelizable jobs that share them.

    Attributes
    ----------
    servers : int
        N, at least 1.
    speedup : Speedup, optional
        The speedup of every job that has none of its own.
    objective : str
        ``mean-flow-time``, ``total-flow-time``, ``weighted-flow-time`` (the sum of weight times
        flow time) or ``makespan``. The flow time is from arrival to completion.
    jobs : tuple of Job
        The jobs; their order breaks ties.
    constraints : tuple of Constraint
        Side constraints on the shares.
    """

    servers: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    speedup: Speedup | None = None
    objective: Objective = "mean-flow-time"
    jobs: Annotated[tuple[Job, ...], msgspec.Meta(min_length=1)]
    constraints: tuple[SideConstraint, ...] = ()

    def __post_init__(self) -> None:
        for j, job in enumerate(self.jobs):
            if job.speedup is None and self.speedup is None:
                expected = "a `speedup`, of the job or of the instance"
                raise InputError(expected, found="none", place=f"jobs[{j}]")
        longest = float(self.sizes.sum()) * len(self.jobs) * float(self.weights.sum())
        if not isfinite(longest + float(self.arrivals.max())):
            raise InputError("finite sums of times", found="an overflow", place="jobs")
        check_rules(self)
        _ = self.index, self.kinds  # refuses two jobs of one name; every use of it needs the kinds
        for i, constraint in enumerate(self.constraints):
            check_meaning(constraint, f"constraints[{i}]")

    def _floats(self, field: str) -> Floats:
        return np.array([getattr(job, field) for job in self.jobs], dtype=np.float64)

    @cached_property
    def sizes(self) -> Floats:
        """x_j, shape (M,)."""
        return self._floats("size")

    @cached_property
    def weights(self) -> Floats:
        """The weight of each job, shape (M,)."""
        return self._floats("weight")

    @cached_property
    def arrivals(self) -> Floats:
        """The arrival time of each job, shape (M,)."""
        return self._floats("arrival")

    @cached_property
    def costs(self) -> Floats:
        """The cost of a unit of each job's flow time, shape (M,); undefined for the makespan."""
        if self.objective == "weighted-flow-time":
            return self.weights
        each = 1.0 / len(self.jobs) if self.objective == "mean-flow-time" else 1.0
        return np.full(len(self.jobs), each)

    @cached_property
    def speedups(self) -> tuple[Speedup, ...]:
        """The distinct speedups of the jobs; see `kinds`."""
        return self._distinct[0]

    @cached_property
    def kinds(self) -> NDArray[np.intp]:
        """The index in `speedups` of each job's speedup, shape (M,)."""
        return self._distinct[1]

    @cached_property
    def _distinct(self) -> tuple[tuple[Speedup, ...], NDArray[np.intp]]:
        numbers: dict[Any, int] = {}
        kinds = [numbers.setdefault(job.speedup or self.speedup, len(numbers)) for job in self.jobs]
        return tuple(numbers), np.array(kinds, dtype=np.intp)

    @property
    def power(self) -> float | None:
        """The exponent p if all jobs have the speedup k^p, else None."""
        first = self.speedups[0]
        return first.p if len(self.speedups) == 1 and isinstance(first, Power) else None

    def each(self, method: str, jobs: Any, values: Any) -> Floats:
        """Return ``speedup.method(value)`` for some jobs, each with its own speedup, shape (n,).

        Parameters
        ----------
        method : {"at", "servers_for", "knee"}
            The method of the speedups.
        jobs : ndarray of int, shape (n,)
            Positions of the jobs.
        values : ndarray, shape (n,)
            The argument for each job.
        """
        if len(self.speedups) == 1:
            return np.asarray(getattr(self.speedups[0], method)(values), dtype=np.float64)
        done = np.empty(len(values))
        kinds = self.kinds[jobs]
        order = np.argsort(kinds, kind="stable")  # many jobs may have a speedup of their own each
        for mine in np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1):
            if len(mine):
                done[mine] = getattr(self.speedups[kinds[mine[0]]], method)(values[mine])
        return done

    def objective_of(self, solution: Allocated) -> float:
        """Return the objective of completion times."""
        ends = solution.completion
        if self.objective == "makespan":
            return max(ends.values())
        apart = list(ends) != self.names
        times = [ends[name] for name in self.names] if apart else list(ends.values())
        flows = np.array(times) - self.arrivals
        if self.objective == "mean-flow-time":
            return fsum(flows.tolist()) / len(flows)
        return fsum((flows * self.costs).tolist())


def check_meaning(constraint: Any, place: str) -> None:
    """Raise `InputError` if a side constraint does not bound shares of servers."""
    if not isinstance(constraint, FairShare):
        return
    for field in ("of", "each", "past", "past_total", "window", "half_life"):
        value = getattr(constraint, field)
        if value not in ("capacity", None, {}):
            moment = "" if field == "of" else " at every moment"
            expected = f"no `{field}`: here shares are of the servers{moment}"
            raise InputError(expected, found=quote(value), place=join_places(place, field))


class Epoch(Record, kw_only=True):
    """An interval of constant shares.

    Attributes
    ----------
    start, end : float
        The interval.
    share : dict of str to float
        The fraction of the servers of each job; jobs without servers are left out.
    """

    start: float
    end: float
    share: dict[str, float]


class Allocated(Record, kw_only=True, omit_defaults=True):
    """An allocation of servers over time, as in result documents.

    Attributes
    ----------
    order : tuple of str
        The jobs by completion time.
    completion : dict of str to float
        The completion time of each job.
    epochs : tuple of Epoch
        Consecutive intervals from time 0.
    certified : {"all", "given"}, optional
        The completion orders over which optimality is proven.
    """

    order: tuple[str, ...]
    completion: dict[str, float]
    epochs: tuple[Epoch, ...] = ()
    certified: Literal["all", "given"] | UnsetType = UNSET


def allocated(
    instance: Instance,
    completion: Sequence[float] | Floats,
    epochs: Iterable[tuple[float, float, Sequence[int] | NDArray[np.intp], Floats]],
    *,
    order: Sequence[int] | None = None,
) -> Allocated:
    """Return the record of an allocation.

    Parameters
    ----------
    instance : Instance
        The instance.
    completion : array_like, shape (M,)
        Completion times.
    epochs : iterable of tuple
        Start, end, positions of the running jobs, and their shares.
    order : sequence of int, optional
        The completion order; by default by completion time, with ties in the file's order.
    """
    names, name_of = instance.names, instance.names.__getitem__
    ends = np.asarray(completion, dtype=np.float64)
    first_first = np.argsort(ends, kind="stable").tolist() if order is None else order
    intervals = []
    for start, end, jobs, shares in epochs:
        if end > start:
            some = shares > 0
            who, parts = np.asarray(jobs)[some].tolist(), shares[some].tolist()
            share = dict(zip(map(name_of, who), parts, strict=True))
            intervals.append(Epoch(start=float(start), end=float(end), share=share))
    return Allocated(
        order=tuple(map(name_of, first_first)),
        completion=dict(zip(names, ends.tolist(), strict=True)),
        epochs=tuple(intervals),
    )
