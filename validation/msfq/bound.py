"""Verification of bounds on the response time of a log, in integers and without a solver.

In a nonpreemptive schedule all jobs together pay at most as much for servers (or another resource)
as these would earn if they were never idle. So the sum of weighted response times is at least the
sum, over all jobs, of response time plus payment at the start that is cheapest for the job alone,
minus the earnings of all servers. Two relaxations hold without prices: no job responds sooner than
it runs; and one machine as fast as all servers, which runs the least remaining work first, has its
k-th completion no later than any schedule (for weights equal to work, it does no work later).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from math import floor, gcd, inf, isfinite
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint
from schedopt.instances.decimals import as_written
from schedopt.instances.msfq import Instance
from schedopt.solvers.result import Document
from schedopt.validation.msfq import bellman
from schedopt.validation.msfq.solved import NEAR, least_objective, recompute_curve
from schedopt.validation.report import CertificateRecord, Refuted

UNAIDED = ("threshold",)
"""Formulations whose bound is re-proved without a certificate."""
SERVERS = "servers"
ROUNDING = 1e-9
"""The relative tolerance on a claimed bound."""
ROOM = 2**62
"""The limit on sums, so that none overflows 64 bits."""
Whole = NDArray[np.int64]
Count = Annotated[int, msgspec.Meta(ge=0, lt=ROOM)]
Positive = Annotated[int, msgspec.Meta(ge=1)]


class ServerPrices(CertificateRecord, frozen=True, tag="server-prices"):
    """The price of a server over time.

    ``scale`` is the number of ticks in a unit of time, as a fraction; times between ticks are
    rounded down. Waiting one tick costs a job of weight 1 ``unit``. ``prices`` are the prices of a
    server for one tick between neighbouring times of the ``grid``, which are in ticks from the
    first submit. Before and after the grid servers are free.
    """

    scale: tuple[Positive, Positive]
    unit: Positive
    grid: tuple[Count, ...]
    prices: tuple[Count, ...]


class PartPrices(CertificateRecord, frozen=True):
    """Prices of one partition, by resource.

    ``partition`` is its name, empty for a machine without partitions. Resources other than servers
    are counted in the greatest common divisor of all needs.
    """

    partition: str
    scale: tuple[Positive, Positive]
    unit: Positive
    grid: tuple[Count, ...]
    prices: dict[str, tuple[Count, ...]]


class ResourcePrices(CertificateRecord, frozen=True, tag="resource-prices"):
    """The prices of resources over time, in each partition that has jobs."""

    parts: tuple[PartPrices, ...]


class ResourceUse(NamedTuple):
    """A resource: the need of each job, and the amount of the machine."""

    needs: list[int]
    amount: int


class JobsInTicks:
    """The jobs of a log in ticks."""

    def __init__(self, queue: Instance, scale: Fraction) -> None:
        jobs = queue.jobs
        submit = [as_written(time) * scale for time in jobs.submit.tolist()]
        run = [as_written(time) * scale for time in jobs.run.tolist()]
        self.need: list[int] = jobs.need.tolist()
        zero = floor(submit[0])
        self.submit = [floor(time) - zero for time in submit]
        self.run = [floor(time) for time in run]
        self.exact = all(time.denominator == 1 for time in (*submit, *run))
        weighted = queue.objective == "weighted"
        self.weight = [n * p if weighted else 1 for n, p in zip(self.need, self.run, strict=True)]
        self.total = Fraction(len(run))
        if weighted:
            self.total = sum((n * p for n, p in zip(self.need, run, strict=True)), Fraction(0))
        self.scale = scale

    def mean(self, total: Fraction) -> Fraction:
        """Return the mean response time of a sum in ticks, less the rounding of the times."""
        lost = 0 if self.exact else sum(self.weight)
        return (total - lost) / self.total / self.scale


def reprove(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> str | None:
    """Verify a claimed bound; return None, or the reason why it is not proven.

    Side constraints are ignored for logs: they can only increase the objective.
    """
    if instance.log is None and claim.formulation in UNAIDED:
        return _reprove_threshold(instance, constraints, certificate, claim)
    if instance.log is None and claim.formulation == "optimal-policy":
        return _reprove_values(instance, certificate, claim)
    if instance.log is None or claim.formulation != "bound":
        return "no certificate of this formulation can be re-proved"
    return _reprove_prices(instance, certificate, claim)


def _reprove_prices(
    instance: Instance, certificate: Mapping[str, object], claim: Document
) -> str | None:
    """Verify the bound of a log from its prices, including the delays from submits to releases."""
    delay = mean_delay(instance)
    instance, _ = instance.as_released()
    try:
        stated = msgspec.convert(certificate, ServerPrices | ResourcePrices)
    except msgspec.ValidationError as error:
        return f"the certificate cannot be read: {error}"
    try:
        if isinstance(stated, ServerPrices):
            prices = {SERVERS: stated.prices}
            shown, _ = bound_of_prices(instance, stated.scale, stated.unit, stated.grid, prices)
        else:
            shown = bound_of_partitions(instance, stated.parts)
    except ValueError as reason:
        return str(reason)
    shown += delay
    claimed = Fraction(claim.bound or 0.0)
    if claimed <= shown * (1 + Fraction(ROUNDING)):
        return None
    return f"{float(claimed):.12g} claimed, {float(shown):.12g} proven"


def mean_delay(queue: Instance) -> Fraction:
    """Return the mean time from submit to release, weighted as the objective."""
    jobs = queue.jobs
    if jobs.release is None:
        return Fraction(0)
    submits, releases = (map(as_written, of.tolist()) for of in (jobs.submit, jobs.release))
    delays = [release - submit for submit, release in zip(submits, releases, strict=True)]
    weights = [Fraction(1)] * len(delays)
    if queue.objective == "weighted":
        runs = map(as_written, jobs.run.tolist())
        weights = [need * run for need, run in zip(jobs.need.tolist(), runs, strict=True)]
    weighted = (weight * delay for weight, delay in zip(weights, delays, strict=True))
    return sum(weighted, Fraction(0)) / sum(weights, Fraction(0))


def _reprove_threshold(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> str | None:
    """Verify the bound of a best threshold: the minimum of the recomputed curve."""
    if claim.sense != "minimize" or certificate:
        return "a threshold is minimized, and has no certificate"
    method = claim.solution.get("method", claim.options.get("method"))
    if method != "exact":
        return f"the curve is an approximation, by {method}"
    curve = recompute_curve(instance)
    if curve is None:
        return "the curve is not recomputed for so many servers"
    _, best = least_objective(instance, constraints, curve)
    bound = claim.bound
    if bound is None or not isfinite(bound) or not bound <= best * (1 + NEAR):
        return Refuted(f"the best threshold gets {best:.12g}, not {bound}")
    _, lower = least_objective(instance, constraints, curve, 1 + NEAR)
    if bound <= lower * (1 + NEAR):
        return None
    return f"a threshold that satisfies the side constraints, or may, has {lower:.12g}"


def _reprove_values(
    instance: Instance, certificate: Mapping[str, object], claim: Document
) -> str | None:
    """Verify the bound of an optimal policy from its relative values."""
    try:
        with np.errstate(over="raise", invalid="raise"):  # no bound follows from nan
            shown = bellman.proven_bound(
                instance, msgspec.convert(certificate, bellman.RelativeValues)
            )
    except (ValueError, FloatingPointError) as reason:
        return f"the certificate proves nothing: {reason}"
    if claim.bound is not None and claim.bound <= shown * (1 + ROUNDING) < inf:
        return None
    return f"{claim.bound} claimed, {shown:.12g} proven by relative values"


def bound_of_partitions(queue: Instance, given: Sequence[PartPrices]) -> Fraction:
    """Return the bound on the mean response time that prices prove over all partitions.

    Raises
    ------
    ValueError
        If the prices are not those of each partition that has jobs.
    """
    by_partition = {one.partition: one for one in given}
    parts = queue.parts()
    if len(by_partition) != len(given) or by_partition.keys() != {part.name for part in parts}:
        raise ValueError("the certificate's parts are not the partitions that have jobs")
    total = weight = Fraction(0)
    for part in parts:
        one = by_partition[part.name]
        shown, heavy = bound_of_prices(part.queue, one.scale, one.unit, one.grid, one.prices)
        total, weight = total + shown * heavy, weight + heavy
    return total / weight


def bound_of_prices(
    queue: Instance,
    scale: tuple[int, int],
    unit: int,
    grid: Sequence[int],
    prices: Mapping[str, Sequence[int]],
) -> tuple[Fraction, Fraction]:
    """Return a proven bound on the mean response time, and the total weight of the jobs.

    The bound is the best of the prices and the relaxations. The queue is treated as a machine
    without partitions.
    """
    jobs = JobsInTicks(queue, Fraction(*scale))
    held, needs = {SERVERS: ResourceUse(jobs.need, queue.servers)}, queue.jobs.needs
    if needs is not None and not queue.partitions:
        for name, column in zip(needs.names, needs.amounts.T.tolist(), strict=True):
            unit_of = gcd(*column) or 1  # amounts in use are multiples of this
            amount = queue.resources.get(name, 0) // unit_of
            held[name] = ResourceUse([need // unit_of for need in column], amount)
    if unknown := sorted(prices.keys() - held.keys()):
        raise ValueError(
            f"the certificate has prices of {unknown[0]}, which the machine does not have"
        )
    best = jobs.mean(Fraction(priced_responses(jobs, unit, grid, held, prices), unit))
    if queue.objective == "weighted":
        return max(best, jobs.mean(busy_date_bound(jobs, queue.servers))), jobs.total / jobs.scale
    for one in held.values():
        if one.amount:
            best = max(best, jobs.mean(squashed_area_bound(jobs, one)))
    return best, jobs.total


def priced_responses(
    jobs: JobsInTicks,
    unit: int,
    times: Sequence[int],
    held: Mapping[str, ResourceUse],
    given: Mapping[str, Sequence[int]],
) -> int:
    """Return the least response times plus payments, minus the resources' earnings, in units.

    Raises
    ------
    ValueError
        If the prices are malformed, or too large for sums in 64 bits.
    """
    grid, names = np.array(times, np.int64), list(given)
    alike = all(len(grid) == len(prices) + 1 for prices in given.values())
    if len(grid) < 2 or not alike or not (np.diff(grid) > 0).all():
        raise ValueError("the certificate's grid is not increasing, or has no price for a cell")
    lengths = np.diff(grid).tolist()
    horizon = max(int(grid[-1]), jobs.submit[-1]) + max(jobs.run)
    most, earning = unit * max(jobs.weight) * horizon, 0
    each: list[tuple[Whole, Whole]] = []
    for name in names:
        whole = [0]
        for price, length in zip(given[name], lengths, strict=True):
            whole.append(whole[-1] + price * length)
        most += whole[-1] * (max(held[name].needs) or 1)
        earning += held[name].amount * whole[-1]
        if most >= ROOM or horizon >= ROOM:
            raise ValueError("the certificate's prices are too large to be added up")
        each.append((np.array(whole, np.int64), np.array([*given[name], 0], np.int64)))
    if most >= ROOM or horizon >= ROOM:
        raise ValueError("the certificate's prices are too large to be added up")

    def rent(times: Whole, job: int) -> Whole:
        """Return the price of a job's needs from the first grid time to each of these times."""
        at = np.maximum(np.searchsorted(grid, times, "right") - 1, 0)
        since = np.maximum(times - grid[at], 0)
        costs: Whole = np.zeros(len(times), np.int64)
        for name, (paid, prices) in zip(names, each, strict=True):
            if need := held[name].needs[job]:
                costs += need * (paid[at] + prices[at] * since)
        return costs

    total = 0
    for job, (submit, run, weight) in enumerate(
        zip(jobs.submit, jobs.run, jobs.weight, strict=True)
    ):
        rate = unit * weight
        begun, ended = rent(np.array([submit, submit + run]), job)
        cheapest = rate * run + int(ended - begun)
        if cheapest > rate * run and rate:
            last = (
                submit + (cheapest - rate * run) // rate
            )  # later starts cost more by the waiting alone
            low, high = np.searchsorted(grid, [submit, last], "right")
            near, far = np.searchsorted(grid, [submit + run, last + run], "right")
            starts = np.concatenate([grid[low:high], grid[near:far] - run])
            if len(starts):
                paying = rent(starts + run, job) - rent(starts, job)
                cheapest = min(cheapest, int((rate * (starts + run - submit) + paying).min()))
        elif not rate:
            cheapest = 0
        total += cheapest
    return total - earning


