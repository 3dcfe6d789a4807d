"""Value iteration for the optimal policy, on ever larger boxes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from formulations.msfq.optimal import OptimalPolicy
from instances.errors import InputError
from instances.msfq import ClassTime, OptimalTable
from solvers.queues.chain import Box, iterate

GROWTH = 1.5
"""How much longer each box is than the one before."""
SPAN, ROUGH = 1e-7, 2e-6
"""Relative: where value iteration ends, and where on a box that is plainly too small."""
LETTERS = np.array([".", "S", "L"])


def first_box(k: int) -> Box:
    """Return the box to start from: large jobs let small ones gather by the number of servers."""
    return Box(24 + 2 * k, 24)


class ValueIteration:
    """Value iteration on ever larger boxes; can be stopped at any time."""

    infeasible = False

    def __init__(self, formulation: OptimalPolicy) -> None:
        k, most = formulation.system.k, formulation.options["most"]
        if first_box(k).states(k) > most:
            raise InputError(
                "formulation threshold for so many servers, or a larger option most",
                found=f"{k} servers",
                place="servers",
            )
        self._formulation = formulation
        self._gain: tuple[float, float] | None = None  # span bounds on the last finished box
        self._truncation = np.inf
        self._values: Any = None
        self._box = first_box(formulation.system.k)
        self._done = False
        self._small: float | None = None
        self.diverged = False
        system, costs = formulation.system, formulation.model
        busy = costs.small_cost * system.l1 / system.m1, costs.large_cost * system.lk / system.mk
        self._least = sum(busy) * (1 - 1e-9)  # what the jobs in service alone cost
        self._steps = self._work()

    @property
    def value(self) -> float | None:
        """The optimum on the largest box so far."""
        return None if self._gain is None else self._gain[1]

    @property
    def bound(self) -> float | None:
        """What is left when span and truncation are taken off."""
        if self._gain is None or not np.isfinite(self._truncation):
            return None
        return self._gain[0] - self._truncation

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether the box is large enough."""
        began = time.perf_counter()
        while not self._done and time.perf_counter() - began <= seconds:
            if next(self._steps, None) is None:
                self._done = True
        return self._done

    def _work(self) -> Any:
        model, k = self._formulation, self._formulation.system.k
        costs = (model.model.small_cost, model.model.large_cost)
        options = model.options
        box = self._box
        while True:
            start = None if self._values is None else self._box.grown(self._values, box)
            low = high = 0.0
            self.diverged = False
            for values, low, high in iterate(model.system, costs, box, start=start):
                latest = values
                yield True
                if high < self._least:  # less than service takes: the boundary runs away
                    self.diverged = True
                    break
                if high - low <= SPAN * abs(high):
                    break
                if high - low <= ROUGH * abs(high) and self._too_small(high):
                    break
            if not self.diverged:
                if self._gain is not None:
                    self._truncation = abs(high - self._gain[1])
                self._gain, self._values, self._box = (low, high), latest, box
            if not self.diverged and self._truncation <= options["tolerance"] * abs(high):
                return
            box = Box(int(GROWTH * box.small), int(GROWTH * box.large))
            if box.states(k) > options["most"]:
                return

    def _too_small(self, value: float) -> bool:
        """Tell whether the optimum changed too much since the last box for this to be the last."""
        if self._gain is None:
            return True
        enough = float(self._formulation.options["tolerance"]) * abs(value)
        return abs(value - self._gain[1]) > 2.0 * enough

    def solution(self) -> OptimalTable | None:
        """Return the best policy so far, with the response time of each class under it."""
        if self._gain is None:
            return None
        from solvers.queues.optimal_kernels import decisions

        model = self._formulation
        system, table = model.system, decisions(self._values)
        if self._small is None:
            self._small = self._box.evaluate(system, (1.0 / system.l1, 0.0), table, span=1e-5)
        costs = model.model
        large = (self._gain[1] - costs.small_cost * system.l1 * self._small) / (
            costs.large_cost * system.lk
        )
        times = {1: self._small, system.k: float(large)}
        pair = np.array([times[1]]), np.array([times[system.k]])
        return OptimalTable(
            mean_response_time=float(system.mean(*pair)[0]),
            weighted_response_time=float(system.weighted(*pair)[0]),
            classes=tuple(
                ClassTime(need=job.need, mean_response_time=times[job.need])
                for job in model.instance.classes
            ),
            small_most=self._box.small,
            large_most=self._box.large,
            at_empty=_letters(table[0]),
            admit=tuple(_letters(np.minimum(table[c], 1), "-") for c in range(1, system.k)),
            span=self._gain[1] - self._gain[0],
            truncation=float(self._truncation) if np.isfinite(self._truncation) else -1.0,
        )

    def holds(self, names: frozenset[str]) -> bool:
        """Tell that nothing can be in conflict where nothing is asked for."""
        return True


def _letters(decisions: Any, nothing: str = ".") -> tuple[str, ...]:
    """Return decisions, shape (I + 1, J + 1), as a row of letters for each j."""
    letters = np.where(decisions == 0, nothing, LETTERS[decisions])
    return tuple("".join(column) for column in letters.T.tolist())
