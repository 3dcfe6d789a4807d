"""Re-prove a bound on an allocation's cost from prices of work, in intervals, without a solver.

For one completion order let W_k be the cost rate of the k last jobs. Prices of work, not negative,
under which no shares of the servers let the k last earn more than W_k in a unit of time, for every
k, show that no policy of that order costs less than the sum of price times size. Side constraints
that are left out of account make the bound weaker and never wrong. Numbers are decimals as the file
writes them; a claim may be above what is shown by 1e-9 of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, FairShare, Shares
from schedopt.instances.hesrpt import Instance
from schedopt.solvers.result import Document
from schedopt.validation.hesrpt.decision_diagram import Diagram, Pass
from schedopt.validation.hesrpt.earning import Bools, machine_of
from schedopt.validation.hesrpt.intervals import Floats, Interval
from schedopt.validation.report import CertificateRecord

ROUNDING = 1e-9
MOST_IN_ROWS, MOST_IN_PASSES = 2_500, 60
"""The most jobs: of prices by place, and of passes over sets of last jobs."""
MOST_PASSES, MOST_LEFT = 200, 6_000  # most passes, and most orders that they leave open


class NotShownError(ValueError):
    """A step that does not follow; the message says which."""


class Ranks(CertificateRecord, frozen=True, tag="ranks"):
    """A price for each place in the order, from the last: where jobs differ in size alone."""

    prices: list[float]


class OrderPrices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prices for one order, both from the last job to complete; jobs by their place in the file."""

    last_first: list[int]
    prices: list[float]


class Passes(CertificateRecord, frozen=True, tag="diagram"):
    """Passes over sets of last jobs, and the orders that cost less than the goal in none."""

    goal: float
    passes: list[Pass]
    orders: list[OrderPrices]


