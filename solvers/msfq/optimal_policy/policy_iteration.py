"""Policy iteration on a box of waiting jobs: the best policy there, and what it proves beyond it.

Each step smooths the values by sweeps of value iteration, takes the best decisions by them and
solves these decisions' equations level by level (`levels`). Values go on beyond the box as `tails`
has them: what a job more costs at the edges of the box is raised as far as a bound allows.

Source: Puterman, Markov Decision Processes, Wiley 1994, sections 8.5 and 8.6.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy import improvement, levels
from schedopt.solvers.msfq.optimal_policy.improvement import Box, Tail
from schedopt.solvers.msfq.optimal_policy.level_kernels import Decisions, Floats
from schedopt.solvers.msfq.optimal_policy.tails import bends, from_below

SWEEPS = 20
MOST_STEPS = 30
FEW_STEPS = 20
"""Sweeps in each step, steps at most for the first prices, and for each later ones."""
SETTLED = 1e-7
"""How far states' costs may be below the mean, relatively, for values that prove a useful bound."""
CALM = 0.5
"""The same as a part of the tolerance for the price at the top, where that is more."""
TRIALS = 8
"""How often prices are moved at most."""
LOWER = 1.5
"""A price at the top that is too high is lowered by so many times what it is above."""
SMALL = 8_000
"""Decisions up to which their equations are solved without interpolation."""
APART = 20
"""How far nodes of `levels.solve` may be apart: interpolation errors are corrected."""
WILD = 200.0
"""Values whose errors grow by this factor get nowhere: on a box that is too narrow policies lose
small jobs at its side, cheaply, and do so in patches that interpolation cannot follow."""
EASY = 0.97
"""The price at the side, as a part of the cost of one more small job there."""
Steps = Generator[None, None, None]


@dataclass
class Bounded:
    """The best policy found on a box, its values, and the bound that they prove."""

    decisions: Decisions  # (J + 1, k, I + 1)
    values: Floats  # (J + 1, k + 2, I + 1)
    tail: Tail
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
        self._decisions, self._left = decisions.copy(), np.empty_like(self._values)
        self._apart = APART if decisions.size > SMALL else 1
        self._gain = 0.0
        self._fresh = True
        self._settled = SETTLED
        self.best: Bounded | None = None
        self.diverged = False
        self._bends = bends(process)
        w, _, e = self._bends
        self._price(w * width, e * levels if price is None else price)

    def _price(self, small: float, large: float) -> None:
        self._prices, most = (small, large), (self._values.shape[2] - 1, len(self._values) - 1)
        tail = from_below(self._process, most, self._prices)
        self._box = Box.of(self._process, self._values, self._decisions, tail, free=True)

    def work(self, tolerance: float) -> Steps:
        """Improve until the price at the top is none too high; yields every now and then.

        The tolerance is relative.
        """
        self._settled = max(SETTLED, CALM * tolerance)
        yield from self._settle(MOST_STEPS)
        for trial in range(TRIALS):
            missing = self._at_top() - self._prices[1]
            if missing >= 0.0 and (at_side := self._at_side()) < self._prices[0]:
                self._price(EASY * at_side, self._prices[1])
                yield from self._settle(FEW_STEPS)
                missing = self._at_top() - self._prices[1]
            if missing >= 0.0 or trial > 1:
                self._prove()
            if missing >= 0.0 or not np.isfinite(self._gain):
                break
            if self.best and self.best.bound >= (1 - tolerance) * self._gain:
                break  # a higher price than what can be shown makes a gain that no bound exceeds
            self._price(self._prices[0], self._prices[1] + LOWER * missing)
            yield from self._settle(FEW_STEPS)
        if self.best is None:
            self._prove()

    def _settle(self, most: int) -> Steps:
        """Take better decisions until there are none."""
        before = least = np.inf
        for step in range(most):
            changed = 1
            improvement.at_events(self._box)
            if not self._fresh:
                for _ in range(SWEEPS):
                    improvement.sweep(self._box, self._gain)
                    yield
                changed = improvement.improve(self._box)
            improvement.residuals(self._box, self._left)
            spread = float(np.ptp(self._left))
            least = min(least, spread) if step else np.inf
            most_left = max(WILD * least, self._gain)
            self.diverged = not (np.isfinite(spread) and spread <= most_left)
            if self.diverged:
                self._gain = np.nan
                return
            enough = self._gain - float(self._left.min()) <= self._settled * self._gain
            if step and (enough or (not changed and spread > 0.9 * before)):
                return
            before = spread
            self._fresh = False
            rates = self._process.system.rates
            solved = yield from levels.solve(self._decisions, (self._left,), rates, self._apart)
            self._values += solved.values
            self._gain = float(solved.gains[0])

    def _at_top(self) -> float:
        """Return the least increment of one more large job below the top, where one is started."""
        rises = self._values[-1, -1] - self._values[-2, -1]
        rises = rises - self._bends[1] * np.arange(len(rises))
        leads = self._decisions[-1, 0] == 2
        leads[0] = True
        return float(rises[leads].min())

    def _at_side(self) -> float:
        """Return the price at the side, extrapolated from the least increment of a small job."""
        k, (w, both, _) = self._process.system.k, self._bends
        few = min(k, self._values.shape[2] - 1)
        rises = np.diff(self._values[:, k, -few - 1 :], axis=1) - w * k
        rises += w * np.arange(few, 0, -1)
        return float((rises.min(axis=1) - both * np.arange(len(rises))).min())

    def _prove(self) -> None:
        bound, _ = improvement.proven(self._box)
        if self.best is None or bound > self.best.bound:
            policy, values, tail = self._decisions.copy(), self._values.copy(), self._box.tail
            self.best = Bounded(policy, values, tail, self._gain, bound, self._prices)
