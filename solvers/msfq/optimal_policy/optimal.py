"""The optimal policy of a one-or-all system, with bounds that hold for the infinite system."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from schedopt.formulations.msfq.optimal import OptimalPolicy
from schedopt.formulations.msfq.process import Process, System
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import OptimalTable
from schedopt.solvers.msfq.optimal_policy import policy_iteration
from schedopt.solvers.msfq.optimal_policy.equations import Decisions, Equations, as_table, pad_edge
from schedopt.solvers.msfq.optimal_policy.relative_values import bound_policy_cost, edge_slopes
from schedopt.solvers.msfq.searching import QueueSearch, run_search
from schedopt.solvers.msfq.threshold import approximation
from schedopt.solvers.msfq.threshold.exact import exact

if TYPE_CHECKING:
    from schedopt.solvers.engine import Certificate, EngineTask
    from schedopt.solvers.result import Limits, Result


@dataclass(frozen=True)
class PolicySearchParams:
    """Parameters of the search for an optimal policy.

    Attributes
    ----------
    growth, early_growth : float
        The growth of the box from one iteration to the next: where the relative gap is below
        `small_gap`, and before.
    small_gap : float
        See `growth`.
    trusted_levels : float
        The part of a box's levels whose decisions do not depend on where the box ends.
    width : float
        The width of a box, relative to the largest number of waiting small jobs at which its
        decisions change.
    price_growth : float
        The growth of the price at the top from level to level, relative to that of the fluid.
    price_error, rough_price_error : float
        The error allowed in the price at the top, as a part of the tolerance and as a part of the
        gap so far; the larger one counts.
    doubled_decisions : int
        The number of decisions up to which a box is doubled to compute mean response times.
    """

    growth: float = 1.5
    early_growth: float = 2.0
    small_gap: float = 0.02
    trusted_levels: float = 0.65
    width: float = 2.7
    price_growth: float = 1.1
    price_error: float = 0.2
    rough_price_error: float = 0.02
    doubled_decisions: int = 200_000


DEFAULTS = PolicySearchParams()
Stages = Generator[None, None, None]


def solve(model: OptimalPolicy, task: EngineTask) -> Result:
    """Find the optimal policy on ever larger boxes; the model keeps the bound's certificate."""
    search = PolicySearch(model)
    result = run_search(model, search, task.limits)
    model.certificate = search.certificate()
    return result


def certify(model: OptimalPolicy, result: Result, limits: Limits) -> Certificate | None:
    """Return the relative values of the last search as a certificate."""
    return model.certificate


@dataclass
class Incumbent:
    """A policy for any number of waiting jobs, and an upper bound on its long-run cost."""

    decisions: Decisions  # (J + 1, k, I + 1); beyond the box, those at its edge
    cost: float
    small_time: float  # mean response time of small jobs
    optimum: float  # cost on the box; the rest of the cost is due to truncation


class PolicySearch(QueueSearch):
    """Policy iteration on ever larger boxes; it can be stopped at any time.

    The search begins with a threshold of MSFQ. Each box gives a lower bound on every policy and a
    policy of its own; both hold for the system without limits on the number of waiting jobs.
    """

    def __init__(self, formulation: OptimalPolicy, params: PolicySearchParams = DEFAULTS) -> None:
        self._formulation, self._params = formulation, params
        self._process = formulation.model
        k, most = formulation.system.k, formulation.options["most"]
        if _states(k, smallest_box(k)) > most:
            raise InputError(
                "formulation threshold for this many servers, or a larger option most",
                found=f"{k} servers",
                place="servers",
            )
        self.incumbent: Incumbent | None = None
        self.proof: policy_iteration.BoxBound | None = None
        self._bound, self._box = service_cost(self._process), smallest_box(k)
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
        best, costs, bound = self.incumbent, self._process, self._bound
        if best is None:
            return None
        of_large = best.cost - costs.small_cost * costs.system.l1 * best.small_time
        return as_table(
            self._formulation,
            best.decisions,
            best.small_time,
            float(of_large / (costs.large_cost * costs.system.lk)),
            span=max(best.optimum - bound, 0.0),
            truncation=max(best.cost - max(best.optimum, bound), 0.0),
        )

    def certificate(self) -> dict[str, object] | None:
        """Return the relative values that prove the bound; None before there are any."""
        if self.proof is None:
            return None
        values, tail = self.proof.values, self.proof.tail
        packed = zlib.compress(values.astype("<f8").tobytes(), 6)
        return {
            "kind": "relative-values",
            "small_most": values.shape[2] - 1,
            "large_most": values.shape[0] - 1,
            "prices": list(self.proof.prices),
            "bends": list(tail.bends),
            "values": base64.b64encode(packed).decode(),
        }

    def _work(self) -> Stages:
        process, options, params = self._process, self._formulation.options, self._params
        best = self.incumbent = _best_threshold(process)
        yield
        k = process.system.k
        decisions, price, gap = extend_to_box(best.decisions, self._box), None, 1.0
        proof: policy_iteration.BoxBound | None = None
        rise = params.price_growth * policy_iteration.second_differences(process)[2]
        while True:
            search = policy_iteration.BoxSearch(process, decisions, price)
            error = max(params.price_error * options["tolerance"], params.rough_price_error * gap)
            for _ in search.work(error):
                self._keep_bound(search.best)
                yield
            if search.diverged:
                larger = int(params.growth * self._box[0]), self._box[1]
                if _states(k, larger) > options["most"]:
                    return
                decisions = extend_to_box((proof or best).decisions, larger)
                self._box = larger
                continue
            self._keep_bound(search.best)
            if search.best is None:
                return
            proof = search.best
            yield from self._evaluate_policy(search.best)
            best = self.incumbent or best
            gap = (best.cost - self._bound) / best.cost
            growth = params.growth if gap < params.small_gap else params.early_growth
            larger = next_box(search.best, growth, params)
            if gap <= options["tolerance"] or _states(k, larger) > options["most"]:
                return
            price = search.best.prices[1] + rise * (larger[1] - self._box[1])
            decisions, self._box = extend_to_box(search.best.decisions, larger), larger

    def _keep_bound(self, found: policy_iteration.BoxBound | None) -> None:
        """Keep a bound if it is better and at most the cost of the incumbent."""
        best = self.incumbent
        if found is not None and best is not None and self._bound < found.bound <= best.cost:
            self._bound, self.proof = found.bound, found

    def _evaluate_policy(self, found: policy_iteration.BoxBound) -> Stages:
        """Bound the cost of a box's policy on the infinite system; keep a better policy."""
        process = self._process
        decisions = make_runnable(found.decisions, self._params.trusted_levels)
        if decisions is None:
            return
        worth = yield from bound_policy_cost(process, decisions, edge_slopes(found.values))
        best = self.incumbent
        if worth is None or not self._bound <= worth.cost < np.inf:
            return
        if best is not None and worth.cost >= best.cost:
            return
        small_time = _mean_time_of_small(process.system, decisions, self._params.doubled_decisions)
        self.incumbent = Incumbent(decisions, worth.cost, small_time, found.gain)


