"""The Markov chain of a policy for a one-or-all system, solved by matrix-geometric methods.

The chain is truncated in the number of large jobs only: an arrival without room is lost. All states
are enumerated, so the method is for few servers and moderate loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil, log, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Instance, OptimalTable

State = tuple[str, int, int, int]
"""Mode, small jobs waiting, large jobs, small jobs in service."""
Moves = Callable[[State], Iterator[tuple[float, State]]]
Floats = NDArray[np.floating[Any]]
OVERFLOW = 1e-5
"""The probability with which large jobs exceed the first room, by a rough estimate."""
MOST_PHASES = 600
"""The most states with the same number of small jobs."""
CONVERGED = 2e-5
"""The relative change of response times at which the room no longer grows."""
RESIDUAL = 1e-15
"""The probability at which logarithmic reduction ends."""


class System(NamedTuple):
    """A one-or-all system: servers k, arrival rates l1 and lk, service rates m1 and mk."""

    k: int
    l1: float
    lk: float
    m1: float
    mk: float

    @classmethod
    def of(cls, queue: Instance) -> System:
        """Return the system of an instance."""
        jobs = {job.need: job for job in queue.classes}
        small, large = jobs[1], jobs[queue.servers]
        return cls(
            queue.servers,
            small.arrival_rate,
            large.arrival_rate,
            small.service_rate,
            large.service_rate,
        )

    @property
    def room(self) -> int:
        """The largest number of large jobs in the first chain."""
        load = self.l1 / (self.k * self.m1) + self.lk / self.mk
        return ceil(log(OVERFLOW) / log(load)) + 4

    def objective(self, which: str, small: float, large: float) -> float:
        """Return E[T], or E[T^w] if ``which`` is weighted."""
        a, b = self.l1, self.lk
        if which == "weighted":
            a, b = self.l1 / (self.k * self.m1), self.lk / self.mk
        return (a * small + b * large) / (a + b)


def converged_times(system: System, table: OptimalTable) -> tuple[float, float] | None:
    """Return both classes' mean response times with enough room for large jobs, else None.

    The room grows until both times change by less than a relative tolerance.
    """
    room = system.room
    before = table_times(system, table, room)
    while (room := ceil(1.5 * room)) * (system.k + 2) < MOST_PHASES:
        now = table_times(system, table, room)
        if all(abs(a - b) <= CONVERGED * b for a, b in zip(before, now, strict=True)):
            return now
        before = now
    return None


def table_times(system: System, table: OptimalTable, most_large: int) -> tuple[float, float]:
    """Return both classes' mean response times under the tables of a policy, for few servers.

    States are those after decisions. Beyond the tables the decision is that at their edge.
    """
    k, l1, lk, m1, mk = system
    most_small = table.small_most + k + 2

    def letter(c: int, i: int, j: int) -> str:
        rows = table.at_empty if c == 0 else table.admit[c - 1]
        return rows[min(j, table.large_most)][min(i, table.small_most)]

    def decide(c: int, i: int, j: int) -> State:
        while c < k:
            what = letter(c, i, j)
            if what == "L" and c == 0 and j:
                return "large", i, j, 0
            if what != "S" or not i:
                break
            c, i = c + 1, i - 1
        return "small", i, j, c

    def transitions(state: State) -> Iterator[tuple[float, State]]:
        mode, i, j, c = state
        if i + c < most_small:
            yield l1, (mode, i + 1, j, c) if mode == "large" else decide(c, i + 1, j)
        if j < most_large:
            yield lk, (mode, i, j + 1, c) if mode == "large" else decide(c, i, j + 1)
        if mode == "large":
            yield mk, decide(0, i, j - 1)
        elif c:
            yield c * m1, decide(c - 1, i, j)

    return _response_times(transitions, system, ("small", 0, 0, 0))


def _response_times(moves: Moves, system: System, start: State) -> tuple[float, float]:
    """Return both classes' mean response times from the stationary distribution, by Little's law.

    The level of a state is the number of small jobs in the system. It changes by at most one, and
    from the last level but one of ``moves`` on all levels are alike. So the stationary distribution
    of each further level is that of the level before times a matrix R (matrix-geometric). The
    levels below are eliminated one by one, from the highest on. Both times are NaN if there are too
    many states.

    Notes
    -----
    Sources: Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981; Latouche and Ramaswami,
    Journal of Applied Probability 30, 1993 (logarithmic reduction); Gaver, Jacobs and Latouche,
    Advances in Applied Probability 16, 1984 (level reduction).
    """
    levels = _levels(moves, start)
    last = len(levels) - 2
    if max(map(len, levels), default=0) > MOST_PHASES:
        return nan, nan
    place = {state: at for level in levels for at, state in enumerate(level)}
    sizes = [0, *map(len, levels), 0]
    rates = [
        {step: np.zeros((sizes[i], sizes[i + step])) for step in (-1, 0, 1)}
        for i in range(1, len(levels) + 1)
    ]
    for i, level in enumerate(levels):
        for at, state in enumerate(level):
            for rate, target in moves(state):
                rates[i][_level(target) - i][at, place[target]] += rate
                rates[i][0][at, at] -= rate
    repeated = _rate_matrix(rates[last][1], rates[last][0], rates[last + 1][-1])
    upward = [repeated]  # R of each level, from the last one on
    for i in range(last, 0, -1):
        rates[i][0] += upward[-1] @ rates[i + 1][-1]
        upward.append(np.linalg.solve(-rates[i][0].T, rates[i - 1][1].T).T)
    balance = (rates[0][0] + upward[-1] @ rates[1][-1]).T
    balance[0] = 1.0  # one balance equation is redundant
    law = [np.linalg.solve(balance, np.eye(len(balance))[0])]
    for matrix in upward[:0:-1]:
        law.append(law[-1] @ matrix)
    beyond = np.linalg.solve((np.eye(len(repeated)) - repeated).T, law[-1])  # levels last, ...
    later = np.linalg.solve((np.eye(len(repeated)) - repeated).T, beyond @ repeated)
    law[-1] = beyond
    total = sum(float(part.sum()) for part in law)
    small = sum(i * float(part.sum()) for i, part in enumerate(law)) + float(later.sum())
    large = sum(
        float(part @ [state[2] for state in level])
        for part, level in zip(law, levels, strict=False)
    )
    return small / total / system.l1, large / total / system.lk


def _level(state: State) -> int:
    """Return the number of small jobs in the system."""
    return state[1] + state[3]


def _levels(moves: Moves, start: State) -> list[list[State]]:
    """Return the reachable states by level, in the same order of modes in each level."""
    states, known = [start], {start}
    for state in states:  # the list grows in the loop
        for _, target in moves(state):
            if target not in known:
                known.add(target)
                states.append(target)
    levels: list[list[State]] = [[] for _ in range(max(map(_level, states)) + 1)]
    for state in sorted(states, key=lambda state: (state[0], state[2], state[3])):
        levels[_level(state)].append(state)
    return levels


def _rate_matrix(up: Floats, local: Floats, down: Floats) -> Floats:
    """Return the least R >= 0 with up + R·local + R²·down = 0, by logarithmic reduction."""
    one = np.eye(len(local))
    higher, lower = np.linalg.solve(-local, up), np.linalg.solve(-local, down)
    first, rest = lower.copy(), higher.copy()  # G: where the level below is entered first
    while rest.max() > RESIDUAL:
        back = one - higher @ lower - lower @ higher
        higher, lower = np.linalg.solve(back, higher @ higher), np.linalg.solve(back, lower @ lower)
        first += rest @ lower
        rest = rest @ higher
    return np.linalg.solve(-(local + up @ first).T, up.T).T
