"""The optimal policy of a one-or-all system, by policy iteration on growing boxes of states.

Symbols:

==========  ====================================================================
k           servers
c, i, j     small jobs in service (k + 1: a large job), small and large jobs waiting
I, J        the largest i and j in the box
h(c, i, j)  relative values, arrays of shape (J + 1, k + 2, I + 1)
n, m        small jobs beyond I, large jobs beyond J
S, T        prices: increments of h for one more small job than I, one more large job than J
w, β, e     second differences of h: in small jobs, in one of each, in large jobs
C_1, C_k    cost of a small and of a large job per unit of time
==========  ====================================================================

Beyond the box the values continue as

    h(c, I, J) + n·(S + w·c + β·J) + m·(T + β·(I + c)) + w·n(n-1)/2 + β·n·m + e·m(m-1)/2

(with β·(J + 1) for β·J, T + e for T and c = 0 where a large job is in service). The change by the
start of a job then does not depend on n and m, so that for any decisions the expression that
`Box.lower_bound` minimizes is linear in n from k on and in m from 1 on, and the second differences
ensure that it does not decrease. So its least value in and next to the box is a lower bound on the
cost of every policy with a finite mean number of jobs, whatever the prices are. The best prices are
the increments of h at the edges of the box, which are solved for together with h.

Source: Puterman, Markov Decision Processes, Wiley 1994, sections 8.2 and 8.6.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq import OptimalPolicy
from schedopt.formulations.msfq.optimal import Process
from schedopt.formulations.msfq.threshold import Floats, System
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import ClassTime, OptimalTable
from schedopt.solvers.engine import Engine, EngineTask
from schedopt.solvers.msfq import QueueSearch, run_search
from schedopt.solvers.msfq.threshold import approximation
from schedopt.solvers.msfq.threshold.exact import exact
from schedopt.solvers.result import Result

ROUNDING = 64 * 2.0**-53
"""Relative rounding error of a sum of some twenty terms, to the sum of their magnitudes."""
GROWTH = 1.5
"""The factor by which a side grows from one box to the next."""
RELEVANT = 0.1
"""A side grows if arrivals beyond it cost at least this fraction of those beyond the other."""
MOST_STEPS = 60
"""The largest number of improvements of the policy on a box."""
CONVERGED, TIE = 1e-9, 1e-13
"""Relative: policy iteration ends if no state's cost is farther below the mean, and a decision is
replaced if another is better by more."""
TRUSTED = 0.65
"""The fraction of a box's levels whose decisions hardly depend on where the box ends."""
SLACK = 1e-3
"""The relative distance of the second differences from their limits."""
ROUGH = 1e-6
"""A box is too small if its bound is below its cost by more than this fraction."""
DEARER = 3.0
"""The cost of an arrival beyond the box, as a multiple of the price at its edge: increments grow
beyond the box."""
TRUNCATED = 1e-5
"""The largest fraction of a policy's cost that arrivals beyond the box may cause, by estimate."""

Decisions = NDArray[np.int8]
"""The decision while j large jobs wait, c small jobs run and i small jobs wait, by j, c and i: 0
start nothing, 1 start a small job and decide again, 2 start a large job. Beyond the array the
decision is that at its edge."""


class PolicyIterationEngine(Engine["OptimalPolicy"]):
    """Policy iteration on ever larger boxes of states."""

    name = "queues"
    description = "any one-or-all system"
    proves = "a lower bound on every policy, without a limit on the number of jobs"
    certificate = "relative-values"
    needs = "scipy"

    def solve(self, model: OptimalPolicy, task: EngineTask) -> Result:
        """Find the optimal policy; the model keeps the bound's certificate."""
        search = PolicySearch(model)
        result = run_search(model, search, task.limits)
        model.certificate = search.certificate
        return result


ENGINES = (PolicyIterationEngine(),)


@dataclass
class Incumbent:
    """A policy, its long-run cost, and the part of it that arrivals beyond the box cause."""

    decisions: Decisions
    cost: float
    small_time: float  # mean response time of small jobs
    truncation: float = 0.0