def busy_date_bound(jobs: JobsInTicks, servers: int) -> Fraction:
    """Return the least sum of work times response time, in ticks.

    A job that runs without interruption ends half its run time after its mean busy date. One fast
    machine does all work evenly over each busy period, and no schedule does it sooner.
    """
    twice = began = now = 0
    for submit, need, run in zip(jobs.submit, jobs.need, jobs.run, strict=True):
        if submit * servers > now:
            twice += now * now - began * began
            began = now = submit * servers
        now += need * run
    twice += now * now - began * began
    came = sum(w * submit for w, submit in zip(jobs.weight, jobs.submit, strict=True))
    alone = sum(w * run for w, run in zip(jobs.weight, jobs.run, strict=True))
    return max(Fraction(twice, 2 * servers) + Fraction(alone, 2) - came, Fraction(alone))


def squashed_area_bound(jobs: JobsInTicks, held: ResourceUse) -> Fraction:
    """Return the least sum of response times on a resource, in ticks, by both relaxations."""
    needs, servers = held
    waiting: list[int] = []
    ends: list[int] = []
    now = 0
    times = [submit * servers for submit in jobs.submit]
    for i, (need, run) in enumerate(zip(needs, jobs.run, strict=True)):
        now = max(now, times[i])
        heappush(waiting, need * run)
        until = times[i + 1] if i + 1 < len(times) else None
        while waiting:
            work = heappop(waiting)
            if until is not None and now + work > until:
                heappush(waiting, work - (until - now))
                now = until
                break
            now += work
            ends.append(now)
    alone = sorted(time + servers * run for time, run in zip(times, jobs.run, strict=True))
    both = sum(max(a, b) for a, b in zip(alone, sorted(ends), strict=True))
    return Fraction(both - sum(times), servers)
