"""Policy iteration on a box of waiting jobs: the best policy there, and the bound that it proves.

Symbols:

==========  ====================================================================
c, i, j     small jobs in service (k + 1: a large job), small and large jobs waiting
I, J        the largest i and j in the box
h(c, i, j)  relative values
n, m        small jobs beyond I, large jobs beyond J
side, top   increments of h for one more small job than I, one more large job than J
w, β, e     second differences of h: in small jobs, in one of each, in large jobs
C_1, C_k    cost of a small and of a large job per unit of time
==========  ====================================================================

Beyond the box the values continue as

    h(c, I+n, J+m) = h(c, I, J) + n·side(c, J) + m·top(c, I) + w·n(n-1)/2 + β·n·m + e·m(m-1)/2,

and likewise beyond one edge alone. Then the expression that `lower_bound` minimizes is linear in n
and m for any decisions, and it suffices that it does not decrease in either. The increments at the
edges are raised as far as a bound allows. Such values bound every policy with a finite mean number
of jobs: it has n of them so rarely that cutting the values off changes the cost by o(1).

Source: Puterman, Markov Decision Processes, Wiley 1994, section 8.6.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy import relative_values as on
from schedopt.solvers.msfq.optimal_policy.equations import Decisions, Equations, Floats, pad_edge
from schedopt.solvers.msfq.optimal_policy.relative_values import Tail


@dataclass(frozen=True)
class BoxParams:
    """Parameters of policy iteration on a box.

    Attributes
    ----------
    most_steps : int
        The most improvements between two changes of prices. More of them occur on boxes that are
        too narrow, where small jobs are lost at the side.
    converged : float
        Policy iteration ends if no state's cost is below the mean by more than this part of it.
    converged_share : float
        The same as a part of the tolerance for the price at the top; the larger one counts.
    most_trials : int
        The most changes of prices.
    price_cut : float
        A price at the top that is too high is lowered by this multiple of the excess.
    side_price : float
        The price at the side, as a part of the cost of one more small job there.
    """

    most_steps: int = 14
    converged: float = 1e-9
    converged_share: float = 0.5
    most_trials: int = 8
    price_cut: float = 1.5
    side_price: float = 0.97


DEFAULTS = BoxParams()
Steps = Generator[None, None, None]


@dataclass
class BoxBound:
    """The best policy on a box, its relative values, and the bound that they prove."""

    decisions: Decisions  # (J + 1, k, I + 1)
    values: Floats  # (J + 1, k + 2, I + 1)
    tail: on.Tail
    gain: float  # long-run cost on the box
    bound: float
    # increments of one more small and one more large job, from which the tail was made
    prices: tuple[float, float]


class BoxSearch:
    """Policy iteration on a box from a stable policy; `best` has the best bound so far.

    `price` is the first guess of the increment of one more large job at the top; by default it is
    that of the fluid.
    """

    def __init__(
        self,
        process: Process,
        decisions: Decisions,
        price: float | None = None,
        params: BoxParams = DEFAULTS,
    ) -> None:
        levels, k, width = decisions.shape
        self._params = params
        self._process, self._values = process, np.zeros((levels, k + 2, width))
        self._rule = pad_edge(decisions)
        self._gain, self._converged = 0.0, params.converged
        self.best: BoxBound | None = None
        self.diverged = False
        self._bends = second_differences(process)
        w, _, e = self._bends
        self._price(w * width, e * levels if price is None else price)

    def _price(self, small: float, large: float) -> None:
        """Set the prices at the side and at the top."""
        self._prices, most = (small, large), (self._values.shape[2] - 1, len(self._values) - 1)
        self._tail = lower_tail(self._process, most, self._prices)

    def work(self, tolerance: float) -> Steps:
        """Improve the policy until the price at the top is not too high; yield between steps.

        The tolerance is relative.
        """
        params = self._params
        self._converged = max(params.converged, params.converged_share * tolerance)
        yield from self._iterate_policy()
        for trial in range(params.most_trials):
            missing = self._top_increment() - self._prices[1]
            if missing >= 0.0 and (at_side := self._side_price()) < self._prices[0]:
                self._price(params.side_price * at_side, self._prices[1])
                yield from self._iterate_policy()
                missing = self._top_increment() - self._prices[1]
            if self.diverged:
                return
            if missing >= 0.0 or trial > 1:
                self._prove_bound()
            if missing >= 0.0:
                break
            if self.best and self.best.bound >= (1 - tolerance) * self._gain:
                break  # the bound is within the tolerance
            self._price(self._prices[0], self._prices[1] + params.price_cut * missing)
            yield from self._iterate_policy()
        if self.best is None and not self.diverged:
            self._prove_bound()

    def _iterate_policy(self) -> Steps:
        """Improve the policy until no decision changes or its cost has converged."""
        for _ in range(self._params.most_steps):
            left = on.box_residuals(self._process, self._values, self._tail, self._rule)
            self._gain, values = Equations(self._rule, self._process.system).solve(left)
            self._values += values
            self.diverged = not np.isfinite(self._values).all()
            if self.diverged:
                return
            changed = on.improve_decisions(self._values, self._tail, self._rule)
            yield
            least = on.box_residuals(self._process, self._values, self._tail, None).min()
            if not changed or self._gain - float(least) <= self._converged * self._gain:
                return
        self.diverged = True

    def _top_increment(self) -> float:
        """Return the least increment of one more large job below the top, where one starts."""
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
        """Compute the lower bound of the current values, and keep the best."""
        bound = on.lower_bound(self._process, self._values, self._tail)
        if self.best is None or bound > self.best.bound:
            policy, values = self._rule[:-1, :, :-1].copy(), self._values.copy()
            self.best = BoxBound(policy, values, self._tail, self._gain, bound, self._prices)


def second_differences(process: Process) -> tuple[float, float, float]:
    """Return the second differences w, β and e with which values bound every policy from below.

    They are those of the fluid, in which switching wastes nothing: with K = k·μ_1,

        e·(μ_k - λ_k) <= C_k + λ_1·β,   β·(K - λ_1) <= C_k + λ_k·e,
        w·(K - λ_1) <= C_1 + λ_k·β,     β·(μ_k - λ_k) <= C_1 + λ_1·w,

    so that one more job costs at least the increment of the values, whichever jobs are served.
    """
    k, l1, lk, m1, mk = process.system
    small, large = process.small_cost, process.large_cost
    spare = mk * k * m1 - mk * l1 - lk * k * m1
    both = min(large * mk, small * k * m1) / spare
    e, w = (large + l1 * both) / (mk - lk), (small + lk * both) / (k * m1 - l1)
    less = 1.0 - on.DEFAULTS.slack
    return less * w, less * both, less * e


def lower_tail(process: Process, box: tuple[int, int], prices: tuple[float, float]) -> Tail:
    """Return the continuation of values beyond a box that bounds every policy from below.

    The slopes at the edges must be no less than `prices`, the increments of one more job at the
    edges of the box (I, J): a small job where no large one waits, a large job where no small one
    waits.
    """
    w, both, e = differences = second_differences(process)
    running = np.arange(process.system.k + 2.0)[:, None]
    running[-1] = 0.0
    top = prices[1] + both * (np.arange(box[0] + 1.0) + running)
    top[-1] += e
    side = prices[0] + both * np.arange(box[1] + 1.0) + w * running
    side[-1] += both
    return Tail(top, side, differences)