def service_cost(process: Process) -> float:
    """Return the long-run cost of jobs in service, a lower bound on every policy."""
    _, l1, lk, m1, mk = process.system
    return float(process.small_cost * l1 / m1 + process.large_cost * lk / mk)


def smallest_box(k: int) -> tuple[int, int]:
    """Return I and J of the first box."""
    return 4 * k + 24, 12


def next_box(
    found: policy_iteration.BoxBound, growth: float, params: PolicySearchParams
) -> tuple[int, int]:
    """Return I and J of the next box: more levels, and the columns that its decisions require."""
    levels, _, width = found.decisions.shape
    starts = found.decisions == 1
    turns = np.where(starts.any(axis=2), starts.argmax(axis=2), width - 1).max(axis=1)
    trusted, large = int(params.trusted_levels * (levels - 1)), int(growth * (levels - 1))
    rise = max((turns[trusted] - turns[trusted // 2]) / (trusted - trusted // 2), 0.0)
    needed = params.width * (turns[trusted] + rise * (params.trusted_levels * large - trusted))
    return int(np.clip(needed, 1.15 * (width - 1), growth * (width - 1))), large


def _states(k: int, box: tuple[int, int]) -> int:
    """Return the number of states of a box."""
    return (k + 2) * (box[0] + 1) * (box[1] + 1)


def extend_to_box(decisions: Decisions, box: tuple[int, int]) -> Decisions:
    """Return a policy for a larger box, on which the last level and column are repeated."""
    levels, _, width = decisions.shape
    more = (0, box[1] + 1 - levels), (0, 0), (0, box[0] + 1 - width)
    out = np.pad(decisions, more, mode="edge")
    out[:, :, -1] = 1
    return out


def make_runnable(decisions: Decisions, trusted_levels: float) -> Decisions | None:
    """Return a box's policy, extended to any number of waiting jobs; None if the box is too small.

    From half the width on, small jobs are always started. Levels above the last trusted level use
    its decisions.
    """
    half, last = decisions.shape[2] // 2, int(trusted_levels * (len(decisions) - 1))
    if last < 1:
        return None
    out = decisions[np.minimum(np.arange(len(decisions)), last)].copy()
    out[:, :, half:] = 1
    return out


def _best_threshold(process: Process) -> Incumbent:
    """Return lazy MSFQ as a policy, at the threshold up to k - 2 that is best by an approximation.

    At the threshold k - 1 its decisions depend on more than the numbers of jobs.
    """
    system = process.system
    curve = approximation.area(system)
    likely = process.small_cost * system.l1 * curve.small
    likely += process.large_cost * system.lk * curve.large
    l = int(np.argmin(likely[: system.k - 1]))
    small, large = exact(system, l, "lazy")
    cost = process.small_cost * system.l1 * small + process.large_cost * system.lk * large
    decisions = np.ones((2, system.k, 2), np.int8)
    decisions[:, :, 0] = 0
    decisions[1, 1 : l + 1] = 0
    decisions[1, 0] = 2
    return Incumbent(decisions, cost, small, cost)


def _mean_time_of_small(system: System, decisions: Decisions, doubled: int) -> float:
    """Return the mean response time of small jobs; large boxes lose jobs beyond their edge."""
    if decisions.size <= doubled:
        more = (0, len(decisions)), (0, 0), (0, decisions.shape[2])
        decisions = np.pad(decisions, more, mode="edge")
    equations = Equations(pad_edge(decisions), system)
    running = np.append(np.arange(system.k + 1.0), 0.0)[:, None]
    small = np.broadcast_to(running + np.arange(decisions.shape[2]), equations.shape)
    return equations.solve(small / system.l1)[0]
