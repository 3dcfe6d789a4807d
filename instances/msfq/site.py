"""A site's own priorities of jobs, as its file describes them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from schedopt.instances.declarations import Name, Record
from schedopt.instances.encoding import decode, to_json
from schedopt.instances.files import read_bytes

Positive = Annotated[float, msgspec.Meta(gt=0)]
Grouping = Literal["user", "group", "queue"]
WEEK = 604800.0


class Weights(Record, kw_only=True, omit_defaults=True):
    """The weight of each factor of a job's priority; a negative weight reverses the factor."""

    age: float = 0.0  # of the waiting time divided by ``max_age``, at most 1
    size: float = 0.0  # of its servers as a fraction of all
    fair_share: float = 0.0  # of 2^-(usage/share), by its user's parts of all usage and shares
    qos: float = 0.0  # of its quality of service


class Priority(Record, kw_only=True, omit_defaults=True):
    """A job's priority, highest first: a weighted sum of factors, recomputed at each event."""

    weights: Weights = Weights()
    # Whether jobs may pass the first that does not fit: if they do not delay it, always, or never.
    backfill: Literal["easy", "skip", "stop"] = "easy"
    max_age: Positive = WEEK  # the waiting time at which ``age`` is 1, in the log's unit
    half_life: Positive = WEEK  # the half-life of usage, in the log's unit
    by: Grouping = "user"  # the column whose names have usage and shares
    shares: dict[Name, Positive] = msgspec.field(default_factory=dict)  # 1 for other names
    # The quality of service of jobs, by the names in a column; 0 for other names.
    qos: dict[Name, float] = msgspec.field(default_factory=dict)
    qos_by: Grouping = "queue"


KINDS = ("priority",)
"""The options of policies that take a file of this kind."""


def site(given: str) -> Priority:
    """Return the priorities in a file, or in JSON itself, which begins with a brace."""
    if given.lstrip().startswith("{"):
        return decode(given.encode(), Priority)
    return decode(read_bytes(given), Priority, file=given)


def inline(given: str) -> str:
    """Return the priorities as one line of JSON, which needs no file."""
    return to_json(site(given)).decode()
