"""The Markov chain of a policy for a one-or-all system, for few servers and moderate loads."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log
from typing import NamedTuple

import numpy as np

from schedopt.instances.msfq import Instance, OptimalTable

OVERFLOW = 1e-7
"""The probability with which jobs exceed the room of the chain, by a rough estimate."""
LOST = 1e-9
"""The largest fraction of time in which a class may have no room."""
MOST_STATES = 40_000
"""The room of a chain of so many states does not grow."""
State = tuple[int, int, int]
"""Small jobs in service (k + 1: a large job), small jobs and large jobs waiting."""


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

    def objective(self, which: str, small: float, large: float) -> float:
        """Return E[T], or E[T^w] if ``which`` is weighted."""
        a, b = self.l1, self.lk
        if which == "weighted":
            a, b = self.l1 / (self.k * self.m1), self.lk / self.mk
        return (a * small + b * large) / (a + b)


def table_times(
    system: System, table: OptimalTable, room: tuple[int, ...] = ()
) -> tuple[float, float] | None:
    """Return both classes' mean response times under the tables of a policy.

    States are those after decisions; beyond the tables the decision is that at their edge. Arrivals
    without room are lost; the room grows until there are few of these. None if that takes too many
    states.
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    k, l1, lk, m1, mk = system
    first = ceil(log(OVERFLOW) / log(l1 / (k * m1) + lk / mk)) + 2 * k
    room = room or (first, first)

    def decide(c: int, i: int, j: int) -> State:
        while c < k:
            rows = table.at_empty if c == 0 else table.admit[c - 1]
            letter = rows[min(j, table.large_most)][min(i, table.small_most)]
            if letter == "L" and c == 0 and j:
                return k + 1, i, j - 1
            if letter != "S" or not i:
                break
            c, i = c + 1, i - 1
        return c, i, j

    def moves(state: State) -> Iterator[tuple[float, State]]:
        c, i, j = state
        if i < room[0]:
            yield l1, decide(c, i + 1, j)
        if j < room[1]:
            yield lk, decide(c, i, j + 1)
        if c == k + 1:
            yield mk, decide(0, i, j)
        elif c:
            yield c * m1, decide(c - 1, i, j)

    states: list[State] = [(0, 0, 0)]
    number = {states[0]: 0}
    entries: list[tuple[int, int, float]] = []
    for here, state in enumerate(states):  # the list grows in the loop
        for rate, after in moves(state):
            there = number.setdefault(after, len(states))
            if there == len(states):
                states.append(after)
            entries += [(there, here, rate), (here, here, -rate)]
    rows, columns, rates = np.array(entries).T
    balance = csc_array((rates, (rows.astype(int), columns.astype(int))))
    law = np.append(1.0, splu(balance[1:, 1:]).solve(-balance[1:, [0]].toarray().ravel()))
    law /= law.sum()
    c, i, j = np.array(states).T
    full = [law[waiting == most].sum() > LOST for waiting, most in zip((i, j), room, strict=True)]
    if any(full):
        room = tuple(2 * most if more else most for most, more in zip(room, full, strict=True))
        return table_times(system, table, room) if len(states) < MOST_STATES else None
    small, large = law @ (i + np.where(c <= k, c, 0)), law @ (j + (c > k))
    return float(small) / l1, float(large) / lk
