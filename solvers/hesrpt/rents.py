"""Many jobs of unequal speedups: good orders, and a bound over all orders by rents."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from math import inf

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Order, Rules, bounds_of, smiths_order
from schedopt.instances.hesrpt import Allocated, Instance
from schedopt.solvers.clock import now
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.hesrpt.alike import MOST_JOBS
from schedopt.solvers.hesrpt.attempt import Attempt, attempted
from schedopt.solvers.hesrpt.kernels import Floats, curves, speeds
from schedopt.solvers.hesrpt.orders import written
from schedopt.solvers.hesrpt.paths import LEAST_RENT, Climb, Rents, in_cells
from schedopt.solvers.hesrpt.price_kernels import Play, begun, levels_of, play_some, price_some
from schedopt.solvers.hesrpt.waves import in_waves
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
NEAR = 1e-10
"""Costs that differ by less, relatively, count as the same."""
WORK = 20_000
"""Jobs times epochs between two looks at the clock."""
LARGE, MOST_PLAYED = 2_000, 6_000
"""Jobs from which on the bound comes before a play, and beyond which no play is written."""
SWIFTLY = 50
"""Jobs of teams for each of which one more step is climbed between two plays, which take longer."""
GUESSED = 400
"""Cells of guessed rents."""
WRITING = 6e-7
"""Seconds that it takes to write and check the share of one job in one epoch."""


class RentSearch:
    """Find a cheap order of many jobs, and rents that bound all orders; anytime.

    An order has prices. Playing them may complete jobs in another order, mostly a better one, which
    is tried next. The rents of the best play start the climb to the best bound; the prices of its
    jobs, each on its own, are played too.

    Rules must be of single jobs and of disjoint teams. `order` is where to start, from the last to
    complete; `known` holds completions of a known solution. `value`, `prices`, `ends` and `order`
    are those of the best play, `rents` proves the bound.
    """

    name = "rents"

    def __init__(
        self,
        instance: Instance,
        rules: Rules | None = None,
        order: Sequence[int] | None = None,
        known: Mapping[str, float] | None = None,
    ) -> None:
        self.instance = instance
        self.known = np.array(list((known or {}).values()))
        self.curves = curves(instance, bounds_of(rules or Rules(instance), len(instance.jobs)))
        self._teams = len(self.curves.team_mosts) > 0
        self.sizes, self.costs = instance.sizes, instance.costs
        self._start = smiths_order(instance) if order is None else np.array(order, dtype=np.int64)
        self.order = self._start
        self.value, self.prices, self.ends = inf, np.zeros(0), np.zeros(0)
        self._played = np.zeros(0)
        self._path: tuple[Floats, Floats] = np.zeros(1), np.zeros(0)
        self.rents = Rents(self.curves, self.sizes, self.costs)
        count = len(self.sizes)
        self._tops = speeds(self.curves, np.arange(count), self.curves.mosts, np.zeros(count))
        self._alone = float(self.costs @ (self.sizes / self._tops)) * (1.0 - NEAR)
        self._some = max(1, WORK // len(self.sizes))
        self._steps = self._search()

    @property
    def bound(self) -> float:
        """The best proven lower bound over all orders."""
        return min(max(self.rents.bound, self._alone), self.value)

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether there is nothing more to try."""
        until = now() + seconds
        return all(now() < until for _ in self._steps)

    def _search(self) -> Iterator[None]:
        if len(self.sizes) >= LARGE and len(self.known):
            yield from self._climb(*self._guessed(self.known), float(self.costs @ self.known))
        if len(self.sizes) > MOST_PLAYED:
            return
        yield from self._play(self.costs / self._tops)
        yield from self._settle(self._start, 1.0)
        if self.value < inf and not self._teams:
            yield from Climb(self.rents, *self._path).step(self.value)
            yield from self._settle(self.order, FAIRLY)
        gap = inf
        while self.value < inf and self._gap() < gap - CLIMBED * self.value:
            gap = self._gap()
            yield from self._climb(*self._path, self.value)
            if self._teams:
                yield from self._climb(self.rents.times, self.rents.rents, self.value)
            yield from self._settle(self.order, SETTLED)

    def _gap(self) -> float:
        return self.value - self.rents.bound

    def _settle(self, order: Order, part: float) -> Iterator[None]:
        """Play an order's prices, then those of the order of its completions, and so on.

        It ends where that is no better by a part.
        """
        last = inf
        for _ in range(MOST_ROUNDS):
            prices = np.zeros(len(order))
            yield from self._price(order, prices, 0)
            value = yield from self._play(prices)
            if not value < last * (1.0 - part):
                return
            last, order = value, np.argsort(-self._played, kind="stable")

    def _price(self, order: Order, prices: Floats, first: int) -> Iterator[None]:
        """Put prices into an array from some place of an order on."""
        levels, rents = levels_of(self.costs, order), np.zeros(len(self.curves.team_mosts) + 1)
        for place in range(first, len(order), self._some):
            last = min(place + self._some, len(order))
            price_some(self.curves, order, levels, prices, place, last, rents)
            yield

    def _play(self, prices: Floats) -> Generator[None, None, float]:
        """Play prices; keep them if that is the cheapest. Returns the cost."""
        least = float(prices.max(initial=0.0)) * 1e-12
        lam = np.maximum(prices, least)
        play = self._begun(np.zeros((0, 0)))
        while self._goes_on(lam, play, self._some):
            yield
        self._played = play.ends
        value = float(self.costs @ self._played)
        if value < self.value:
            self.value, self.prices, self.ends = value, lam, self._played
            self.order = np.argsort(-self._played, kind="stable")
            self._path = (
                self._guessed(self.ends) if self._teams else in_cells(*_path(play), MOST_CELLS)
            )
        return value

    def _begun(self, record: Floats) -> Play:
        made: Play = begun(self.curves, self.sizes, np.zeros(1), record)
        return made

    def _goes_on(self, lam: Floats, play: Play, epochs: int) -> bool:
        """Play some epochs; tell whether there are more."""
        groups = np.zeros(len(self.sizes), dtype=np.int64)
        return bool(play_some(self.curves, lam, np.zeros(1), groups, play, epochs))

    def _guessed(self, known: Floats) -> tuple[Floats, Floats]:
        """Return a first guess of rents from completions: they pay about half of the costs."""
        order, found = np.argsort(known), self.rents
        cells = np.unique(np.linspace(0, len(known), GUESSED + 1).round().astype(np.int64))
        times = np.append(0.0, known[order])[cells]
        grown = np.append(True, np.diff(times) > 0)
        rows = [np.ones(len(known), dtype=np.bool_)]
        rows += [found.payers == row for row in range(1, len(found.servers))]
        left = [np.cumsum((self.costs * row)[order][::-1])[::-1] for row in rows]
        rents = 0.5 * np.array(left) / found.servers[:, None]
        if len(rows) > 1 and found.payers.all() and found.servers[1:].sum() < found.servers[0]:
            rents[0] *= LEAST_RENT  # servers are left over
        return in_cells(times[grown], rents[:, cells[:-1]][:, grown[1:]], GUESSED)

    def _climb(self, times: Floats, rents: Floats, value: float) -> Iterator[None]:
        """Climb with rents to the best bound, and play the prices they imply."""
        climb, every = Climb(self.rents, times, rents), 1
        if self._teams:
            every += len(self.sizes) // SWIFTLY
        for step in range(STEPS):
            yield from climb.step(value)
            last = climb.part < LEAST_PART
            if (last or step % every == 0) and len(self.sizes) <= MOST_PLAYED and self.value < inf:
                yield from self._play(self.rents.prices)
            if last:
                return

    def solution(self) -> Allocated:
        """Return the best play."""
        record = np.zeros((len(self.sizes), len(self.sizes)))
        play = self._begun(record)
        self._goes_on(self.prices, play, len(record))
        return written(self.instance, play.ends, record, self.order)


def _path(play: Play) -> tuple[Floats, Floats]:
    """Return the times from 0 at which epochs end, and their rents."""
    epochs = int(play.at[0])
    return np.append(0.0, play.times[:epochs]), play.rents[:epochs].copy()


def solve(model: Allocation, task: EngineTask) -> Result[Allocated] | Partial:
    """Solve an allocation of many jobs approximately; a tree continues where it may prove more."""
    many, after = len(model.instance.jobs), None

    def work(attempt: Attempt) -> Termination:
        quick = in_waves(model.instance, model.rules)
        if quick is not None:
            attempt.take(quick, "rents")
        known = None if attempt.solution is None else attempt.solution.completion
        search = RentSearch(model.instance, model.rules, known=known)
        nonlocal after
        ended = attempt.drive(search, spare=WRITING * many**2)
        if ended and search.value < inf and many <= MOST_JOBS:
            after = search.rents.after(search.value)
        attempt.message = "a bound by rents, which leaves a gap: no orders were searched"
        return attempt.ended() if ended else "time-limit"

    result = attempted(model, task, "rents", work)
    goes_on = result.termination == "completed" and many <= MOST_JOBS and not task.alone
    return Partial(result, result.bound, after) if goes_on else result
