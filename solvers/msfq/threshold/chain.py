"""MSFQ's response times from its Markov chain as it stands, with room for so many jobs.

A state says who has the servers, and who waits. Arrivals that find no room are lost, so there is
made more room until next to none are. Nothing is used but the rule: `exact` is held against this.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.process import Floats, System
from schedopt.solvers.msfq.searching import searched
from schedopt.solvers.msfq.threshold.enumeration import Enumeration

if TYPE_CHECKING:
    from schedopt.formulations.msfq import Threshold
    from schedopt.solvers.engine import EngineTask
    from schedopt.solvers.result import Result

States = NDArray[np.intp]
ROOM, GROWTH = 24, 3.0
"""Jobs of each class that there is room for at first, and how much more at most the next time."""
LOST = 1e-12
"""The largest part of time in which there may be no room for a class."""


def solve(model: Threshold, task: EngineTask) -> Result:
    """Evaluate every threshold by the chain, and take the best."""
    return searched(model, Enumeration(model, curve(model)), task.limits)


def curve(model: Threshold) -> Iterator[int]:
    """Fill in the model's table in order, and yield each threshold."""
    table, system = model.model, model.system
    for l in range(system.k):
        table.small[l], table.large[l] = times(system, l, lazy=model.variant == "lazy")
        yield l


def times(system: System, l: int, *, lazy: bool) -> tuple[float, float]:
    """Return the mean response times of small and of large jobs at a threshold of a stable system.

    With `lazy` a drain waits for a large job.
    """
    small, large = max(ROOM, system.k), ROOM
    while True:
        chain = Chain(system, l, lazy, small, large)
        law = chain.law()
        no_small, no_large = (law[chain.full == one].sum() for one in (1, 2))
        if max(no_small, no_large) <= LOST:
            return (
                float(law @ chain.numbers[0] / system.l1),
                float(law @ chain.numbers[1] / system.lk),
            )
        small, large = _enough(small, no_small), _enough(large, no_large)


def _enough(room: int, lost: float) -> int:
    """Return how much room next to nothing is lost with, if what is lost falls geometrically."""
    if lost <= LOST:
        return room
    return ceil(room * min(1.05 * log(LOST) / log(lost), GROWTH))


class Chain:
    """The states of MSFQ with room for so many waiting jobs, and the rates between them.

    In state ``open[n, j]`` there are n small jobs, which have the servers as far as they go, and j
    large ones that wait; ``large[i, j]`` has one of j large jobs in service and i small ones that
    wait; in ``drain[b - 1, i, j]`` the last b of a batch of small jobs are in service while i small
    and j large ones wait. State 0, ``open[0, 0]``, is the empty system. `numbers` are the small and
    large jobs in each state; `full` is 1 where there is no room for a small job, 2 where only a
    large one finds none.
    """

    def __init__(self, system: System, l: int, lazy: bool, small: int, large: int) -> None:
        self._system, self._l, self._lazy = system, l, lazy
        shape = small + 1, large + 1
        size = shape[0] * shape[1]
        self._open, self._large = np.arange(2 * size).reshape(2, *shape)
        self._drain = np.arange(2 * size, (l + 2) * size).reshape(l, *shape)
        i, j = np.indices(shape)
        self.numbers = np.tile([i.ravel(), j.ravel()], l + 2)
        self.numbers[0] += np.repeat([0, 0, *range(1, l + 1)], size)
        self.full = np.tile(np.where(i == small, 1, np.where(j == large, 2, 0)).ravel(), l + 2)
        self._here: list[States] = []
        self._there: list[States] = []
        self._rates: list[Floats] = []
        self._arrivals_and_completions()

    def law(self) -> Floats:
        """Return the part of time in each state: every state is entered as often as left."""
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        here, there = np.concatenate(self._here), np.concatenate(self._there)
        rates = np.concatenate(self._rates)
        count = len(self.full)
        every = np.arange(count)
        balance = csc_array(
            (
                np.concatenate([rates, -np.bincount(here, rates, count)]),
                (np.concatenate([there, every]), np.concatenate([here, every])),
            ),
            shape=(count, count),
        )
        solved = splu(
            balance[1:, 1:],
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        ).solve(-balance[1:, [0]].toarray().ravel())
        law = np.append(1.0, solved)  # the empty system counts 1
        return np.asarray(law / law.sum())

    def _go(self, here: States, there: States, rate: float | Floats) -> None:
        self._here.append(here.ravel())
        self._there.append(np.broadcast_to(there, here.shape).ravel())
        self._rates.append(np.broadcast_to(rate, here.shape).ravel())

    def _arrivals_and_completions(self) -> None:
        k, l1, lk, m1, mk = self._system
        going_on, at_end = self._going_on(), self._at_end()
        empty, open_, large, drain = self._open[:1, :1], self._open, self._large, self._drain
        served = np.minimum(np.arange(1.0, len(open_)), k)[:, None]
        self._go(open_[:-1], going_on[1:], l1)
        self._go(open_[1:, :-1], going_on[1:, 1:], lk)
        self._go(open_[1:], going_on[:-1], served * m1)
        self._go(empty, large[:1, 1:2], lk)
        for states in (large, *drain):
            self._go(states[:-1], states[1:], l1)
            self._go(states[:, :-1], states[:, 1:], lk)
        self._go(large[:, 2:], large[:, 1:-1], mk)
        self._go(large[:, 1], at_end[:, 0], mk)
        for b, states in enumerate(drain, start=1):
            self._go(states, drain[b - 2] if b > 1 else at_end, b * m1)

    def _at_end(self) -> States:
        """Return the state that follows once no job is in service while i and j wait."""
        found = self._large.copy()
        found[:, 0] = self._open[:, 0]
        if not self._lazy:
            found[1 : self._l + 1, 0] = self._batches(0)
        return found

    def _going_on(self) -> States:
        """Return the state that follows an event which leaves n small jobs with the servers."""
        found = self._open.copy()
        found[0] = self._at_end()[0]
        for j in range(1 if self._lazy else 0, found.shape[1]):
            found[1 : self._l + 1, j] = self._batches(j)
        return found

    def _batches(self, j: int) -> States:
        """Return the states in which a drain of 1 to l jobs has just begun."""
        return np.asarray(self._drain[:, 0, j])
