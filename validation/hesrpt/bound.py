"""Re-prove a bound on an allocation's cost from prices of work, in intervals, without a solver.

For one completion order let W_k be the cost rate of the k last jobs. Prices of work, not negative,
under which no shares of the servers let the k last earn more than W_k in a unit of time, for every
k, show that no policy of that order costs less than the sum of price times size. Where jobs differ
in size alone, a price for each place in the order holds for all orders: the least sum pairs the
highest price with the smallest job. Numbers are decimals as the file writes them; a claim may be
above what is shown by 1e-9 of it.
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

ROUNDING = 1e-9
MOST_JOBS = 2_500


class NotShownError(ValueError):
    """A step that does not follow; the message says which."""


class Ranks(CertificateRecord, frozen=True, tag="ranks"):
    """A price for each place in the order, from the last: where jobs differ in size alone."""

    prices: list[float]


def reprove(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> str | None:
    """Re-prove a claimed bound: see `validation.documents`."""
    try:
        ranks = msgspec.convert(certificate, Ranks, strict=True)
        with np.errstate(all="ignore"):  # prices beyond all numbers show nothing
            proven = proven_bound(instance, constraints, ranks, claim)
    except msgspec.ValidationError as error:
        return f"the certificate cannot be read: {error}; solve again with --certificate"
    except (ValueError, LookupError, ArithmeticError) as reason:
        return str(reason)
    bound = claim.bound
    if bound is None or not isfinite(bound) or not bound <= proven * (1.0 + ROUNDING):
        return f"the certificate shows {proven:.12g}, not {bound}"
    return None


def proven_bound(
    instance: Instance, constraints: Sequence[Constraint], ranks: Ranks, claim: Document
) -> float:
    """Return the bound that prices by place prove for all orders; raise where they prove none."""
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
    if count > MOST_JOBS:
        raise NotShownError(f"more than {MOST_JOBS} jobs")
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
