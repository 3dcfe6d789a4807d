"""A bound on all orders of many jobs: servers are rented out at a price that falls over time.

At any rents m(t) >= 0 every policy costs at least what its jobs would cost alone if they had to pay
for their servers, less the rent of all servers:

    sum over jobs of min_C (w C + least rent of the work of the job until C) - N integral of m.

For the least rent any price of work lambda gives a bound from below, lambda x less what the job
gains at that price until C. Rents that fall lose nothing: all jobs are there from the start, so
that rents in falling order make each of them pay no less. The more jobs, the smaller the gap that
is left (Shapley and Folkman). Rents rise where jobs would take more than there is, and fall where
they would take less: a subgradient of the bound.
"""

from collections.abc import Generator, Iterator, Mapping
from math import inf

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Order, Rules
from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.solvers.clock import now
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.hesrpt import dominance
from schedopt.solvers.hesrpt import lagrangian_kernels as kernels
from schedopt.solvers.hesrpt.attempt import Attempt, run_attempt
from schedopt.solvers.hesrpt.direct import in_waves
from schedopt.solvers.hesrpt.order_search import BestOrder, OrderSearch
from schedopt.solvers.hesrpt.speedup_kernels import AMDAHL, POWER, TABLE, Curves, Floats, Ints
from schedopt.solvers.result import Result, Termination

STEEPEST = 0.97
"""Larger powers are bounded by tangents: -p/(1-p) would leave the range of floats."""
NEARLY_ALL = 1.0 - 1e-8
"""Larger parallel parts count as 1: 1/(1-f) would leave too few digits."""
TANGENTS = 256
LEAST_RENT = 1e-6
"""Rents are at least this fraction of the highest, so that their powers stay finite."""
TOO_SHORT = 1e-12
"""Lengths of cells, as a fraction of the whole time, of which rounding leaves too few digits."""
SAFETY = 1e-12
"""Relative error of sums over jobs."""
WORK = 20_000
"""Cells times jobs between two looks at the clock."""
ROUGH = 1e-5
"""Relative accuracy of each job's least cost during the search for rents."""
KEPT, FIRST_STEP, SHORTER, VAIN = 0.4, 1.0, 0.6, 3
"""How much of the last direction is kept; the length of a step, as a part of the way to where the
bound might meet the best cost; by what it is shortened after so many steps in vain."""


def upper_envelope(c: Curves) -> Curves:
    """Return speedups that are no lower, and whose sums over cells stay in floats."""
    steep = (c.kinds == POWER) & (c.pars > STEEPEST) & (c.pars < 1.0)
    steep |= (c.kinds == AMDAHL) & (c.pars > NEARLY_ALL) & (c.pars < 1.0)
    if not steep.any():
        return c
    kinds, firsts, lasts = c.kinds.copy(), c.firsts.copy(), c.lasts.copy()
    xs, ys = list(c.xs), list(c.ys)
    for j in np.flatnonzero(steep):
        k, s = _tangents(int(c.kinds[j]), float(c.pars[j]), c.servers)
        kinds[j], firsts[j], lasts[j] = TABLE, len(xs), len(xs) + len(k)
        xs.extend(k)
        ys.extend(s)
    return c._replace(kinds=kinds, firsts=firsts, lasts=lasts, xs=np.array(xs), ys=np.array(ys))


def _tangents(kind: int, par: float, servers: float) -> tuple[Floats, Floats]:
    """Return where tangents of a speedup meet: a table that is nowhere lower.

    Of a power the first line is so steep that the curve is above it only where both are nothing.
    """
    corners, values = np.array([0.0, servers]), np.array([0.0, servers * (1.0 + 1e-6)])
    if kind == AMDAHL:  # k/f
        values[1] = servers / par * (1.0 + 1e-12)
    elif par < 1.0 - 1e-9:
        k = servers * np.exp(np.linspace(-16.0, 0.0, TANGENTS))
        s = k**par
        starts = np.append(0.0, (1.0 - par) * s)  # of the tangents, at no servers
        slopes = np.append(1e8, par * s / k)
        meet = np.diff(starts) / -np.diff(slopes)
        corners = np.concatenate([[0.0], meet, [servers]])
        lines = starts[1:] + slopes[1:] * meet
        values = np.concatenate([[0.0], lines, [s[-1]]]) * (1.0 + 1e-12)
    return corners, values


