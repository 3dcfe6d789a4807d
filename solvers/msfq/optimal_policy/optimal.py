"""The optimal policy of a one-or-all system, between bounds that hold for the infinite system."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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

GROWTH, LEAP = 1.5, 2.0
"""Growth of the boxes near the end, and before."""
CLOSE = 0.02
"""The gap below which growth is slow."""
TRUSTED = 0.65
"""The part of a box's levels whose decisions do not depend on where it ends."""
WIDE = 2.7
"""How much wider a box is than where its decisions change."""
STEEP = 1.1
"""By what factor the price at the top rises faster, level by level, than the fluid's."""
ROUGH = 0.02
"""Error allowed in the price at the top, as a part of the gap so far."""
SMALL = 200_000
"""Decisions up to which a box is doubled to tell mean times of its policy."""
PRICED = 0.2
"""Error allowed in the price at the top, as a part of the tolerance."""
Stages = Generator[None, None, None]


def solve(model: OptimalPolicy, task: EngineTask) -> Result:
    """Search on ever larger boxes; the model keeps the certificate of the bound."""
    search = PolicySearch(model)
    result = run_search(model, search, task.limits)
    model.certificate = search.certificate()
    return result


def certify(model: OptimalPolicy, result: Result, limits: Limits) -> Certificate | None:
    """Return the relative values of the last search; the checker judges them."""
    return model.certificate


@dataclass
class Incumbent:
    """A policy that can be run, and an upper bound on its long-run cost."""

    decisions: Decisions  # (J + 1, k, I + 1); beyond, those at the edge
    cost: float
    small_time: float  # mean response time of small jobs
    optimum: float  # of the box that it was found on: the rest is due to truncation


class PolicySearch(QueueSearch):
    """Policy iteration on ever larger boxes; stoppable at any time.

    The search begins with a threshold of MSFQ. Each box gives a bound on every policy and a
    policy of its own, both for the system without limits on how many jobs may wait.
    """

    def __init__(self, formulation: OptimalPolicy) -> None:
        self._formulation = formulation
        self._process = formulation.model
        k, most = formulation.system.k, formulation.options["most"]
        if _states(k, smallest_box(k)) > most:
            raise InputError(
                "formulation threshold for so many servers, or a larger option most",
                found=f"{k} servers",
                place="servers",
            )
        self.incumbent: Incumbent | None = None
        self.proof: policy_iteration.Bounded | None = None
        self._bound, self._box = service_cost(self._process), smallest_box(k)
        self._stages = self._work()

    @property
    def value(self) -> float | None:
        """The cost of the best policy so far."""
        return None if self.incumbent is None else self.incumbent.cost

    @property
    def bound(self) -> float:
        """A lower bound on every policy."""
        return self._bound

    def solution(self) -> OptimalTable | None:
        """Return the best policy so far, with the response time of each class under it."""
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
        """Return the relative values that the bound follows from; None before there are any."""
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
        process, options = self._process, self._formulation.options
        best = self.incumbent = _best_threshold(process)
        yield
        k = process.system.k
        decisions, price, gap = _initial_policy(process, self._box, best), None, 1.0
        proof: policy_iteration.Bounded | None = None
        rise = STEEP * policy_iteration.second_differences(process)[2]
        while True:
            search = policy_iteration.BoxSearch(process, decisions, price)
            for _ in search.work(max(PRICED * options["tolerance"], ROUGH * gap)):
                self._keep_bound(search.best)
                yield
            if search.diverged:
                larger = int(GROWTH * self._box[0]), self._box[1]
                if _states(k, larger) > options["most"]:
                    return
                begun = _initial_policy(process, larger, best)
                decisions = extend_to_box(proof.decisions, larger) if proof else begun
                self._box = larger
                continue
            self._keep_bound(search.best)
            if search.best is None:
                return
            proof = search.best
            yield from self._evaluate_policy(search.best)
            best = self.incumbent or best
            gap = (best.cost - self._bound) / best.cost
            larger = next_box(search.best, GROWTH if gap < CLOSE else LEAP)
            if gap <= options["tolerance"] or _states(k, larger) > options["most"]:
                return
            price = search.best.prices[1] + rise * (larger[1] - self._box[1])
            decisions, self._box = extend_to_box(search.best.decisions, larger), larger

    def _keep_bound(self, found: policy_iteration.Bounded | None) -> None:
        """Keep a bound if it is better, and consistent with the incumbent."""
        best = self.incumbent
        if found is not None and best is not None and self._bound < found.bound <= best.cost:
            self._bound, self.proof = found.bound, found

    def _evaluate_policy(self, found: policy_iteration.Bounded) -> Stages:
        """Evaluate a box's policy for the system without limits; keep it if it is better."""
        process = self._process
        decisions = make_runnable(found.decisions)
        if decisions is None:
            return
        worth = yield from bound_policy_cost(process, decisions, edge_slopes(found.values))
        best = self.incumbent
        if worth is None or not self._bound <= worth.cost < np.inf:
            return
        if best is not None and worth.cost >= best.cost:
            return
        small_time = _mean_time_of_small(process.system, decisions)
        self.incumbent = Incumbent(decisions, worth.cost, small_time, found.gain)


