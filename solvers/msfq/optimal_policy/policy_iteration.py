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
FIRST = 5.0
"""The price at the top is raised by at most so many times what it lacks."""
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

    def work(self, tolerance: float, trials: int = TRIALS) -> Steps:
        """Improve until bounds change by less than a relative tolerance; yields every now and then.

        At most `trials` prices are looked at that are not too high.
        """
        self._settled = max(SETTLED, CALM * tolerance)
        yield from self._settle(MOST_STEPS)
        tried: list[tuple[float, float, float]] = []  # price, how much is missing, gain
        for _ in range(TRIALS):
            missing = self._at_top() - self._prices[1]
            if missing >= 0.0 and (at_side := self._at_side()) < self._prices[0]:
                self._price(EASY * at_side, self._prices[1])
                yield from self._settle(FEW_STEPS)
                missing = self._at_top() - self._prices[1]
            if missing >= 0.0 or len(tried) > 1:
                self._prove()
            tried.append((self._prices[1], missing, self._gain))
            if not np.isfinite(self._gain) or self._worth(tried) <= tolerance * self._gain:
                break
            if sum(missing >= 0.0 for _, missing, _ in tried) >= trials:
                break
            if missing < 0.0 and self.best and self.best.bound >= (1 - tolerance) * self._gain:
                break  # a higher price than what can be shown makes a gain that no bound exceeds
            self._price(self._prices[0], _next_price(tried))
            yield from self._settle(FEW_STEPS)
        if self.best is None:
            self._prove()

    @staticmethod
    def _worth(tried: list[tuple[float, float, float]]) -> float:
        """Return about how much the best price at the top would still add to the gain."""
        if len(tried) < 2:
            return np.inf
        (p0, _, g0), (p1, missing, g1) = tried[-2:]
        if missing < 0.0:
            return np.inf
        return float(abs(g1 - g0) / max(abs(p1 - p0), 1e-300) * abs(_next_price(tried) - p1))

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


def _next_price(tried: list[tuple[float, float, float]]) -> float:
    """Return the price at the top to try next: where nothing would be missing, or just below."""
    price, missing, _ = tried[-1]
    if len(tried) < 2:
        return price + (FIRST * missing if missing > 0.0 else 1.5 * missing)
    fine = [t for t in tried if t[1] >= 0.0]
    over = [t for t in tried if t[1] < 0.0]
    if fine and over:
        (p0, m0, _), (p1, m1, _) = max(fine), min(over)
        at = p0 + (p1 - p0) * m0 / max(m0 - m1, 1e-300)
        return min(at - 0.02 * (p1 - p0), p0 + 0.9 * (p1 - p0))
    if over:
        return price + 2.0 * missing
    (p0, m0, _), (p1, m1, _) = sorted(tried)[-2:]
    if m1 >= m0:
        return p1 + FIRST * m1
    return p1 + min(0.97 * m1 * (p1 - p0) / (m0 - m1), FIRST * m1)