class RentBound:
    """The best rents so far, and the bound that they prove.

    Floors of teams are not seen: they only make jobs cost more. `times` and `rents`, shapes (E +
    1,) and (T, E), are the path that proves the bound: the rents of all servers, then those of each
    capped team. `payers` says which of these rows each job pays, `servers` how many servers each
    row has. `prices` and `ends` are those of the path tried last. `room` is work space for kernels.
    """

    def __init__(self, curves: Curves, sizes: Floats, costs: Floats) -> None:
        capped = np.flatnonzero(curves.team_mosts < curves.servers)
        self.payers = np.zeros(len(sizes), dtype=np.int64)
        for row, team in enumerate(capped):
            self.payers[curves.teams == team] = row + 1
        self.servers = np.append(curves.servers, curves.team_mosts[capped])
        mosts = np.minimum(curves.mosts, self.servers[self.payers])
        curves = curves._replace(mosts=np.maximum(mosts, curves.leasts))
        self.curves, self.sizes, self.costs = upper_envelope(curves), sizes, costs
        powers = self.curves.kinds == POWER
        powers &= self.curves.pars < 1.0
        self._powers, rows = np.unique(self.curves.pars[powers], return_inverse=True)
        self._rows = np.zeros(len(sizes), dtype=np.int64)
        self._rows[powers] = rows
        self.bound = 0.0
        self.times, self.rents = np.zeros(1), np.zeros((len(self.servers), 0))
        self.prices, self.ends = np.zeros(len(sizes)), np.zeros(len(sizes))
        self.room = np.zeros((4, kernels.DEEP)), np.zeros(4)

    def path(self, row: int = 0) -> kernels.Path:
        """Return the path that proves the bound, or that of a team."""
        return self._path(self.times, self.rents[row])

    def _path(self, times: Floats, rents: Floats) -> kernels.Path:
        exponents = -self._powers / (1.0 - self._powers)
        parts = (rents / rents[-1]) ** exponents[:, None]
        heights = np.vstack([rents, np.sqrt(rents), parts])
        sums = np.cumsum(heights * np.diff(times), axis=1)
        sums = np.hstack([np.zeros((len(sums), 1)), sums])
        return kernels.Path(times, rents, sums[0], sums[1], sums[2:], self._rows)

    def evaluate(
        self, times: Floats, rents: Floats, part: float = ROUGH
    ) -> Generator[None, None, tuple[float, Floats]]:
        """Yield now and then; return the bound of rents, and the excess demand for servers.

        The second is by cell, servers times time: of all jobs, then of each capped team, (T, E).
        """
        use, total = np.zeros(rents.shape), 0.0
        some = max(1, WORK // rents.shape[1])
        for row, own in enumerate(rents):
            jobs = np.flatnonzero(self.payers == row)
            what = self.curves, self._path(times, own), self.sizes, self.costs
            demand = kernels.Demand(self.ends, self.prices, use[row])
            for first in range(0, len(jobs), some):
                some_jobs = jobs[first : first + some]
                total += kernels.least_costs(*what, some_jobs, part, demand, self.room)
                yield
        bound = self._bound_of(total, times, rents)
        if bound > self.bound:
            self.bound, self.times, self.rents = bound, times, rents
        use[0] = use.sum(axis=0)
        return bound, use - self.servers[:, None] * np.diff(times)

    def _bound_of(self, total: float, times: Floats, rents: Floats) -> float:
        """Return what is proven where jobs, each alone, cost so much."""
        above = np.where(np.arange(len(rents))[:, None] > 0, rents - rents[0], rents)
        bill = float((self.servers[:, None] * above * np.diff(times)).sum())
        return total - bill - SAFETY * (total + bill)

    def precedences(self, value: float) -> Ints:
        """Return for each job those that complete after it in all that is cheaper, as bits.

        If one job completes after another, there is a cell until which the other, and from which on
        the one completes: what both then cost beyond the least is added to what rents prove.
        """
        alone = np.full((len(self.sizes), self.rents.shape[1] + 1), np.inf)
        for row in range(len(self.servers)):
            jobs = np.flatnonzero(self.payers == row)
            kernels.costs_by_completion(
                self.curves, self.path(row), self.sizes, self.costs, jobs, self.room[1], alone
            )
        least = alone.min(axis=1)
        beyond = alone - least[:, None]
        until = np.minimum.accumulate(beyond, axis=1)
        since = np.minimum.accumulate(beyond[:, ::-1], axis=1)[:, ::-1]
        spare = value - self._bound_of(float(least.sum()), self.times, self.rents)
        never = [(until + row).min(axis=1) > spare for row in since]  # job i after each
        bits = np.array(never) * (1 << np.arange(len(never)))
        return np.asarray(bits.sum(axis=1) - np.diag(bits))


class SubgradientAscent:
    """Subgradient steps on rents; `rent_bound` keeps the best bound.

    The rents to start from are those of all servers, shape (E,), or by row, shape (T, E).
    """

    def __init__(self, rent_bound: RentBound, times: Floats, rents: Floats) -> None:
        self.rent_bound, self.times = rent_bound, times
        self._lengths = np.diff(times)
        every = np.broadcast_to(rents, (len(rent_bound.servers), len(self._lengths)))
        self._rents = self._best = self._project_rents(every)
        self._bound, self._vain, self.part = 0.0, 0, FIRST_STEP
        self._way = np.zeros(every.shape)

    def _project_rents(self, rents: Floats) -> Floats:
        """Project onto rents that never rise, with teams' rents no lower than the common one."""
        rows = np.array([nearest_falling(row, self._lengths) for row in rents])
        rows[1:] = np.maximum(rows[1:], rows[0])
        return rows

    def step(self, value: float) -> Iterator[None]:
        """Try rents, and step towards where the bound would meet the known cost."""
        bound, beyond = yield from self.rent_bound.evaluate(self.times, self._rents)
        if bound > self._bound * (1.0 + 1e-8):
            self._bound, self._best, self._vain = bound, self._rents, 0
        else:
            self._vain += 1
            if self._vain >= VAIN:
                self.part *= SHORTER
                self._vain = 0
                self._rents = self._best
                self._way[:] = 0.0
        loose = self._rents[1:] <= self._rents[0] * (1.0 + 1e-9)
        beyond[1:][loose & (beyond[1:] < 0.0)] = 0.0  # a cap that does not bind costs nothing
        self._way = KEPT * self._way + (1.0 - KEPT) * beyond
        scale = self._best / self._lengths
        rise = float((self._way * scale * self._way).sum())
        if rise > 0.0:
            far = self.part * max(value - bound, 1e-6 * value) / rise
            move = far * scale * self._way
            move[1:] += move[0]
            self._rents = self._project_rents(self._rents + move)


def nearest_falling(rents: Floats, lengths: Floats) -> Floats:
    """Return the nearest rents that never rise, all positive, by pooling adjacent violators."""
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


def resample(times: Floats, rents: Floats, some: int) -> tuple[Floats, Floats]:
    """Return a path of about as many cells: joined, with their mean rents, or cut into equal parts.

    A path of few jobs has few cells, and rents that cannot change within them prove far less. Cells
    too short for their lengths to have digits are omitted.
    """
    long = np.diff(times) > TOO_SHORT * times[-1]
    times, rents = np.append(0.0, times[1:][long]), rents[..., long]
    cells = rents.shape[-1]
    parts = some // max(cells, 1)
    if parts > 1:
        at = np.arange(cells * parts + 1) / parts
        return np.interp(at, np.arange(cells + 1), times), np.repeat(rents, parts, axis=-1)
    kept = np.unique(np.linspace(0, cells, min(some, cells) + 1).round().astype(np.int64))
    bills = np.insert(np.cumsum(rents * np.diff(times), axis=-1), 0, 0.0, axis=-1)
    return times[kept], np.diff(bills[..., kept]) / np.diff(times[kept])


MOST_CELLS = 400
"""Cells of rents: more make the bound little better, and each step longer."""
FAIRLY, SETTLED, MOST_ROUNDS = 1e-2, 1e-5, 12
"""Replayed orders go on while each improves by this fraction, at first and later; and most
rounds."""
STEPS, LEAST_PART = 60, 0.03
"""Most steps of a climb, and the fraction of the first step at which it ends."""
CLIMBED = 1e-5
"""Rounds of climbing end once the gap shrinks by no more than this fraction of the
cost."""
MOST_PLAYED = 2_000
"""Jobs beyond which nothing is played: a play would take seconds."""
SWIFTLY = 50
"""Jobs of teams for each of which one more step is climbed between two plays, which take longer."""
GUESSED = 400
"""Cells of guessed rents."""
WRITING = 6e-7
"""Seconds that it takes to write and check the share of one job in one epoch."""


class LagrangianSearch(OrderSearch):
    """Find a cheap order of many jobs, and rents that bound all orders; anytime.

    An order has prices. Playing them may complete jobs in another order, mostly a better one, which
    is tried next. The rents of the best play start the climb to the best bound; the prices of its
    jobs, each on its own, are played too. Where there are few orders, branch and bound over those
    that the bound leaves follows.

    Rules must be of single jobs and of disjoint teams. `known` holds completions of a known
    solution. `value`, `best` and `order` are of the best play, `rents` proves the bound.
    """

    name = "rents"

    def __init__(
        self,
        instance: Instance,
        rules: Rules | None = None,
        known: Mapping[str, float] | None = None,
    ) -> None:
        self.rules = rules or Rules(instance)
        super().__init__(instance, self.rules)
        self.known = np.array(list((known or {}).values()))
        self.best = np.zeros(0)
        self._path: tuple[Floats, Floats] = np.zeros(1), np.zeros(0)
        self.rents = RentBound(self.curves, self.sizes, self.costs)
        self.bound = self._least = self.cost_each_alone()
        self._steps = self._search()

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether there is nothing more to try."""
        until = now() + seconds
        ended = all(now() < until for _ in self._steps)
        self.bound = min(max(self.rents.bound, self._least), self.value)
        return ended

    def _search(self) -> Iterator[None]:
        if len(self.sizes) > MOST_PLAYED:
            if len(self.known):
                yield from self._ascend_rents(
                    *self._initial_rents(self.known), float(self.costs @ self.known)
                )
            return
        smiths = self.order
        self._play_prices(self.costs / self.tops)
        yield from self._replay_until_stable(smiths, 1.0)
        teams = len(self.rents.servers) > 1
        if self.value < inf and not teams:  # a replay takes little time
            yield from SubgradientAscent(self.rents, *self._path).step(self.value)
            yield from self._replay_until_stable(self.order, FAIRLY)
        gap = inf
        while self.value - self.rents.bound < gap - CLIMBED * self.value:
            gap = self.value - self.rents.bound
            yield from self._ascend_rents(*self._path, self.value)
            if teams:
                yield from self._ascend_rents(self.rents.times, self.rents.rents, self.value)
            yield from self._replay_until_stable(self.order, SETTLED)
        if dominance.has_few_orders(self.instance, self.rules):
            yield from self._search_orders()

    def _search_orders(self) -> Iterator[None]:
        """Search the orders that the bound does not exclude; keep the best one and its bound."""
        after = self.rents.precedences(self.value)
        tree = BestOrder(self.instance, self.rules, self.order.tolist(), self.value, after)
        while not tree.advance(0.0):
            yield
        self._least = tree.bound
        if tree.value < self.value:
            self.value, self.best, self.order = tree.value, tree.best_prices, tree.order

    def _replay_until_stable(self, order: Order, part: float) -> Iterator[None]:
        """Play the prices of an order, then of the order of its completions, and so on.

        It ends where that is no better by a part.
        """
        last = inf
        for _ in range(MOST_ROUNDS):
            yield
            value, ends = self._play_prices(self.prices(order))
            if not value < last * (1.0 - part):
                return
            last, order = value, np.argsort(-ends, kind="stable")

    def _play_prices(self, prices: Floats) -> tuple[float, Floats]:
        """Play prices, and keep them if that is the cheapest; return cost and completions."""
        prices = np.maximum(prices, float(prices.max(initial=0.0)) * 1e-12)
        simulated = self.simulate(prices)
        value = self.cost(simulated.ends)
        if value < self.value:
            self.value, self.best = value, prices
            self.order = np.argsort(-simulated.ends, kind="stable")
            self._path = self._initial_rents(simulated.ends)
            if len(self.rents.servers) == 1:
                self._path = resample(np.append(0.0, simulated.times), simulated.rents, MOST_CELLS)
        return value, simulated.ends

    def _initial_rents(self, known: Floats) -> tuple[Floats, Floats]:
        """Return a first guess of rents from completions: they pay about half of the costs."""
        order, rent_bound = np.argsort(known), self.rents
        cells = np.unique(np.linspace(0, len(known), GUESSED + 1).round().astype(np.int64))
        times = np.append(0.0, known[order])[cells]
        grown = np.append(True, np.diff(times) > 0)
        rows = [np.ones(len(known), dtype=np.bool_)]
        rows += [rent_bound.payers == row for row in range(1, len(rent_bound.servers))]
        left = [np.cumsum((self.costs * row)[order][::-1])[::-1] for row in rows]
        rents = 0.5 * np.array(left) / rent_bound.servers[:, None]
        servers = rent_bound.servers
        if len(rows) > 1 and rent_bound.payers.all() and servers[1:].sum() < servers[0]:
            rents[0] *= LEAST_RENT  # servers are left over
        return resample(times[grown], rents[:, cells[:-1]][:, grown[1:]], GUESSED)

    def _ascend_rents(self, times: Floats, rents: Floats, value: float) -> Iterator[None]:
        """SubgradientAscent with rents to the best bound, and play the prices they imply."""
        climb, every = SubgradientAscent(self.rents, times, rents), 1
        if len(self.rents.servers) > 1:
            every += len(self.sizes) // SWIFTLY
        for step in range(STEPS):
            yield from climb.step(value)
            last = climb.part < LEAST_PART
            if (last or step % every == 0) and self.value < inf:
                self._play_prices(self.rents.prices)
            if last:
                return

    def solution(self) -> Allocated:
        """Return the best play."""
        return self.allocation(self.best, self.order)


def solve(model: Allocation, task: EngineTask) -> Result[Allocated] | Partial:
    """Solve an allocation of many jobs approximately; a tree continues where it may prove more."""
    many, after = len(model.instance.jobs), None

    def work(attempt: Attempt) -> Termination:
        quick = in_waves(model.instance, model.rules)
        if quick is not None:
            attempt.take(quick, "rents")
        completion = None if attempt.solution is None else attempt.solution.completion
        search = LagrangianSearch(model.instance, model.rules, known=completion)
        nonlocal after
        ended = attempt.run_search(search, spare=WRITING * many**2)
        if ended and search.value < inf and many <= dominance.MOST_JOBS:
            after = search.rents.precedences(search.value)
        attempt.message = "a bound by rents, which leaves a gap: no orders were searched"
        return attempt.end_status() if ended else "time-limit"

    result = run_attempt(model, task, "rents", work)
    goes_on = result.termination == "completed" and many <= dominance.MOST_JOBS and not task.alone
    return Partial(result, result.bound, after) if goes_on else result
