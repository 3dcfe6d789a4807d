"""A site's own policy for a log, as its file says it: priorities, or quotas of queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, TypeVar

import msgspec

from schedopt.instances.declarations import Name, Record
from schedopt.instances.decoding import decode
from schedopt.instances.errors import InputError
from schedopt.instances.files import read_bytes

Positive = Annotated[float, msgspec.Meta(gt=0)]
Amount = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Grouping = Literal["user", "group", "queue"]
WEEK = 604800.0
MOST_LEVELS = 16


class Weights(Record, kw_only=True, omit_defaults=True):
    """The weight of each factor of a job; a negative one reverses it."""

    age: float = 0.0  # of the waiting time over ``max_age``, at most 1
    wait: float = 0.0  # of the waiting time over ``max_age``, however long
    stretch: float = 0.0  # of the waiting time over the planned run time
    size: float = 0.0  # of the servers that it needs, as a part of all
    need: float = 0.0  # of the logarithm to base 10 of its servers
    run: float = 0.0  # of that of its planned run time
    area: float = 0.0  # of that of their product
    fair_share: float = 0.0  # of 2 to the power of minus its user's usage over the user's share
    usage: float = 0.0  # of its user's part in the usage of all
    qos: float = 0.0  # of its quality of service


class Limit(Record, kw_only=True):
    """The most of the machine that long jobs may hold together."""

    # The planned run time beyond which a job is long, in the log's unit.
    longer_than: Annotated[float, msgspec.Meta(ge=0)]
    # The part of the servers that all those jobs together may hold; one that needs more counts as
    # if it needed that.
    most: Annotated[float, msgspec.Meta(gt=0, le=1)]


class Priority(Record, kw_only=True, omit_defaults=True):
    """A job's priority, highest first: a weighted sum of factors, recomputed at each event."""

    weights: Weights = Weights()
    # Whether jobs may pass the first that does not fit: if they do not delay it, always, never.
    backfill: Literal["easy", "skip", "stop"] = "easy"
    max_age: Positive = WEEK  # the waiting time that counts 1, in the log's unit
    half_life: Positive = WEEK  # the time after which usage counts half
    by: Grouping = "user"  # whose usage and shares these are
    shares: dict[Name, Positive] = msgspec.field(default_factory=dict)  # 1 for whoever is not named
    # The quality of service of jobs, by the names in a column; 0 for those not named.
    qos: dict[Name, float] = msgspec.field(default_factory=dict)
    qos_by: Grouping = "queue"
    limits: tuple[Limit, ...] = ()  # on long jobs, for each length that matters; EASY obeys them


class Cohort(Record, kw_only=True, omit_defaults=True):
    """Queues, and cohorts, that lend each other what they do not use."""

    # Its own quota of ``servers`` and of each resource, beside that of its members; 0 if not named.
    nominal: dict[Name, Amount] = msgspec.field(default_factory=dict)
    # How much more it may use of what its parent's other members leave; any amount if not named.
    borrowing_limit: dict[Name, Amount] = msgspec.field(default_factory=dict)
    cohort: str | None = None  # its parent


class Queue(Cohort, kw_only=True, omit_defaults=True):
    """A queue and the quota that its jobs share."""

    strict: bool = False  # whether nobody may pass the first of the queue (StrictFIFO)


class Tree(NamedTuple):
    """Quotas as a forest, queues first; a node without a parent has -1, one without a cap None."""

    names: Sequence[str]
    parent: Sequence[int]
    nominal: Sequence[Sequence[int]]
    most: Sequence[Sequence[int | None]]


class Quotas(Record, kw_only=True, omit_defaults=True):
    """Quotas of queues, and of cohorts in which queues borrow."""

    queues: dict[Name, Queue] = msgspec.field(default_factory=dict)
    # A cohort that a queue names need not stand here.
    cohorts: dict[Name, Cohort] = msgspec.field(default_factory=dict)
    by: Grouping = "queue"  # the column with the names of queues
    # The priority of jobs by the names in a column, the greatest first; 0 for those not named.
    priority: dict[Name, float] = msgspec.field(default_factory=dict)
    priority_by: Grouping = "group"

    def __post_init__(self) -> None:
        self.tree(("servers",))

    def tree(self, resources: tuple[str, ...]) -> Tree:
        """Return the forest for some resources; `InputError` if cohorts go round in a circle."""
        cohorts = dict(self.cohorts)
        for one in (*self.queues.values(), *self.cohorts.values()):
            if one.cohort is not None:
                cohorts.setdefault(one.cohort, Cohort())
        nodes: list[Cohort] = [*self.queues.values(), *cohorts.values()]
        at = {name: i for i, name in enumerate(cohorts, start=len(self.queues))}
        parent = [-1 if node.cohort is None else at[node.cohort] for node in nodes]
        nominal = [[node.nominal.get(r, 0) for r in resources] for node in nodes]
        total = [list(own) for own in nominal]
        for node, own in enumerate(nominal):
            above, levels = parent[node], 0
            while above >= 0:
                total[above] = [a + b for a, b in zip(total[above], own, strict=True)]
                above, levels = parent[above], levels + 1
                if levels > MOST_LEVELS:
                    expected = f"at most {MOST_LEVELS} levels of cohorts, and no circle"
                    raise InputError(expected, found="more", place="cohorts")
        most = [
            [
                None
                if node.cohort is not None and r not in node.borrowing_limit
                else own + node.borrowing_limit.get(r, 0) * (node.cohort is not None)
                for r, own in zip(resources, held, strict=True)
            ]
            for node, held in zip(nodes, total, strict=True)
        ]
        return Tree((*self.queues, *cohorts), parent, total, most)


T = TypeVar("T", bound=Priority | Quotas)
KINDS: Mapping[str, type[Priority | Quotas]] = {"priority": Priority, "quotas": Quotas}
"""By the option that takes them."""


def site(given: str, wanted: type[T]) -> T:
    """Read a file, or JSON itself, which begins with a brace."""
    if given.lstrip().startswith("{"):
        return decode(given.encode(), wanted)
    return decode(read_bytes(given), wanted, file=given)


def inline(given: str, wanted: type[Priority | Quotas]) -> str:
    """Return the same as JSON in a line, which needs no file."""
    return msgspec.json.encode(site(given, wanted)).decode()