class PolicySearch(QueueSearch):
    """Policy iteration on ever larger boxes; it can be stopped at any time.

    The search begins with a threshold of MSFQ. Each box gives a lower bound on every policy and a
    policy of its own; both are for the system without limits on the number of waiting jobs. The
    bound is proven; the cost of the policy has an estimate of what arrivals beyond the box cost.
    """

    def __init__(self, formulation: OptimalPolicy) -> None:
        self._formulation, self._process = formulation, formulation.model
        k, most = formulation.system.k, formulation.options["most"]
        self._side, self._top = 4 * k + 24, 12
        if self._states() > most:
            raise InputError(
                "formulation threshold for this many servers, or a larger option most",
                found=f"{k} servers",
                place="servers",
            )
        self.incumbent: Incumbent | None = None
        self.certificate: dict[str, object] | None = None
        _, l1, lk, m1, mk = self._process.system
        costs = self._process.small_cost, self._process.large_cost
        self._bound = float(costs[0] * l1 / m1 + costs[1] * lk / mk)  # the cost of jobs in service
        self._stages = self._work()

    @property
    def value(self) -> float | None:
        """The cost of the incumbent."""
        return None if self.incumbent is None else self.incumbent.cost

    @property
    def bound(self) -> float:
        """A lower bound on the cost of every policy."""
        return self._bound

    def solution(self) -> OptimalTable | None:
        """Return the incumbent, with the mean response time of each class."""
        best, costs = self.incumbent, self._process
        if best is None:
            return None
        of_large = best.cost - costs.small_cost * costs.system.l1 * best.small_time
        return as_table(
            self._formulation,
            best,
            float(of_large / (costs.large_cost * costs.system.lk)),
            span=max(best.cost - best.truncation - self._bound, 0.0),
        )

    def _states(self) -> int:
        return (self._formulation.system.k + 2) * (self._side + 1) * (self._top + 1)

    def _work(self) -> Iterator[None]:
        process, options = self._process, self._formulation.options
        threshold = self.incumbent = best_threshold(process)
        decisions = threshold.decisions
        yield
        while self._states() <= options["most"]:
            box = Box(process, self._side, self._top)
            rule = box.fit(decisions)
            for _ in range(MOST_STEPS):
                box.evaluate(rule)
                yield
                if not box.improve(rule):
                    break
            bound = box.lower_bound()
            grows = np.array([True, False])
            # Otherwise the box is too narrow.
            if bound >= (1.0 - ROUGH) * max(box.gain, self._bound):
                found = box.runnable(rule)
                decisions = found.decisions
                near = found.truncation <= TRUNCATED * found.cost
                if near and found.cost < threshold.cost:  # a later estimate replaces an earlier one
                    self.incumbent = found
                grows = np.abs(box.lost) >= RELEVANT * np.abs(box.lost).max()
            self._keep_bound(box, bound)
            best = self.incumbent
            if best.cost - self._bound <= options["tolerance"] * best.cost:
                return
            yield
            self._side = int(self._side * GROWTH ** grows[0])
            self._top = int(self._top * GROWTH ** grows[1])

    def _keep_bound(self, box: Box, bound: float) -> None:
        if not self._bound < bound <= (self.value or np.inf):
            return
        packed = zlib.compress(box.values.astype("<f8").tobytes(), 6)
        self._bound = bound
        self.certificate = {
            "kind": "relative-values",
            "small_most": self._side,
            "large_most": self._top,
            "prices": box.prices.tolist(),
            "bends": list(box.bends),
            "values": base64.b64encode(packed).decode(),
        }