def reprove(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> str | None:
    """Re-prove a claimed bound: see `validation.documents`."""
    try:
        record: Ranks | Passes = msgspec.convert(certificate, Ranks | Passes, strict=True)
        with np.errstate(all="ignore"):  # prices beyond all numbers show nothing
            proven = _proven_bound(instance, constraints, record, claim)
    except msgspec.ValidationError as error:
        return f"the certificate cannot be read: {error}; solve again with --certificate"
    except (ValueError, LookupError, ArithmeticError) as reason:
        return str(reason)
    bound = claim.bound
    if bound is None or not isfinite(bound) or not bound <= proven * (1.0 + ROUNDING):
        return f"the certificate shows {proven:.12g}, not {bound}"
    return None


def _proven_bound(
    instance: Instance, constraints: Sequence[Constraint], record: Ranks | Passes, claim: Document
) -> float:
    if claim.sense != "minimize":
        raise NotShownError(f"cost is minimized, not {claim.sense}d")
    if claim.formulation != "allocation":
        raise NotShownError(f"prices of work say nothing of {claim.formulation}")
    if any(job.arrival > 0 for job in instance.jobs):
        raise NotShownError("prices of work say nothing of jobs that arrive later")
    if instance.objective == "makespan":
        raise NotShownError("prices of work say nothing of a makespan")
    proof = Proof(instance, constraints)
    return proof.of_ranks(record) if isinstance(record, Ranks) else proof.of_passes(record)


class Proof:
    """An instance as the proofs need it."""

    def __init__(self, instance: Instance, constraints: Sequence[Constraint]) -> None:
        self.instance, self.constraints = instance, constraints
        self.names = [job.name for job in instance.jobs]
        self.sizes = Interval.decimals(np.array([job.size for job in instance.jobs]))
        self.costs = Interval.exactly(np.ones(len(self.names)))
        if instance.objective == "weighted-flow-time":
            self.costs = Interval.decimals(np.array([job.weight for job in instance.jobs]))
        elif instance.objective == "mean-flow-time":
            self.costs = self.costs / Interval.exactly(float(len(self.names)))
        self.machine = machine_of(instance, constraints)

    def of_ranks(self, ranks: Ranks) -> float:
        """Return the bound that prices by place prove for all orders."""
        instance, count = self.instance, len(self.names)
        kinds = {job.speedup or instance.speedup for job in instance.jobs}
        weights = {job.weight for job in instance.jobs}
        if self.constraints or len(kinds) > 1:
            raise NotShownError("ranks: jobs differ in more than their sizes")
        if instance.objective == "weighted-flow-time" and len(weights) > 1:
            raise NotShownError("ranks: jobs differ in weight")
        prices = _checked_prices(ranks.prices)
        if len(prices) != count:
            raise NotShownError("ranks: not a price for each place")
        if count > MOST_IN_ROWS:
            raise NotShownError(f"more than {MOST_IN_ROWS} jobs")
        present = np.tri(count, dtype=np.bool_)
        self.expect_rows(np.where(present, prices, 0.0), present)
        sizes = np.sort(self.sizes.low)[::-1]  # rounding down keeps the order of sizes
        pairs = Interval.exactly(np.sort(prices)) * Interval.exactly(sizes)
        return float(pairs.total().low)

    def of_passes(self, passes: Passes) -> float:
        """Return the bound that passes prove for all orders, with prices for some of these."""
        count, goal = len(self.names), passes.goal
        if not np.isfinite(goal) or count > MOST_IN_PASSES or len(passes.passes) > MOST_PASSES:
            raise NotShownError("diagram: no such goal, or too many jobs or passes")
        after = [
            sum(1 << i for i in range(count) if i != j and self.completes_after(i, j))
            for j in range(count)
        ]
        diagram = Diagram(self.machine, self.sizes, self.costs, after)
        for each in passes.passes:
            diagram.narrow(each, goal)
        own = {tuple(one.last_first): one.prices for one in passes.orders}
        rows: dict[bytes, NDArray[np.float64]] = {}
        least = goal
        for order in diagram.orders(MOST_LEFT):
            if order not in own or len(own[order]) != count:
                names = ", ".join(self.names[j] for j in order)
                raise NotShownError(f"diagram: nothing closes the order {names}")
            row = np.zeros((2, count))  # prices, and who is there
            for j, price in zip(order, _checked_prices(own[order]), strict=True):
                row[:, j] = price, 1.0
                rows[row.tobytes()] = row.copy()
            worth = (Interval.exactly(row[0]) * self.sizes).total().low
            if not np.isfinite(worth):
                raise NotShownError("prices: too large to be added up")
            least = min(least, float(worth))
        if rows:
            both = np.array(list(rows.values()))
            self.expect_rows(both[:, 0], both[:, 1] > 0)
        return least

    def expect_rows(self, prices: Floats, present: Bools) -> None:
        """Raise if, in some row, the present jobs can earn more than they cost."""
        costs = Interval(
            np.where(present, self.costs.low, 0.0), np.where(present, self.costs.high, 0.0)
        )
        most = self.machine.earnings_bound(prices, present)
        beyond = ~(most <= costs.total().low)
        if beyond.any():
            row = int(np.flatnonzero(beyond)[0])
            names = [self.names[j] for j in np.flatnonzero(present[row])]
            raise NotShownError(f"{', '.join(names[:5])} can earn more than they cost")

    def completes_after(self, i: int, j: int) -> bool:
        """Tell whether job i need not complete before job j, equal but for size and cost.

        It is as large at the least and costs as much at the most. Where it completes first, their
        remaining sizes were equal once; from then on they can change places.
        """
        a, b = self.instance.jobs[i], self.instance.jobs[j]
        weights = (a.weight, b.weight)
        if self.instance.objective != "weighted-flow-time":
            weights = (1.0, 1.0)
        if not (a.size >= b.size and weights[0] <= weights[1]):
            return False
        equal = a.size == b.size and weights[0] == weights[1]
        return (i > j or not equal) and a.speedup == b.speedup and self._have_same_rules(i, j)

    def _have_same_rules(self, i: int, j: int) -> bool:
        """Tell whether side constraints ask the same of two jobs."""
        a, b = self.instance.jobs[i], self.instance.jobs[j]
        same = True
        for rule in self.constraints:
            if isinstance(rule, Shares):
                same = same and (a.name in rule.jobs) == (b.name in rule.jobs)
            elif isinstance(rule, FairShare):
                bounded = {*rule.at_least, *rule.at_most}
                groups = [job.groups.get(rule.by) for job in (a, b)]
                same = same and (groups[0] == groups[1] or not bounded & {*groups})
            else:
                same = False
        return same


def _checked_prices(prices: list[float]) -> Floats:
    """Return prices that are finite and not negative."""
    checked = np.array(prices, dtype=np.float64)
    if not (np.isfinite(checked).all() and (checked >= 0).all()):
        raise NotShownError("prices: not finite, or negative")
    return checked
