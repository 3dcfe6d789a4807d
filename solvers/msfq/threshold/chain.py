"""Mean response times of MSFQ from its truncated Markov chain.

A state holds the jobs in service and the jobs that wait. Arrivals without room are lost, and the
room grows until next to none are. The chain uses only the definition of the policy, so it is an
independent check of `exact`.
"""

from collections.abc import Iterator
from math import ceil, log
from typing import NamedTuple

import numpy as np

from schedopt.formulations.msfq.threshold import Floats, System

FIRST_ROOM = 24
"""The largest number of jobs of each class in the first chain."""
LOST = 1e-12
"""The largest fraction of time in which a class may have no room."""
OPEN, LARGE, DRAIN = range(3)
"""Modes: small jobs start on idle servers, a large job runs, or a drain of small jobs runs."""


class ChainState(NamedTuple):
    """A state: the mode, small jobs (without a drain's), large jobs, and the jobs of a drain."""

    mode: int
    small: int
    large: int
    batch: int = 0


def response_times(system: System, l: int) -> tuple[float, float]:
    """Return both classes' mean response times at a threshold of a stable system."""
    room = [max(FIRST_ROOM, system.k), FIRST_ROOM]
    while True:
        states, law = stationary_distribution(Chain(system, l, room))
        jobs = np.array([(state.small, state.large) for state in states])
        lost = [float(law[jobs[:, i] == room[i]].sum()) for i in (0, 1)]
        if max(lost) <= LOST:
            drained = np.array([state.batch for state in states])
            small, large = law @ jobs
            return float(small + law @ drained) / system.l1, float(large) / system.lk
        # If losses fall geometrically with the room, this is enough.
        room = [
            ceil(r * min(1.05 * log(LOST) / log(p), 3.0)) if p > LOST else r
            for r, p in zip(room, lost, strict=True)
        ]


class Chain(NamedTuple):
    """The Markov chain of MSFQ at a threshold, with room for limited numbers of jobs."""

    system: System
    l: int
    room: list[int]

    def moves(self, state: ChainState) -> Iterator[tuple[float, ChainState]]:
        """Yield the rate of each event, and the state that follows."""
        k, l1, lk, m1, mk = self.system
        mode, small, large, batch = state
        if small < self.room[0]:
            more = state._replace(small=small + 1)
            yield l1, self._after_event(more.small, large) if mode == OPEN else more
        if large < self.room[1]:
            more = state._replace(large=large + 1)
            yield lk, self._after_event(small, more.large) if mode == OPEN else more
        if mode == LARGE:
            yield mk, self._after_service(small, large - 1)
        elif mode == DRAIN:
            fewer = state._replace(batch=batch - 1)
            yield batch * m1, fewer if batch > 1 else self._after_service(small, large)
        elif small:
            yield min(small, k) * m1, self._after_event(small - 1, large)

    def _after_service(self, small: int, large: int) -> ChainState:
        """Return the state that follows when no job is in service."""
        if large:
            return ChainState(LARGE, small, large)
        if 0 < small <= self.l:
            return ChainState(DRAIN, 0, 0, small)
        return ChainState(OPEN, small, 0)

    def _after_event(self, small: int, large: int) -> ChainState:
        """Return the state that follows an event after which no large job is in service."""
        if not small:
            return self._after_service(0, large)
        if small <= self.l:
            return ChainState(DRAIN, 0, large, small)
        return ChainState(OPEN, small, large)


def stationary_distribution(chain: Chain) -> tuple[list[ChainState], Floats]:
    """Return all states and their stationary distribution, from the balance equations."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    states = [ChainState(OPEN, 0, 0)]
    number = {states[0]: 0}
    entries: list[tuple[int, int, float]] = []
    for here, state in enumerate(states):  # the list grows in the loop
        for rate, after in chain.moves(state):
            there = number.setdefault(after, len(states))
            if there == len(states):
                states.append(after)
            entries += [(there, here, rate), (here, here, -rate)]
    rows, columns, rates = np.array(entries).T
    balance = csc_array((rates, (rows.astype(int), columns.astype(int))))
    solved = splu(
        balance[1:, 1:],
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    ).solve(-balance[1:, [0]].toarray().ravel())
    law = np.append(1.0, solved)  # the empty system has weight 1
    return states, np.asarray(law / law.sum())
