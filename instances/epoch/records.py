"""Records of epoch scheduling: instances, schedules, and which jobs fit into one epoch.

Source: McCann and Zahorjan, technical report 94-10-05, University of Washington, 1994, section 2.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Apart, Together, check_rules
from schedopt.instances.declarations import CheckedRecord, Integer, Name, Record
from schedopt.instances.errors import expect
from schedopt.instances.protocol import BaseInstance

Ints = NDArray[np.int64]
SideConstraint = Together | Apart
MOST_NODES = 10**6  # no machine has more; sums of allotments stay far below 2^31 for every solver


class Job(CheckedRecord, kw_only=True):
    """A job and its minimum number of nodes.

    Attributes
    ----------
    name : str
        Its name, unique in the instance.
    minimum : int
        M_j, the fewest nodes whose memory holds the job: 1 to N.
    """

    name: Name
    minimum: Annotated[int, msgspec.Meta(ge=1)]


class Instance(BaseInstance, kw_only=True, tag="epoch"):
    """Jobs that share a machine in every quantum, each on at least its minimum of nodes.

    Attributes
    ----------
    nodes : int
        N, at least 1.
    inequity : int
        k, the largest difference between the allotments of two jobs in an epoch.
    jobs : tuple of Job
        The jobs, at least one; there may be more jobs than nodes. Their order breaks ties in
        policies.
    constraints : tuple of Constraint
        Side constraints: which jobs share an epoch, and which must not.
    """

    nodes: Annotated[int, msgspec.Meta(ge=1, le=MOST_NODES)]
    inequity: Annotated[int, msgspec.Meta(ge=0, le=MOST_NODES)]
    jobs: Annotated[tuple[Job, ...], msgspec.Meta(min_length=1)]
    constraints: tuple[SideConstraint, ...] = ()

    def __post_init__(self) -> None:
        for j, job in enumerate(self.jobs):
            expected = f"at most {self.nodes}, the nodes there are"
            expect(job.minimum <= self.nodes, expected, job.minimum, f"jobs[{j}].minimum")
        check_rules(self)
        _ = self.index  # refuses two jobs of one name

    @cached_property
    def minima(self) -> Ints:
        """M_j, shape (J,), in nodes."""
        return np.array([job.minimum for job in self.jobs], dtype=np.int64)

    @cached_property
    def descending(self) -> list[int]:
        """Positions of the jobs by non-increasing minimum, the file's order on ties."""
        return list(np.argsort(-self.minima, kind="stable").tolist())

    @property
    def ascending(self) -> list[int]:
        """Positions of the jobs by non-decreasing minimum: `descending` backwards."""
        return self.descending[::-1]

    def objective_of(self, solution: Solution) -> float:
        """Return the overhead of a schedule: node reallocations a quantum, Σ A_j (section 2.3)."""
        return float(solution.overhead)


class Epoch(Record, kw_only=True):
    """A part of the quantum in which some jobs share all nodes.

    Attributes
    ----------
    duration : float
        Its fraction of the quantum: h/J for an epoch of h of the J jobs.
    nodes : dict of str to int
        The allotment A_j of each of its jobs.
    """

    duration: float
    nodes: dict[str, Integer]


class Partitioned(Record, kw_only=True, omit_defaults=True):
    """An epoch schedule, as in result documents.

    Attributes
    ----------
    epochs : tuple of Epoch
        The epochs in order; their durations sum to 1.
    tested : int, optional
        The number of assignments of jobs to an epoch that a search tested.
    """

    epochs: tuple[Epoch, ...]
    tested: Integer | None = None

    @property
    def overhead(self) -> int:
        """Node reallocations per quantum."""
        return sum(chain.from_iterable([epoch.nodes.values() for epoch in self.epochs]))


class Rectangle(Record, kw_only=True, omit_defaults=True):
    """The nodes of a job and its interval in the quantum.

    Attributes
    ----------
    nodes : int
        A_j.
    start, end : float
        Its interval in the quantum, which is [0, 1].
    first : int, optional
        Its first node, if its nodes are contiguous; otherwise any free nodes are used.
    """

    nodes: Integer
    start: float
    end: float
    first: Integer | None = None


class Scheduled(Record, kw_only=True):
    """A schedule of rectangles (Figure 2(b)), as in result documents.

    Attributes
    ----------
    rectangles : dict of str to Rectangle
        The rectangle of each job.
    """

    rectangles: dict[str, Rectangle]

    @property
    def overhead(self) -> int:
        """Node reallocations per quantum."""
        return sum([piece.nodes for piece in self.rectangles.values()])


Solution = Partitioned | Scheduled


def fits(minima: Sequence[int], nodes: int, inequity: int) -> bool:
    """Return True if jobs with these minima fit into one epoch and use all nodes.

    For inequity k >= 1 they fit if and only if sum_j max(M_j, max M - k, 1) <= N: give each job
    that many nodes, then each remaining node to a smallest allotment. For k = 0 each of h jobs gets
    N/h nodes, which must be an integer.
    """
    if not minima:
        return False
    largest = max(minima)
    if inequity == 0:
        return nodes % len(minima) == 0 and largest * len(minima) <= nodes
    floor = max(1, largest - inequity)
    return sum(max(m, floor) for m in minima) <= nodes


def even_shares(minima: Sequence[int], nodes: int, inequity: int) -> list[int]:
    """Return allotments A_j that use all nodes as evenly as possible.

    `ValueError` if the jobs do not fit into one epoch.
    """
    if not fits(minima, nodes, inequity):
        raise ValueError(f"{minima} do not fit into {nodes} nodes with inequity {inequity}")
    if inequity == 0:
        return [nodes // len(minima)] * len(minima)
    floor = max(1, max(minima) - inequity)
    least = [max(m, floor) for m in minima]
    level, above = floor, nodes + 1  # the highest level to which all can be raised
    while above - level > 1:
        middle = (level + above) // 2
        enough = sum(max(a, middle) for a in least) <= nodes
        level, above = (middle, above) if enough else (level, middle)
    raised = [max(a, level) for a in least]
    spare = nodes - sum(raised)
    for i, a in enumerate(raised):
        if spare and a == level:
            raised[i] += 1
            spare -= 1
    return raised


def partitioned(
    instance: Instance,
    epochs: Iterable[Sequence[int]],
    *,
    inequity: int | None = None,
    tested: int | None = None,
) -> Partitioned:
    """Return the record of a partition.

    Parameters
    ----------
    instance : Instance
        The instance.
    epochs : iterable of sequence of int
        The positions of the jobs of each epoch.
    inequity : int, optional
        A smaller inequity than the instance's.
    tested : int, optional
        The number of assignments that a search tested.

    Raises
    ------
    ValueError
        If the jobs of an epoch do not fit.
    """
    jobs, packed = len(instance.jobs), []
    most = instance.inequity if inequity is None else inequity
    minimum_of, name_of = instance.minima.tolist().__getitem__, instance.names.__getitem__
    for members in epochs:
        nodes = even_shares([*map(minimum_of, members)], instance.nodes, most)
        held = dict(zip(map(name_of, members), nodes, strict=True))
        packed.append(Epoch(duration=len(nodes) / jobs, nodes=held))
    return Partitioned(epochs=tuple(packed), tested=tested)
