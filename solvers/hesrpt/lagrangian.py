"""Lagrangian bound on the cost of all completion orders, for many jobs.

Symbols: w and x are the weight and size of a job, C its completion time, N the number of servers,
m(t) >= 0 the rent of a server at time t (the Lagrange multiplier of the capacity), and lambda the
price of a unit of a job's work.

For any rents every policy costs at least what the jobs would cost alone if they paid rent, minus
the rent of all servers:

    sum over jobs of min_C (w C + least rent of the work of the job until C) - N integral of m.

For the least rent any lambda gives a lower bound: lambda x minus what the job gains at that price
until C. Only rents that never rise need to be considered: all jobs are present from the start, so
sorting the rents in decreasing order makes no job pay less. The gap decreases with the number of
jobs (Shapley and Folkman). Subgradient ascent raises rents where demand exceeds the capacity, and
lowers them elsewhere.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Order, Rules
from schedopt.instances.hesrpt import Allocated, Amdahl, Instance, Power
from schedopt.solvers.clock import now
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.hesrpt import dominance
from schedopt.solvers.hesrpt import lagrangian_kernels as kernels
from schedopt.solvers.hesrpt.attempt import Attempt, run_attempt
from schedopt.solvers.hesrpt.order_search import OrderSearch
from schedopt.solvers.hesrpt.speedup_kernels import POWER, Curves, Floats, Ints
from schedopt.solvers.result import Result, Termination

STEEPEST_POWER = 0.97
"""Larger powers below 1 are not supported: the exponent -p/(1-p) would overflow."""
LARGEST_PARALLEL_PART = 1.0 - 1e-8
"""Larger parallel parts f below 1 are not supported: 1/(1-f) would lose too many digits."""
LEAST_RENT = 1e-6
"""Least rent as a fraction of the highest, so that powers of rents stay finite."""
ROUNDING = 1e-12
"""Relative rounding error of sums over jobs, which is subtracted from the bound."""


@dataclass(frozen=True)
class LagrangianParams:
    """Parameters of the ascent and of the search.

    Attributes
    ----------
    momentum : float
        Weight of the previous direction in the next one.
    initial_step : float
        Step length, as a fraction of the distance at which the bound might meet the best cost.
    step_decay, stall_limit : float, int
        The step is multiplied by ``step_decay`` after ``stall_limit`` steps without a better bound.
    steps, least_step : int, float
        An ascent ends after ``steps`` steps, or when the step is shorter than ``least_step``.
    cells : int
        Number of cells of constant rent.
    least_improvement : float
        Ascents are repeated while each reduces the gap by more than this fraction of the cost.
    replay_improvement : float
        After an ascent, orders are replayed while each reduces the cost by more than this fraction.
    replays : int
        Most replays in a row.
    team_jobs_per_step : int
        With teams, one more ascent step between two simulations for each so many jobs.
    cost_accuracy : float
        Relative accuracy of the single-job costs during the ascent.
    work : int
        Cells times jobs between two checks of the clock.
    """

    momentum: float = 0.4
    initial_step: float = 1.0
    step_decay: float = 0.6
    stall_limit: int = 3
    steps: int = 60
    least_step: float = 0.03
    cells: int = 400
    least_improvement: float = 1e-5
    replay_improvement: float = 1e-5
    replays: int = 12
    team_jobs_per_step: int = 50
    cost_accuracy: float = 1e-5
    work: int = 20_000


DEFAULTS = LagrangianParams()


def is_steep(instance: Instance) -> bool:
    """Return True if sums over cells would overflow or cancel for some speedup below linear."""
    return any(
        STEEPEST_POWER < of.p < 1.0
        if isinstance(of, Power)
        else isinstance(of, Amdahl) and LARGEST_PARALLEL_PART < of.parallel < 1.0
        for of in instance.speedups
    )


class LagrangianBound:
    """The best rents so far, and the bound that they prove.

    Floors of teams are ignored, which only lowers the bound.

    Attributes
    ----------
    bound : float
        The best lower bound on the total cost.
    times, rents : ndarray, shapes (E + 1,) and (T, E)
        The piecewise constant rents that prove the bound: first those of all servers, then those
        of each capped team.
    payers : ndarray of int, shape (M,)
        The row of rents that each job pays.
    servers : ndarray, shape (T,)
        The number of servers of each row.
    prices, ends : ndarray, shape (M,)
        Work price and completion time of each job under the rents evaluated last.
    """

    def __init__(
        self,
        curves: Curves,
        sizes: Floats,
        costs: Floats,
        params: LagrangianParams = DEFAULTS,
    ) -> None:
        self.params = params
        capped = np.flatnonzero(curves.team_mosts < curves.servers)
        self.payers = np.zeros(len(sizes), dtype=np.int64)
        for row, team in enumerate(capped):
            self.payers[curves.teams == team] = row + 1
        self.servers = np.append(curves.servers, curves.team_mosts[capped])
        mosts = np.minimum(curves.mosts, self.servers[self.payers])
        curves = curves._replace(mosts=np.maximum(mosts, curves.leasts))
        self.curves, self.sizes, self.costs = curves, sizes, costs
        powers = self.curves.kinds == POWER
        powers &= self.curves.pars < 1.0
        self._powers, rows = np.unique(self.curves.pars[powers], return_inverse=True)
        self._rows = np.zeros(len(sizes), dtype=np.int64)
        self._rows[powers] = rows
        self.bound = 0.0
        self.times, self.rents = np.zeros(1), np.zeros((len(self.servers), 0))
        self.prices, self.ends = np.zeros(len(sizes)), np.zeros(len(sizes))
        self._workspace = np.zeros((4, kernels.DEEP)), np.zeros(4)

    def path(self, row: int = 0) -> kernels.Path:
        """Return the rents that prove the bound as a path: of all servers, or of a team."""
        return self._path(self.times, self.rents[row])

    def _path(self, times: Floats, rents: Floats) -> kernels.Path:
        exponents = -self._powers / (1.0 - self._powers)
        parts = (rents / rents[-1]) ** exponents[:, None]
        heights = np.vstack([rents, np.sqrt(rents), parts])
        sums = np.cumsum(heights * np.diff(times), axis=1)
        sums = np.hstack([np.zeros((len(sums), 1)), sums])
        return kernels.Path(times, rents, sums[0], sums[1], sums[2:], self._rows)

    def evaluate(self, times: Floats, rents: Floats) -> Generator[None, None, tuple[float, Floats]]:
        """Compute the bound of rents, and yield regularly so that the caller can check the clock.

        Returns
        -------
        bound : float
        excess : ndarray, shape (T, E)
            Demand minus capacity in each cell, in servers times time: of all jobs, then of each
            capped team.
        """
        use, total = np.zeros(rents.shape), 0.0
        chunk = max(1, self.params.work // rents.shape[1])
        for row, own in enumerate(rents):
            jobs = np.flatnonzero(self.payers == row)
            what = self.curves, self._path(times, own), self.sizes, self.costs
            demand = kernels.Demand(self.ends, self.prices, use[row])
            for first in range(0, len(jobs), chunk):
                part = jobs[first : first + chunk]
                accuracy = self.params.cost_accuracy
                total += kernels.least_costs(*what, part, accuracy, demand, self._workspace)
                yield
        bound = self._bound_of(total, times, rents)
        if bound > self.bound:
            self.bound, self.times, self.rents = bound, times, rents
        use[0] = use.sum(axis=0)
        return bound, use - self.servers[:, None] * np.diff(times)

    def _bound_of(self, total: float, times: Floats, rents: Floats) -> float:
        """Return the Lagrangian bound from the total of the single-job costs."""
        above = np.where(np.arange(len(rents))[:, None] > 0, rents - rents[0], rents)
        bill = float((self.servers[:, None] * above * np.diff(times)).sum())
        return total - bill - ROUNDING * (total + bill)

    def precedences(self, value: float) -> Ints:
        """Return which jobs complete after each job in every solution cheaper than ``value``.

        If job i completes after job j, there is a cell such that j completes up to it and i from it
        on. The additional costs of both are added to the bound; if the sum exceeds ``value`` for
        every cell, the order is excluded (reduced-cost fixing).

        Returns
        -------
        ndarray of int, shape (M,)
            For each job the bit mask of the jobs that complete after it.
        """
        alone = np.full((len(self.sizes), self.rents.shape[1] + 1), np.inf)
        for row in range(len(self.servers)):
            jobs = np.flatnonzero(self.payers == row)
            kernels.costs_by_completion(
                self.curves, self.path(row), self.sizes, self.costs, jobs, self._workspace[1], alone
            )
        least = alone.min(axis=1)
        beyond = alone - least[:, None]
        until = np.minimum.accumulate(beyond, axis=1)
        since = np.minimum.accumulate(beyond[:, ::-1], axis=1)[:, ::-1]
        slack = value - self._bound_of(float(least.sum()), self.times, self.rents)
        never = [(until + row).min(axis=1) > slack for row in since]  # job i after each
        bits = np.array(never) * (1 << np.arange(len(never)))
        return np.asarray(bits.sum(axis=1) - np.diag(bits))


class SubgradientAscent:
    """Subgradient ascent on the rents; `lagrangian` keeps the best bound.

    Parameters
    ----------
    lagrangian : LagrangianBound
    times : ndarray, shape (E + 1,)
    rents : ndarray, shape (E,) or (T, E)
        The rents to start from: of all servers, or by row.
    """

    def __init__(self, lagrangian: LagrangianBound, times: Floats, rents: Floats) -> None:
        self.lagrangian, self.times, self.params = lagrangian, times, lagrangian.params
        self._lengths = np.diff(times)
        every = np.broadcast_to(rents, (len(lagrangian.servers), len(self._lengths)))
        self._rents = self._best = self._project_rents(every)
        self._bound, self._stalled, self.step_length = 0.0, 0, self.params.initial_step
        self._direction = np.zeros(every.shape)

    def _project_rents(self, rents: Floats) -> Floats:
        """Project onto rents that never rise; rents of teams are at least the common rent."""
        rows = np.array([nearest_nonincreasing(row, self._lengths) for row in rents])
        rows[1:] = np.maximum(rows[1:], rows[0])
        return rows

    def step(self, value: float) -> Iterator[None]:
        """Evaluate the rents, and step to where the bound would meet the cost ``value``."""
        bound, excess = yield from self.lagrangian.evaluate(self.times, self._rents)
        if bound > self._bound * (1.0 + 1e-8):
            self._bound, self._best, self._stalled = bound, self._rents, 0
        else:
            self._stalled += 1
            if self._stalled >= self.params.stall_limit:
                self.step_length *= self.params.step_decay
                self._stalled = 0
                self._rents = self._best
                self._direction[:] = 0.0
        loose = self._rents[1:] <= self._rents[0] * (1.0 + 1e-9)
        excess[1:][loose & (excess[1:] < 0.0)] = 0.0  # a cap that does not bind has no rent
        momentum = self.params.momentum
        self._direction = momentum * self._direction + (1.0 - momentum) * excess
        scale = self._best / self._lengths
        rise = float((self._direction * scale * self._direction).sum())
        if rise > 0.0:
            far = self.step_length * max(value - bound, 1e-6 * value) / rise
            move = far * scale * self._direction
            move[1:] += move[0]
            self._rents = self._project_rents(self._rents + move)


def nearest_nonincreasing(rents: Floats, lengths: Floats) -> Floats:
    """Return the nearest positive rents that never rise, by pooling adjacent violators."""
    pools: list[tuple[float, float, int]] = []
    for rent, length in zip(rents.tolist(), lengths.tolist(), strict=True):
        mean, long, cells = rent, length, 1
        while pools and pools[-1][0] <= mean:
            before, more, some = pools.pop()
            mean = (before * more + mean * long) / (more + long)
            long, cells = long + more, cells + some
        pools.append((mean, long, cells))
    pooled = np.repeat([mean for mean, _, _ in pools], [cells for _, _, cells in pools])
    return np.asarray(np.maximum(pooled, max(pooled[0], 1e-200) * LEAST_RENT))


def resample(
    times: Floats, rents: Floats, cells: int, shortest: float = 1e-12
) -> tuple[Floats, Floats]:
    """Return rents with about ``cells`` cells: merged with their mean rent, or divided equally.

    The path of a few jobs has few cells, in which the rent is constant, and proves a weak bound.
    Cells shorter than the fraction ``shortest`` of the horizon are rounding errors and removed.
    """
    long = np.diff(times) > shortest * times[-1]
    times, rents = np.append(0.0, times[1:][long]), rents[..., long]
    present = rents.shape[-1]
    parts = cells // max(present, 1)
    if parts > 1:
        at = np.arange(present * parts + 1) / parts
        return np.interp(at, np.arange(present + 1), times), np.repeat(rents, parts, axis=-1)
    kept = np.unique(np.linspace(0, present, min(cells, present) + 1).round().astype(np.int64))
    bills = np.insert(np.cumsum(rents * np.diff(times), axis=-1), 0, 0.0, axis=-1)
    return times[kept], np.diff(bills[..., kept]) / np.diff(times[kept])


class LagrangianSearch(OrderSearch):
    """Find a good order of many jobs, and rents that bound the cost of all orders.

    An order has prices, and simulating the policy of these prices completes jobs in another,
    usually better order, which is tried next. The rents of the best simulation start the ascent,
    and the work prices that the ascent finds are simulated too.

    The search can be interrupted: ``value`` and ``order`` are those of the best simulation so far,
    and ``rents`` proves ``bound``.

    Parameters
    ----------
    instance : Instance
    rules : Rules, optional
        Limits of single jobs and of disjoint teams.
    params : LagrangianParams
    """

    name = "lagrangian"

    def __init__(
        self,
        instance: Instance,
        rules: Rules | None = None,
        params: LagrangianParams = DEFAULTS,
    ) -> None:
        self.rules, self.params = rules or Rules(instance), params
        super().__init__(instance, self.rules)
        self.best = np.zeros(0)
        self._path: tuple[Floats, Floats] = np.zeros(1), np.zeros(0)
        self.rents = LagrangianBound(self.curves, self.sizes, self.costs, params)
        self.bound = self._alone = self.cost_each_alone()
        self._steps = self._search()

    def advance(self, seconds: float) -> bool:
        """Work for about ``seconds``; return True when the search has ended."""
        until = now() + seconds
        ended = all(now() < until for _ in self._steps)
        self.bound = min(max(self.rents.bound, self._alone), self.value)
        return ended

    def _search(self) -> Iterator[None]:
        smiths = self.order
        self._simulate_prices(self.costs / self.tops)
        yield from self._replay_until_stable(smiths, 1.0)
        gap = inf
        while self.value - self.rents.bound < gap - self.params.least_improvement * self.value:
            gap = self.value - self.rents.bound
            yield from self._ascend_rents(*self._path, self.value)
            yield from self._replay_until_stable(self.order, self.params.replay_improvement)

    def _replay_until_stable(self, order: Order, improvement: float) -> Iterator[None]:
        """Simulate the prices of an order, then those of its order of completions, and so on.

        Stops when the cost does not improve by the fraction ``improvement``.
        """
        last = inf
        for _ in range(self.params.replays):
            yield
            value, ends = self._simulate_prices(self.prices(order))
            if not value < last * (1.0 - improvement):
                return
            last, order = value, np.argsort(-ends, kind="stable")

    def _simulate_prices(self, prices: Floats) -> tuple[float, Floats]:
        """Simulate prices and keep them if they are the best; return cost and completion times."""
        prices = np.maximum(prices, float(prices.max(initial=0.0)) * 1e-12)
        simulated = self.simulate(prices)
        value = self.cost(simulated.ends)
        if value < self.value:
            self.value, self.best = value, prices
            self.order = np.argsort(-simulated.ends, kind="stable")
            self._path = self._initial_rents(simulated.ends)
            if len(self.rents.servers) == 1:
                self._path = resample(
                    np.append(0.0, simulated.times), simulated.rents, self.params.cells
                )
        return value, simulated.ends

    def _initial_rents(self, known: Floats) -> tuple[Floats, Floats]:
        """Return rents from completion times, at which the rent is half of the cost of waiting."""
        order, lagrangian = np.argsort(known), self.rents
        cells = np.unique(
            np.linspace(0, len(known), self.params.cells + 1).round().astype(np.int64)
        )
        times = np.append(0.0, known[order])[cells]
        grown = np.append(True, np.diff(times) > 0)
        rows = [np.ones(len(known), dtype=np.bool_)]
        rows += [lagrangian.payers == row for row in range(1, len(lagrangian.servers))]
        left = [np.cumsum((self.costs * row)[order][::-1])[::-1] for row in rows]
        rents = 0.5 * np.array(left) / lagrangian.servers[:, None]
        servers = lagrangian.servers
        if len(rows) > 1 and lagrangian.payers.all() and servers[1:].sum() < servers[0]:
            rents[0] *= LEAST_RENT  # the teams cannot use all servers
        return resample(times[grown], rents[:, cells[:-1]][:, grown[1:]], self.params.cells)

    def _ascend_rents(self, times: Floats, rents: Floats, value: float) -> Iterator[None]:
        """Improve the bound from these rents, and simulate the work prices that they imply."""
        ascent, every = SubgradientAscent(self.rents, times, rents), 1
        if len(self.rents.servers) > 1:
            every += len(self.sizes) // self.params.team_jobs_per_step
        for step in range(self.params.steps):
            yield from ascent.step(value)
            last = ascent.step_length < self.params.least_step
            if (last or step % every == 0) and self.value < inf:
                self._simulate_prices(self.rents.prices)
            if last:
                return

    def solution(self) -> Allocated:
        """Return the best simulated allocation."""
        return self.allocation(self.best, self.order)


def solve(model: Allocation, task: EngineTask) -> Result[Allocated] | Partial:
    """Solve an allocation of many jobs, with a bound on all orders.

    Up to `dominance.MOST_JOBS` jobs branch and bound continues from the result.
    """
    many, after = len(model.instance.jobs), None

    def work(attempt: Attempt) -> Termination:
        search = LagrangianSearch(model.instance, model.rules)
        nonlocal after
        ended = attempt.run_search(search)
        if ended and search.value < inf and many <= dominance.MOST_JOBS:
            after = search.rents.precedences(search.value)
        attempt.message = "the Lagrangian bound leaves a gap, and orders were not searched"
        return attempt.end_status() if ended else "time-limit"

    result = run_attempt(model, task, "lagrangian", work)
    goes_on = result.termination == "completed" and many <= dominance.MOST_JOBS and not task.alone
    return Partial(result, result.bound, after) if goes_on else result
