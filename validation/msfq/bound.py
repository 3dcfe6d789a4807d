"""Verification of bounds on the response time of a log, in integers and without a solver.

In a nonpreemptive schedule all jobs together pay at most as much for servers as these would earn if
they were never idle. So the sum of weighted response times is at least the sum, over all jobs, of
response time plus payment at the start that is cheapest for the job alone, minus the earnings of
all servers. Two relaxations hold without prices: no job responds sooner than
it runs; and one machine as fast as all servers, which runs the least remaining work first, has its
k-th completion no later than any schedule (for weights equal to work, it does no work later).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from math import floor, inf, isfinite
from typing import Annotated

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


class PartitionPrices(CertificateRecord, frozen=True, tag="partition-prices"):
    """Prices of servers in each partition that has jobs, by its name."""

    parts: dict[str, ServerPrices]


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
        stated = msgspec.convert(certificate, ServerPrices | PartitionPrices)
    except msgspec.ValidationError as error:
        return f"the certificate cannot be read: {error}"
    by_partition = {"": stated} if isinstance(stated, ServerPrices) else stated.parts
    try:
        shown = bound_of_partitions(instance, by_partition)
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


def bound_of_partitions(queue: Instance, given: Mapping[str, ServerPrices]) -> Fraction:
    """Return the bound on the mean response time that prices prove over all partitions.

    Raises
    ------
    ValueError
        If the prices are not those of each partition that has jobs.
    """
    parts = queue.parts()
    if given.keys() != {part.name for part in parts}:
        raise ValueError("the certificate's parts are not the partitions that have jobs")
    total = weight = Fraction(0)
    for part in parts:
        shown, heavy = bound_of_prices(part.queue, given[part.name])
        total, weight = total + shown * heavy, weight + heavy
    return total / weight


def bound_of_prices(queue: Instance, given: ServerPrices) -> tuple[Fraction, Fraction]:
    """Return a proven bound on the mean response time, and the total weight of the jobs.

    The bound is the best of the prices and the relaxations. The queue is treated as a machine
    without partitions, on which jobs need nothing but servers.
    """
    jobs = JobsInTicks(queue, Fraction(*given.scale))
    best = jobs.mean(Fraction(priced_responses(jobs, queue.servers, given), given.unit))
    if queue.objective == "weighted":
        return max(best, jobs.mean(busy_date_bound(jobs, queue.servers))), jobs.total / jobs.scale
    return max(best, jobs.mean(squashed_area_bound(jobs, queue.servers))), jobs.total


def priced_responses(jobs: JobsInTicks, servers: int, given: ServerPrices) -> int:
    """Return the least response times plus payments, minus the servers' earnings, in units.

    Raises
    ------
    ValueError
        If the prices are malformed, or too large for sums in 64 bits.
    """
    unit, grid, prices = given.unit, np.array(given.grid, np.int64), given.prices
    if len(grid) < 2 or len(grid) != len(prices) + 1 or not (np.diff(grid) > 0).all():
        raise ValueError("the certificate's grid is not increasing, or has no price for a cell")
    whole = [0]
    for price, length in zip(prices, np.diff(grid).tolist(), strict=True):
        whole.append(whole[-1] + price * length)
    horizon = max(int(grid[-1]), jobs.submit[-1]) + max(jobs.run)
    most = unit * max(jobs.weight) * horizon + whole[-1] * max(jobs.need)
    if most >= ROOM or horizon >= ROOM:
        raise ValueError("the certificate's prices are too large to be added up")
    paid, by_cell = np.array(whole, np.int64), np.array([*prices, 0], np.int64)

    def rent(times: Whole) -> Whole:
        """Return the price of a server from the first grid time to each of these times."""
        at = np.maximum(np.searchsorted(grid, times, "right") - 1, 0)
        costs: Whole = paid[at] + by_cell[at] * np.maximum(times - grid[at], 0)
        return costs

    total = 0
    for submit, need, run, weight in zip(
        jobs.submit, jobs.need, jobs.run, jobs.weight, strict=True
    ):
        rate = unit * weight
        begun, ended = rent(np.array([submit, submit + run])).tolist()
        cheapest = rate * run + need * (ended - begun)
        if cheapest > rate * run and rate:
            # later starts cost more by the waiting alone
            last = submit + (cheapest - rate * run) // rate
            low, high = np.searchsorted(grid, [submit, last], "right")
            near, far = np.searchsorted(grid, [submit + run, last + run], "right")
            starts = np.concatenate([grid[low:high], grid[near:far] - run])
            if len(starts):
                paying = need * (rent(starts + run) - rent(starts))
                cheapest = min(cheapest, int((rate * (starts + run - submit) + paying).min()))
        elif not rate:
            cheapest = 0
        total += cheapest
    return total - servers * whole[-1]


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


def squashed_area_bound(jobs: JobsInTicks, servers: int) -> Fraction:
    """Return the least sum of response times, in ticks, by both relaxations."""
    waiting: list[int] = []
    ends: list[int] = []
    now = 0
    times = [submit * servers for submit in jobs.submit]
    for i, (need, run) in enumerate(zip(jobs.need, jobs.run, strict=True)):
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
