"""MSFQ's response times from its Markov chain as it stands, with room for so many jobs.

A state says who has the servers, and who waits. Arrivals that find no room are lost, so there is
made more room until next to none are. Nothing is used but the rule: `exact` is held against this.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from schedopt.formulations.msfq.process import Floats, System
from schedopt.solvers.msfq.searching import run_search
from schedopt.solvers.msfq.threshold.exact import Enumeration

if TYPE_CHECKING:
    from schedopt.formulations.msfq import Threshold
    from schedopt.solvers.engine import EngineTask
    from schedopt.solvers.result import Result

ROOM, GROWTH = 24, 3.0
"""Jobs of each class that there is room for at first, and how much more at most the next time."""
LOST = 1e-12
"""The largest part of time in which there may be no room for a class."""
OPEN, LARGE, DRAIN = range(3)
"""Small jobs have the servers as far as they go, a large job has them, or a drain."""


def solve(model: Threshold, task: EngineTask) -> Result:
    """Evaluate every threshold by the chain, and take the best."""
    return run_search(model, Enumeration(model, curve(model)), task.limits)


def curve(model: Threshold) -> Iterator[int]:
    """Fill in the model's table in order, and yield each threshold."""
    table, system = model.model, model.system
    for l in range(system.k):
        table.small[l], table.large[l] = times(system, l, lazy=model.variant == "lazy")
        yield l


class ChainState(NamedTuple):
    """Who has the servers, the small and large jobs, and how many are left of a drain.

    Of the small ones those of a drain are not counted; of the large ones the one in service is.
    """

    mode: int
    small: int
    large: int
    batch: int = 0


def times(system: System, l: int, *, lazy: bool) -> tuple[float, float]:
    """Return the mean response times of small and of large jobs at a threshold of a stable system.

    With `lazy` a drain waits for a large job.
    """
    room = max(ROOM, system.k), ROOM
    while True:
        states, law = Chain(system, l, lazy, room).stationary_distribution()
        small, large = (np.array([state[i] for state in states]) for i in (1, 2))
        lost = float(law[small == room[0]].sum()), float(law[large == room[1]].sum())
        if max(lost) <= LOST:
            drained = np.array([state.batch for state in states])
            return float(law @ (small + drained) / system.l1), float(law @ large / system.lk)
        room = _sufficient_room(room[0], lost[0]), _sufficient_room(room[1], lost[1])


def _sufficient_room(room: int, lost: float) -> int:
    """Return how much room next to nothing is lost with, if what is lost falls geometrically."""
    if lost <= LOST:
        return room
    return ceil(room * min(1.05 * log(LOST) / log(lost), GROWTH))


class Chain:
    """MSFQ at a threshold with room for so many small and large jobs."""

    def __init__(self, system: System, l: int, lazy: bool, room: tuple[int, int]) -> None:
        self.system, self.l, self.lazy, self.room = system, l, lazy, room

    def moves(self, state: ChainState) -> Iterator[tuple[float, ChainState]]:
        """Yield the rate of each event, and the state that it leads to."""
        k, l1, lk, m1, mk = self.system
        mode, small, large, batch = state
        if small < self.room[0]:
            more = state._replace(small=small + 1)
            yield l1, self._state_after_event(more.small, large) if mode == OPEN else more
        if large < self.room[1]:
            more = state._replace(large=large + 1)
            yield lk, self._state_after_event(small, more.large) if mode == OPEN else more
        if mode == LARGE:
            yield mk, self._state_after_service(small, large - 1)
        elif mode == DRAIN:
            fewer = state._replace(batch=batch - 1)
            yield batch * m1, fewer if batch > 1 else self._state_after_service(small, large)
        elif small:
            yield min(small, k) * m1, self._state_after_event(small - 1, large)

    def _state_after_service(self, small: int, large: int) -> ChainState:
        """Return the state that follows once no job is in service."""
        if large:
            return ChainState(LARGE, small, large)
        if small <= self.l and not self.lazy and small:
            return ChainState(DRAIN, 0, 0, small)
        return ChainState(OPEN, small, 0)

    def _state_after_event(self, small: int, large: int) -> ChainState:
        """Return the state that follows an event which leaves no large job in service."""
        if not small:
            return self._state_after_service(0, large)
        if small <= self.l and (large or not self.lazy):
            return ChainState(DRAIN, 0, large, small)
        return ChainState(OPEN, small, large)

    def stationary_distribution(self) -> tuple[list[ChainState], Floats]:
        """Return all states, and the part of time in each: it is entered as often as left."""
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        states = [ChainState(OPEN, 0, 0)]
        number = {states[0]: 0}
        entries: list[tuple[int, int, float]] = []
        for here, state in enumerate(states):  # grows meanwhile
            for rate, after in self.moves(state):
                there = number.setdefault(after, len(states))
                if there == len(states):
                    states.append(after)
                entries += [(there, here, rate), (here, here, -rate)]
        rows, columns, rates = np.array(entries).T
        count = len(states)
        balance = csc_array((rates, (rows.astype(int), columns.astype(int))), shape=(count, count))
        solved = splu(
            balance[1:, 1:],
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        ).solve(-balance[1:, [0]].toarray().ravel())
        law = np.append(1.0, solved)  # the empty system counts 1
        return states, np.asarray(law / law.sum())
