"""Policy iteration on a box of waiting jobs: the best policy there, and what it proves beyond it.

With n small jobs more than I waiting, and m large ones more than J, values go on as

    h(c, I+n, J+m) = h(c, I, J) + n·side(c, J) + m·top(c, I) + w·n(n-1)/2 + β·n·m + e·m(m-1)/2,

and likewise above the top alone or beside the side alone. Then what `lower_bound` looks at is
linear in n and m for any decisions, and it suffices that it does not fall in either: one job more
adds as much whether it waits or runs, in proportion to the others, as in the fluid. What a job more
costs at the edges is raised as far as a bound allows. Such values bound every policy with a finite
mean number of jobs: it has n of them so seldom that cutting values off changes costs by o(1).

Source: Puterman, Markov Decision Processes, Wiley 1994, section 8.6.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy import relative_values as on
from schedopt.solvers.msfq.optimal_policy.equations import Decisions, Equations, Floats, pad_edge
from schedopt.solvers.msfq.optimal_policy.relative_values import SLACK, Tail

MOST_STEPS = 14
"""Policies at most between two changes of prices; more come on boxes that are too narrow, where
small jobs are lost at the side, cheaply, ever further down."""
SETTLED = 1e-9
"""How far states' costs may be below the mean, relatively, for values that prove a useful bound."""
CALM = 0.5
"""The same as a part of the tolerance for the price at the top, where that is more."""
TRIALS = 8
"""How often prices are moved at most."""
LOWER = 1.5
"""A price at the top that is too high is lowered by so many times what it is above."""
EASY = 0.97
"""The price at the side, as a part of the cost of one more small job there."""
Steps = Generator[None, None, None]


@dataclass
class Bounded:
    """The best policy found on a box, its values, and the bound that they prove."""

    decisions: Decisions  # (J + 1, k, I + 1)
    values: Floats  # (J + 1, k + 2, I + 1)
    tail: on.Tail
    gain: float  # long-run cost on the box
    bound: float
    # of one more small and one more large job, from which the tail was made
    prices: tuple[float, float]


class BoxSearch:
    """The best policy on a box, starting from a stable one; `best` has the best bound so far.

    `price` is a guess at what one more large job adds at the top, by default the fluid's.
    """

    def __init__(self, process: Process, decisions: Decisions, price: float | None = None) -> None:
        levels, k, width = decisions.shape
        self._process, self._values = process, np.zeros((levels, k + 2, width))
        self._rule = pad_edge(decisions)
        self._gain, self._settled = 0.0, SETTLED
        self.best: Bounded | None = None
        self.diverged = False
        self._bends = second_differences(process)
        w, _, e = self._bends
        self._price(w * width, e * levels if price is None else price)

    def _price(self, small: float, large: float) -> None:
        self._prices, most = (small, large), (self._values.shape[2] - 1, len(self._values) - 1)
        self._tail = lower_tail(self._process, most, self._prices)

    def work(self, tolerance: float) -> Steps:
        """Improve until the price at the top is none too high; yields every now and then.

        The tolerance is relative.
        """
        self._settled = max(SETTLED, CALM * tolerance)
        yield from self._iterate_policy()
        for trial in range(TRIALS):
            missing = self._top_increment() - self._prices[1]
            if missing >= 0.0 and (at_side := self._side_price()) < self._prices[0]:
                self._price(EASY * at_side, self._prices[1])
                yield from self._iterate_policy()
                missing = self._top_increment() - self._prices[1]
            if self.diverged:
                return
            if missing >= 0.0 or trial > 1:
                self._prove_bound()
            if missing >= 0.0:
                break
            if self.best and self.best.bound >= (1 - tolerance) * self._gain:
                break  # a higher price than what can be shown makes a gain that no bound exceeds
            self._price(self._prices[0], self._prices[1] + LOWER * missing)
            yield from self._iterate_policy()
        if self.best is None and not self.diverged:
            self._prove_bound()

    def _iterate_policy(self) -> Steps:
        """Take better decisions until there are none."""
        for _ in range(MOST_STEPS):
            left = on.box_residuals(self._process, self._values, self._tail, self._rule)
            self._gain, values = Equations(self._rule, self._process.system).solve(left)
            self._values += values
            self.diverged = not np.isfinite(self._values).all()
            if self.diverged:
                return
            changed = on.improve_decisions(self._values, self._tail, self._rule)
            yield
            least = on.box_residuals(self._process, self._values, self._tail, None).min()
            if not changed or self._gain - float(least) <= self._settled * self._gain:
                return
        self.diverged = True

    def _top_increment(self) -> float:
        """Return the least increment of one more large job below the top, where one is started."""
        rises = self._values[-1, -1] - self._values[-2, -1]
        rises = rises - self._bends[1] * np.arange(len(rises))
        leads = self._rule[-2, 0, :-1] == 2
        leads[0] = True
        return float(rises[leads].min())

    def _side_price(self) -> float:
        """Return the price at the side, extrapolated from the least increment of a small job."""
        k, (w, both, _) = self._process.system.k, self._bends
        few = min(k, self._values.shape[2] - 1)
        rises = np.diff(self._values[:, k, -few - 1 :], axis=1) - w * k
        rises += w * np.arange(few, 0, -1)
        return float((rises.min(axis=1) - both * np.arange(len(rises))).min())

    def _prove_bound(self) -> None:
        bound = on.lower_bound(self._process, self._values, self._tail)
        if self.best is None or bound > self.best.bound:
            policy, values = self._rule[:-1, :, :-1].copy(), self._values.copy()
            self.best = Bounded(policy, values, self._tail, self._gain, bound, self._prices)


def second_differences(process: Process) -> tuple[float, float, float]:
    """Return the second differences w, β and e with which values bound every policy from below.

    They are those of the fluid, in which nothing is lost to switching: with K = k·μ_1, all of

        e·(μ_k - λ_k) <= C_k + λ_1·β,   β·(K - λ_1) <= C_k + λ_k·e,
        w·(K - λ_1) <= C_1 + λ_k·β,     β·(μ_k - λ_k) <= C_1 + λ_1·w

    hold, so that one job more costs at least as much as the values say, whatever is served.
    """
    k, l1, lk, m1, mk = process.system
    small, large = process.small_cost, process.large_cost
    spare = mk * k * m1 - mk * l1 - lk * k * m1
    both = min(large * mk, small * k * m1) / spare
    e, w = (large + l1 * both) / (mk - lk), (small + lk * both) / (k * m1 - l1)
    return (1.0 - SLACK) * w, (1.0 - SLACK) * both, (1.0 - SLACK) * e


def lower_tail(process: Process, box: tuple[int, int], prices: tuple[float, float]) -> Tail:
    """Return a tail that bounds every policy from below if the slopes at the edges are no less.

    `prices` are the increments of one more job at the edges of the box (I, J): a small one where no
    large one waits, a large one where no small one does.
    """
    w, both, e = differences = second_differences(process)
    running = np.arange(process.system.k + 2.0)[:, None]
    running[-1] = 0.0
    top = prices[1] + both * (np.arange(box[0] + 1.0) + running)
    top[-1] += e
    side = prices[0] + both * np.arange(box[1] + 1.0) + w * running
    side[-1] += both
    return Tail(top, side, differences)
