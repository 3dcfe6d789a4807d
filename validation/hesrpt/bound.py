"""Prove a bound on an allocation's cost again from work prices.

For one completion order let W_k be the total weight of the last k jobs. Let nonnegative work prices
be such that, for every k, no shares of the servers give the last k jobs work of a value above W_k
per unit of time. Then no policy with that order costs less than the sum of price times size. If
jobs differ in size alone, prices by position in the order hold for all orders: the least sum pairs
the highest price with the smallest job. Sums are computed in floating point, so that a claim may
exceed the proven bound by a relative 1e-9.
"""

from collections.abc import Mapping, Sequence
from math import isfinite

import msgspec
import numpy as np

from schedopt.instances.constraints import Constraint
from schedopt.instances.hesrpt import Amdahl, Instance, Power
from schedopt.solvers.result import Document
from schedopt.validation.hesrpt.allocation import Floats, rates_of
from schedopt.validation.report import CertificateRecord

ROUNDING = 1e-9  # relative amount by which sums may exceed their limits


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
    cost = instance.jobs[0].weight if weighted else 1.0
    cost /= count if instance.objective == "mean-flow-time" else 1
    costs = cost * np.arange(1, count + 1)
    beyond = np.flatnonzero(~(most_earned(instance, prices) <= costs * (1.0 + ROUNDING / 10)))
    if len(beyond):
        raise NotShownError(f"prices: the last {beyond[0] + 1} jobs can earn more than they cost")
    sizes = np.array([job.size for job in instance.jobs])
    return float(np.sort(prices) @ np.sort(sizes)[::-1])


def most_earned(instance: Instance, prices: Floats, halvings: int = 60) -> Floats:
    """Return for each n an upper bound on the value of work of the jobs with the first n prices.

    At any rent of a server the value is at most the rent of all servers, and for each job the most
    that it gains beyond its rent. The rents are those at which the jobs use about all servers, by
    ``halvings`` of an interval of their logarithms.

    Parameters
    ----------
    instance : Instance
        Its jobs have one speedup.
    prices : ndarray, shape (M,)
        Nonnegative.
    """
    servers, positive = float(instance.servers), np.flatnonzero(prices > 0)
    alone = rates_of(instance, np.zeros(1, dtype=np.intp), np.array([servers]))[0]
    scale = np.maximum(np.maximum.accumulate(prices), 1e-250) * alone / servers

    def used(rents: Floats) -> Floats:
        total = np.zeros(len(prices))
        for j in positive.tolist():
            total[j:] += _best_servers(instance, prices[j], rents[j:])
        return total

    low, high = np.log(scale) - 60.0, np.log(scale) + 60.0
    idle = used(np.exp(low)) <= servers
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        over = used(np.exp(middle)) > servers
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    rents = np.where(idle, 0.0, np.exp(high))
    total = rents * servers
    for j in positive.tolist():
        k = _best_servers(instance, prices[j], rents[j:])
        speeds = rates_of(instance, np.zeros(len(k), dtype=np.intp), k)
        total[j:] += prices[j] * speeds - rents[j:] * k
    return total


def _best_servers(instance: Instance, price: float, rents: Floats) -> Floats:
    """Return the servers with which a job gains most beyond its rent, shape (n,)."""
    speedup, servers = instance.jobs[0].speedup or instance.speedup, float(instance.servers)
    with np.errstate(all="ignore"):
        if isinstance(speedup, Power):
            exponent = np.log(speedup.p * price / rents) / (1.0 - speedup.p)
            corners = [np.exp(np.minimum(exponent, np.log(servers)))]
        elif isinstance(speedup, Amdahl):
            f = speedup.parallel
            corners = [(np.sqrt(f * price / rents) - f) / (1.0 - f)]
        else:
            corners = [np.full(len(rents), k) for k, _ in (speedup.points if speedup else ())]
    best, most = np.zeros(len(rents)), np.zeros(len(rents))
    for some in [*corners, np.full(len(rents), servers)]:
        k = np.clip(np.nan_to_num(some), 0.0, servers)
        gain = price * rates_of(instance, np.zeros(len(k), dtype=np.intp), k) - rents * k
        best, most = np.where(gain > most, k, best), np.maximum(gain, most)
    return best
