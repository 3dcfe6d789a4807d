"""A site's own policy for a log, as its file says it: priorities."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from schedopt.instances.declarations import Name, Record
from schedopt.instances.decoding import decode
from schedopt.instances.encoding import to_json
from schedopt.instances.files import read_bytes

Positive = Annotated[float, msgspec.Meta(gt=0)]
Grouping = Literal["user", "group", "queue"]
WEEK = 604800.0


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


KINDS = ("priority",)
"""The options that take a site's own policy."""


def site(given: str) -> Priority:
    """Read a file, or JSON itself, which begins with a brace."""
    if given.lstrip().startswith("{"):
        return decode(given.encode(), Priority)
    return decode(read_bytes(given), Priority, file=given)


def inline(given: str) -> str:
    """Return the same as JSON in a line, which needs no file."""
    return to_json(site(given)).decode()