class Box:
    """The states with at most I small and J large jobs waiting, and the relative values there.

    Attributes
    ----------
    values : ndarray, shape (J + 1, k + 2, I + 1)
    prices : ndarray of S and T
    bends : w, β and e
    gain : float
        The long-run cost of the policy that was evaluated.
    lost : ndarray, shape (2,)
        The part of it of small jobs that arrive beyond the side of the box, and of large jobs
        that arrive beyond its top.
    """

    def __init__(self, process: Process, side: int, top: int) -> None:
        self.process, self.side, self.top = process, side, top
        self.values = np.zeros((top + 1, process.system.k + 2, side + 1))
        self.bends = second_differences(process)
        self.prices = np.array([self.bends[0] * side, self.bends[2] * top])
        self.lost = np.zeros(2)
        self.gain = 0.0

    def fit(self, decisions: Decisions) -> Decisions:
        """Return decisions in the box and one step beyond it, the last column starting jobs."""
        levels, _, width = decisions.shape
        more = (0, self.top + 2 - levels), (0, 0), (0, self.side + 2 - width)
        rule = np.pad(decisions, more, mode="edge")
        rule[:, :, self.side :] = 1
        return rule

    def evaluate(self, rule: Decisions) -> None:
        """Compute the relative values of a policy, and prices that equal their increments."""
        equations = PolicyEquations(rule, self.process.system)
        w, _, e = self.bends
        units, zero = np.array([w, e]), 0.0 * self.values  # prices are multiples of these
        free = self._residuals(zero, (0.0, 0.0), rule)
        sources = (
            free,
            self._residuals(zero, (w, 0.0), rule) - free,
            self._residuals(zero, (0.0, e), rule) - free,
        )
        (gain, plain), *effects = (equations.solve(source) for source in sources)
        gains, values = zip(*effects, strict=True)
        at = self._least_increments(plain + np.tensordot(self.prices / units, values, 1), rule)
        ahead = np.array([self._increments(each, at) for each in values]).T
        rises = self._increments(plain, at) - self._increments_of_tail(at)
        try:
            multiples = np.linalg.solve(np.diag(units) - ahead, rises)
        except np.linalg.LinAlgError:
            multiples = np.full(2, np.nan)
        self.prices = units * multiples
        self.values = plain + np.tensordot(multiples, values, 1)
        self.gain = gain + float(multiples @ gains)
        self.lost = multiples * gains

    def _least_increments(self, values: Floats, rule: Decisions) -> tuple[int, int]:
        """Return j at the side, and i at the top, where the increments allow the lowest price."""
        k, both = self.process.system.k, self.bends[1]
        side = values[:, k, -1] - values[:, k, -2] - both * np.arange(self.top + 1)
        top = values[-1, -1] - values[-2, -1] - both * np.arange(self.side + 1)
        starts = rule[-3, 0, :-1] == 2
        starts[0] = True
        return int(side.argmin()), int(np.where(starts, top, np.inf).argmin())

    def _increments(self, values: Floats, at: tuple[int, int]) -> Floats:
        """Return the increments of values at the side and at the top."""
        side = values[at[0], -2, -1] - values[at[0], -2, -2]
        return np.array([side, values[-1, -1, at[1]] - values[-2, -1, at[1]]])

    def _increments_of_tail(self, at: tuple[int, int]) -> Floats:
        """Return the parts of the increments beyond the box that are not prices."""
        w, both, _ = self.bends
        return np.array([w * self.process.system.k + both * at[0], both * at[1]])

    def improve(self, rule: Decisions) -> bool:
        """Replace decisions by better ones; return False if none is, or the cost has converged."""
        k = self.process.system.k
        every = self._extend(self.values, self.prices)[: self.top + 2, :, : self.side + 2]
        best = value_after(every)
        options = np.full((3, *rule.shape), np.inf)
        options[0] = every[:, :k]
        options[1, :, :, 1:] = best[:, 1 : k + 1, :-1]
        options[2, 1:, 0] = every[:-1, k + 1]
        options[0, 1:, 0, 0] = options[0, :, 0, self.side] = np.inf
        now = np.take_along_axis(options, rule[None].astype(np.intp), axis=0)[0]
        better = options.min(axis=0) < now - TIE * (1.0 + np.abs(now))
        rule[better] = options.argmin(axis=0)[better]
        least = float(self._residuals(self.values, self.prices).min())
        return bool(better.any()) and self.gain - least > CONVERGED * self.gain

    def lower_bound(self) -> float:
        """Return a lower bound on the long-run cost of every policy, less the rounding error.

        With the value B(s) of the best decision in s, it is the least of cost(s) + Σ rate·(B(s') -
        h(s)) over all states.
        """
        every = self._extend(self.values, self.prices)
        out, error = change_rates(self.process, every, value_after(every))
        return float((out - error).min())

    def runnable(self, rule: Decisions) -> Incumbent:
        """Return the box's policy for any number of waiting jobs, and its cost.

        Levels above the last trusted level use its decisions. Arrivals beyond the box are lost at
        the cost of the prices, which lengthens the response times of both classes by one factor.
        """
        last = max(1, int(TRUSTED * self.top))
        decisions = self.fit(rule[: last + 1, :, : self.side + 1])
        equations = PolicyEquations(decisions, self.process.system)
        k, l1, *_ = self.process.system
        small, large = count_jobs(k, self.values.shape)
        numbers = [equations.solve(counts)[0] for counts in (small, large)]
        costs = np.array([self.process.small_cost, self.process.large_cost])
        prices = DEARER * (self.prices + np.array(self.bends)[[0, 2]])
        beyond = self._residuals(0.0 * self.values, prices, decisions)
        beyond -= costs[0] * small + costs[1] * large
        truncation = equations.solve(beyond)[0]
        in_box = float(costs @ numbers)
        cost = in_box + truncation
        small_time = numbers[0] / l1 * (cost / in_box)
        return Incumbent(decisions[:, :, : self.side + 1], cost, small_time, truncation)

    def _residuals(self, values: Floats, prices: Any, rule: Decisions | None = None) -> Floats:
        """Return cost rate plus expected change of value in the box, by a policy or the best."""
        every = self._extend(values, prices)[: self.top + 2, :, : self.side + 2]
        return change_rates(self.process, every, value_after(every, rule))[0]

    def _extend(self, values: Floats, prices: Any) -> Floats:
        """Return the values extended by 2 large and k + 2 small jobs beyond the box."""
        (side, top), (w, both, e), k = prices, self.bends, self.process.system.k
        j, i = np.arange(self.top + 3), np.arange(self.side + k + 3)
        at_j, at_i = np.minimum(j, self.top), np.minimum(i, self.side)
        m, n = (j - at_j)[:, None, None], (i - at_i)[None, None, :]
        running = np.append(np.arange(k + 1.0), 0.0)[:, None]
        large = np.append(np.zeros(k + 1), 1.0)[:, None]
        out = values[at_j][:, :, at_i]
        out = out + n * (side + w * running + both * (at_j[:, None, None] + large))
        out += m * (top + e * large + both * (at_i + running))
        out += w * (n * (n - 1) / 2) + e * (m * (m - 1) / 2) + both * (m * n)
        return np.asarray(out)


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
    less = 1.0 - SLACK
    return less * w, less * both, less * e