def service_cost(process: Process) -> float:
    """Return the cost of jobs while they are served: no policy costs less."""
    _, l1, lk, m1, mk = process.system
    return float(process.small_cost * l1 / m1 + process.large_cost * lk / mk)


def smallest_box(k: int) -> tuple[int, int]:
    """Return the smallest box to start from."""
    return 4 * k + 24, 12


def next_box(found: policy_iteration.Bounded, growth: float) -> tuple[int, int]:
    """Return the next box: longer, and as wide as its decisions require."""
    levels, _, width = found.decisions.shape
    turns = _switching_counts(found.decisions).max(axis=1)
    high = int(TRUSTED * (levels - 1))
    low = high // 2
    rise = max((turns[high] - turns[low]) / (high - low), 0.0)
    large = int(growth * (levels - 1))
    needed = WIDE * (turns[high] + rise * (TRUSTED * large - high))
    return int(np.clip(needed, 1.15 * (width - 1), growth * (width - 1))), large


def _states(k: int, box: tuple[int, int]) -> int:
    return (k + 2) * (box[0] + 1) * (box[1] + 1)


def _switching_counts(decisions: Decisions) -> NDArray[np.intp]:
    """Return for how many small jobs waiting one is first started, shape (J + 1, k)."""
    starts = decisions == 1
    last = decisions.shape[2] - 1
    return np.asarray(np.where(starts.any(axis=2), starts.argmax(axis=2), last), np.intp)


def _initial_policy(process: Process, box: tuple[int, int], best: Incumbent) -> Decisions:
    """Return a policy that starts large jobs unless many small ones wait, and drains before it."""
    k = process.system.k
    decisions = np.ones((box[1] + 1, k, box[0] + 1), np.int8)
    decisions[:, :, 0] = 0
    few = min(int(process.system.l1 * best.small_time) + k, box[0] // 2)
    decisions[1:, 1 : (k + 1) // 2 + 1, : min(few, k)] = 0
    decisions[1:, 0, :few] = 2
    return decisions


def extend_to_box(decisions: Decisions, box: tuple[int, int]) -> Decisions:
    """Return a policy for a larger box: its turns go on from the levels that can be trusted."""
    turns = _switching_counts(decisions)
    high = int(TRUSTED * (len(decisions) - 1))
    low = (3 * high) // 5
    rise = (turns[high] - turns[low]) / (high - low)
    out = np.ones((box[1] + 1, decisions.shape[1], box[0] + 1), np.int8)
    i = np.arange(box[0] + 1)
    for j in range(box[1] + 1):
        turn = turns[j] if j <= high else np.rint(turns[high] + rise * (j - high))
        waits = i < turn[:, None]
        waits[:, -1] = False
        out[j][waits] = 0
        if j:
            out[j, 0][waits[0]] = 2
    out[:, :, 0] = 0
    out[1:, 0, 0] = 2
    return out


def make_runnable(decisions: Decisions) -> Decisions | None:
    """Return a box's policy, extended to any number of waiting jobs.

    From half the width on small jobs are always started, and levels above the last that can be
    trusted do as that one does.
    """
    half, last = decisions.shape[2] // 2, int(TRUSTED * (len(decisions) - 1))
    if last < 1:
        return None
    out = decisions[np.minimum(np.arange(len(decisions)), last)].copy()
    out[:, :, half:] = 1
    return out


def _best_threshold(process: Process) -> Incumbent:
    """Return the threshold of MSFQ's lazy variant up to k - 2 that is likely the best, as a policy.

    Of k - 1 it depends on more than the numbers of jobs.
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


def _mean_time_of_small(system: System, decisions: Decisions) -> float:
    """Return the mean response time of small jobs where jobs beyond twice a small box are lost."""
    if decisions.size <= SMALL:
        more = (0, len(decisions)), (0, 0), (0, decisions.shape[2])
        decisions = np.pad(decisions, more, mode="edge")
    equations = Equations(pad_edge(decisions), system)
    running = np.append(np.arange(system.k + 1.0), 0.0)[:, None]
    small = np.broadcast_to(running + np.arange(decisions.shape[2]), equations.shape)
    return equations.solve(small / system.l1)[0]
