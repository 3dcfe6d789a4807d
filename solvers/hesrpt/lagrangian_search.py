"""Many jobs of unequal speedups: good orders, and a bound over all orders by rents."""

from collections.abc import Iterator, Mapping
from math import inf

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Order, Rules
from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.solvers.clock import now
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.hesrpt.attempt import Attempt, run_attempt
from schedopt.solvers.hesrpt.direct import in_waves
from schedopt.solvers.hesrpt.dominance import MOST_JOBS
from schedopt.solvers.hesrpt.lagrangian import LEAST_RENT, RentBound, SubgradientAscent, resample
from schedopt.solvers.hesrpt.order_search import OrderSearch
from schedopt.solvers.hesrpt.speedup_kernels import Floats
from schedopt.solvers.result import Result, Termination

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
    jobs, each on its own, are played too.

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
        super().__init__(instance, rules or Rules(instance))
        self.known = np.array(list((known or {}).values()))
        self.best = np.zeros(0)
        self._path: tuple[Floats, Floats] = np.zeros(1), np.zeros(0)
        self.rents = RentBound(self.curves, self.sizes, self.costs)
        self.bound = self._alone = self.cost_each_alone()
        self._steps = self._search()

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether there is nothing more to try."""
        until = now() + seconds
        ended = all(now() < until for _ in self._steps)
        self.bound = min(max(self.rents.bound, self._alone), self.value)
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
        made = self.simulate(prices)
        value = self.cost(made.ends)
        if value < self.value:
            self.value, self.best = value, prices
            self.order = np.argsort(-made.ends, kind="stable")
            self._path = self._initial_rents(made.ends)
            if len(self.rents.servers) == 1:
                self._path = resample(np.append(0.0, made.times), made.rents, MOST_CELLS)
        return value, made.ends

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
        known = None if attempt.solution is None else attempt.solution.completion
        search = LagrangianSearch(model.instance, model.rules, known=known)
        nonlocal after
        ended = attempt.run_search(search, spare=WRITING * many**2)
        if ended and search.value < inf and many <= MOST_JOBS:
            after = search.rents.precedences(search.value)
        attempt.message = "a bound by rents, which leaves a gap: no orders were searched"
        return attempt.end_status() if ended else "time-limit"

    result = run_attempt(model, task, "rents", work)
    goes_on = result.termination == "completed" and many <= MOST_JOBS and not task.alone
    return Partial(result, result.bound, after) if goes_on else result
