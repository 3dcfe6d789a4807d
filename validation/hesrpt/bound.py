"""Prove a bound on an allocation's cost again from work prices, in interval arithmetic.

For one completion order let W_k be the total weight of the last k jobs. Let nonnegative work prices
be such that, for every k, no shares of the servers give the last k jobs work of a value above W_k
per unit of time. Then no policy with that order costs less than the sum of price times size. If
jobs differ in size alone, prices by position in the order hold for all orders: the least sum pairs
the highest price with the smallest job. Numbers are decimals as in the file; a claim may exceed the
proven bound by a relative 1e-9.
"""

from collections.abc import Mapping, Sequence
from math import isfinite

import msgspec
import numpy as np

from schedopt.instances.constraints import Constraint
from schedopt.instances.hesrpt import Instance
from schedopt.solvers.result import Document
from schedopt.validation.hesrpt.earning import earnings_bounds
from schedopt.validation.hesrpt.intervals import Interval
from schedopt.validation.hesrpt.speedup_bounds import curve_of
from schedopt.validation.report import CertificateRecord

ROUNDING = 1e-9  # relative amount by which a claim may exceed the proven bound


class NotShownError(ValueError):
    """A step of the proof does not follow; the message names the step."""


class Ranks(CertificateRecord, frozen=True, tag="ranks"):
    """Prices by position in the order, from the last job, for jobs that differ in size alone."""

    prices: list[float]


def reprove(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> str | None:
    """Prove a claimed bound again: see `validation.documents`."""
    try:
        ranks = msgspec.convert(certificate, Ranks, strict=True)
        with np.errstate(all="ignore"):  # prices beyond all numbers show nothing
            proven = proven_bound(instance, constraints, ranks, claim)
    except msgspec.ValidationError as error:
        return f"the certificate cannot be read: {error}; solve again with a certificate"
    except (ValueError, LookupError, ArithmeticError) as reason:
        return str(reason)
    bound = claim.bound
    if bound is None or not isfinite(bound) or not bound <= proven * (1.0 + ROUNDING):
        return f"the certificate shows {proven:.12g}, not {bound}"
    return None


def proven_bound(
    instance: Instance,
    constraints: Sequence[Constraint],
    ranks: Ranks,
    claim: Document,
    most_jobs: int = 2_500,
) -> float:
    """Return the bound that prices by position prove for all orders.

    Raises
    ------
    NotShownError
        If they prove none, or if there are more than ``most_jobs`` jobs.
    """
    if claim.sense != "minimize":
        raise NotShownError(f"cost is minimized, not {claim.sense}d")
    if claim.formulation != "allocation":
        raise NotShownError(f"prices of work say nothing of {claim.formulation}")
    if any(job.arrival > 0 for job in instance.jobs):
        raise NotShownError("prices of work say nothing of jobs that arrive later")
    if instance.objective == "makespan":
        raise NotShownError("prices of work say nothing of a makespan")
    if constraints or len({job.speedup or instance.speedup for job in instance.jobs}) > 1:
        raise NotShownError("ranks: jobs differ in more than their sizes")
    weighted = instance.objective == "weighted-flow-time"
    if weighted and len({job.weight for job in instance.jobs}) > 1:
        raise NotShownError("ranks: jobs differ in weight")
    count = len(instance.jobs)
    if count > most_jobs:
        raise NotShownError(f"more than {most_jobs} jobs")
    if len(ranks.prices) != count:
        raise NotShownError("ranks: not a price for each place")
    prices = np.array(ranks.prices, dtype=np.float64)
    if not (np.isfinite(prices).all() and (prices >= 0).all()):
        raise NotShownError("prices: not finite, or negative")
    cost = Interval.decimals(instance.jobs[0].weight if weighted else 1.0)
    if instance.objective == "mean-flow-time":
        cost = cost / Interval.exactly(float(count))
    costs = cost * Interval.exactly(np.arange(1.0, count + 1))
    earned = earnings_bounds(curve_of(instance), float(instance.servers), prices)
    beyond = np.flatnonzero(~(earned <= costs.low))
    if len(beyond):
        raise NotShownError(f"prices: the last {beyond[0] + 1} jobs can earn more than they cost")
    sizes = Interval.decimals(np.array([job.size for job in instance.jobs])).low
    pairs = Interval.exactly(np.sort(prices)) * Interval.exactly(np.sort(sizes)[::-1])
    return float(pairs.total().low)