def value_after(values: Floats, rule: Decisions | None = None) -> Floats:
    """Return the value after the best decision in each state, or after a policy's decision."""
    best, k = values.copy(), values.shape[1] - 2
    for c in range(k - 1, -1, -1):
        stay, small = best[:, c, 1:], best[:, c + 1, :-1]
        best[:, c, 1:] = (
            np.minimum(stay, small) if rule is None else np.where(rule[:, c, 1:] == 1, small, stay)
        )
    stay, large = best[1:, 0], values[:-1, k + 1]
    best[1:, 0] = (
        np.minimum(stay, large) if rule is None else np.where(rule[1:, 0] == 2, large, stay)
    )
    return best


def count_jobs(k: int, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return the numbers of small and of large jobs in the system, in each state of a box."""
    running = np.append(np.arange(k + 1.0), 0.0)[:, None]
    large = np.append(np.zeros(k + 1), 1.0)[:, None]
    small_jobs = running + np.arange(float(shape[2])) + np.zeros(shape)
    return small_jobs, np.arange(float(shape[0]))[:, None, None] + large + np.zeros(shape)


def change_rates(process: Process, values: Floats, best: Floats) -> tuple[Floats, Floats]:
    """Return the cost rate plus expected change of value in each state, and its rounding error.

    For a solution of the equations this is the long-run cost in every state. The values reach one
    level and one column further than the results.
    """
    l1, lk, m1, mk = process.system[1:]
    here, k = values[:-1, :, :-1], process.system.k
    small_jobs, large_jobs = count_jobs(k, here.shape)
    out = process.small_cost * small_jobs + process.large_cost * large_jobs
    size = np.abs(out)
    served = np.append(np.arange(k + 1.0) * m1, mk)[:, None]
    down = best[:-1, [0, *range(k), 0], :-1]
    for rate, after in ((l1, best[:-1, :, 1:]), (lk, best[1:, :, :-1]), (served, down)):
        out = out + rate * (after - here)
        size = size + rate * (np.abs(after) + np.abs(here))
    return out, ROUNDING * size


class PolicyEquations:
    """The equations of the relative values of a policy on a box, by a sparse LU factorization.

    Solves h(s)·Σ rates + gain = source(s) + Σ rate·h(s'); arrivals beyond the box are lost. The
    policy's decisions reach one step beyond the box.
    """

    def __init__(self, rule: Decisions, system: System) -> None:
        from scipy.sparse import csc_array, hstack
        from scipy.sparse.linalg import splu

        levels, k, width = rule.shape[0] - 1, rule.shape[1], rule.shape[2] - 1
        self.shape = (levels, k + 2, width)
        here = np.arange(levels * (k + 2) * width).reshape(self.shape)
        padded = np.pad(here, ((0, 1), (0, 0), (0, 1)), mode="edge")
        settled = value_after(padded, rule)
        l1, lk, m1, mk = system[1:]
        served = np.append(np.arange(k + 1.0) * m1, mk)[:, None]
        after = settled[:-1, :, 1:], settled[1:, :, :-1], settled[:-1, [0, *range(k), 0], :-1]
        self._flows = [
            (np.broadcast_to(rate, self.shape).ravel(), states.ravel())
            for rate, states in zip((np.array(l1), np.array(lk), served), after, strict=True)
        ]
        self._rates = np.broadcast_to(l1 + lk + served, self.shape).ravel()
        self._stops = stops = np.unique(settled)  # the states that decisions lead to
        self._zero, count = int(np.searchsorted(stops, here[0, -1, -1])), len(stops)
        numbered = np.full(here.size, -1)
        numbered[stops] = np.arange(count)
        rows = np.tile(np.arange(count), 4)
        columns = [np.arange(count), *(numbered[after[stops]] for _, after in self._flows)]
        entries = [self._rates[stops], *(-rate[stops] for rate, _ in self._flows)]
        whole = csc_array((np.concatenate(entries), (rows, np.concatenate(columns))))
        # The gain, in a unit of the size of the rates, takes the place of the value that is 0.
        self._unit = float(self._rates.max())
        gain = np.full((count, 1), self._unit)
        parts = [whole[:, : self._zero], gain, whole[:, self._zero + 1 :]]
        try:
            self._factors: Any = splu(hstack(parts, format="csc"))
        except RuntimeError:  # singular
            self._factors = None

    def solve(self, source: Floats) -> tuple[float, Floats]:
        """Return the gain and the relative values, of the shape of the source.

        They are not finite if there is no solution. The value is 0 in the state in which a large
        job is in service and no large job waits, at the last column.
        """
        if self._factors is None:
            return np.nan, np.full(self.shape, np.nan)
        found = self._factors.solve(source.ravel()[self._stops])
        gain = float(found[self._zero]) * self._unit
        found[self._zero] = 0.0
        values = np.zeros(source.size)
        values[self._stops] = found
        out = source.ravel() - gain
        for rate, after in self._flows:
            out = out + rate * values[after]
        return gain, (out / self._rates).reshape(self.shape)


def best_threshold(process: Process) -> Incumbent:
    """Return lazy MSFQ as a policy, at the threshold up to k - 2 that is best by an approximation.

    At the threshold k - 1 its decisions depend on more than the numbers of jobs.
    """
    system = process.system
    curve = approximation.area(system)
    likely = process.small_cost * system.l1 * curve.small
    likely += process.large_cost * system.lk * curve.large
    l = int(np.argmin(likely[: system.k - 1]))
    small, large = exact(system, l, lazy=True)
    cost = process.small_cost * system.l1 * small + process.large_cost * system.lk * large
    decisions = np.ones((2, system.k, 2), np.int8)
    decisions[:, :, 0] = 0
    decisions[1, 1 : l + 1] = 0
    decisions[1, 0] = 2
    return Incumbent(decisions, cost, small)


def as_table(model: OptimalPolicy, found: Incumbent, large: float, *, span: float) -> OptimalTable:
    """Return a policy and its mean response times as a solution record.

    ``span`` is the part of the gap that is not truncation. Last rows and columns that repeat the
    ones before them are omitted.
    """
    system, decisions = model.system, found.decisions
    times = {1: found.small_time, system.k: large}
    while len(decisions) > 2 and (decisions[-1] == decisions[-2]).all():
        decisions = decisions[:-1]
    while decisions.shape[2] > 2 and (decisions[:, :, -1] == decisions[:, :, -2]).all():
        decisions = decisions[:, :, :-1]
    letters = [
        tuple("".join(alphabet[x] for x in row) for row in decisions[:, c].tolist())
        for c, alphabet in enumerate([".SL", *["-S"] * (system.k - 1)])
    ]
    return OptimalTable(
        mean_response_time=float(system.mean(found.small_time, large)),
        weighted_response_time=float(system.weighted(found.small_time, large)),
        classes=tuple(
            ClassTime(need=job.need, mean_response_time=times[job.need])
            for job in model.instance.classes
        ),
        small_most=decisions.shape[2] - 1,
        large_most=len(decisions) - 1,
        at_empty=letters[0],
        admit=tuple(letters[1:]),
        span=span,
        truncation=found.truncation,
    )
