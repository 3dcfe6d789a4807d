"""The Markov decision process behind `OptimalPolicy`: states, events, decisions, cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from schedopt.formulations.msfq.system import System


class State(NamedTuple):
    """What a one-or-all system looks like between two events.

    Attributes
    ----------
    running : int
        Small jobs in service, 0..k; k + 1 says that a large job is.
    small, large : int
        Jobs of each class that wait.
    """

    running: int
    small: int
    large: int


@dataclass
class Process:
    """Minimise the long-run cost per unit of time over all nonpreemptive policies.

    After each event small jobs may be started, one by one, while a server is free; a large job may
    be started on empty servers. What may be started may also be left waiting.

    Attributes
    ----------
    system : System
        The rates.
    small_cost, large_cost : float
        What a job of each class costs for each unit of time that it is in the system.
    """

    system: System
    small_cost: float
    large_cost: float

    def cost(self, state: State) -> float:
        """Return the cost per unit of time in a state."""
        large_runs = state.running == self.system.k + 1
        small = state.small + (0 if large_runs else state.running)
        return self.small_cost * small + self.large_cost * (state.large + large_runs)

    def events(self, state: State) -> Iterator[tuple[float, State]]:
        """Yield the rate of each event and the state that it leaves to be decided on."""
        k, l1, lk, m1, mk = self.system
        running, small, large = state
        yield l1, State(running, small + 1, large)
        yield lk, State(running, small, large + 1)
        if running == k + 1:
            yield mk, State(0, small, large)
        elif running:
            yield running * m1, State(running - 1, small, large)

    def decisions(self, state: State) -> Iterator[State]:
        """Yield each state that decisions can lead to at one instant, the same state first."""
        k = self.system.k
        running, small, large = state
        yield state
        if running == 0 and large:
            yield State(k + 1, small, large - 1)
        if running <= k:
            for more in range(1, min(k - running, small) + 1):
                yield State(running + more, small - more, large)
