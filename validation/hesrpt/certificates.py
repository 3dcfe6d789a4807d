"""The kinds of certificates of allocations, as documents hold them."""

import msgspec

from schedopt.validation.hesrpt.decision_diagram import Pass
from schedopt.validation.report import CertificateRecord


class Order(CertificateRecord, frozen=True, tag="order"):
    """Prices for one order."""

    prices: dict[str, float]


class Ranks(CertificateRecord, frozen=True, tag="ranks"):
    """Prices by place, from the last to complete."""

    prices: list[float]


class Together(CertificateRecord, frozen=True, tag="together"):
    """Prices for all jobs together."""

    prices: dict[str, float]


class OneOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prices for one order, both from the last job to complete; jobs by their place in the file."""

    last_first: list[int]
    prices: list[float]


class Passes(CertificateRecord, frozen=True, tag="diagram"):
    """Passes over sets of last jobs, and the orders that cost less than the goal in none."""

    goal: float
    passes: list[Pass]
    orders: list[OneOrder]


class OneJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lower bound on one job's cost, and prices that prove it.

    Each price shows it for the ends after more cells than the one before, up to ``until``; the
    first begins at 0, and what is after the last cell is for the price ``beyond``.
    """

    cost: float
    until: list[int]
    prices: list[float]
    beyond: float


class Rents(CertificateRecord, frozen=True, tag="rents"):
    """Rents of a server in cells of time, and the cost of each job alone, in the file's order.

    Jobs of capped teams pay their team's rents.
    """

    times: list[float]
    rents: list[float]
    jobs: list[OneJob]
    by: str | None = None
    teams: dict[str, list[float]] = msgspec.field(default_factory=dict)


Certificate = Order | Ranks | Together | Passes | Rents
