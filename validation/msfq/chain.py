"""Truncated Markov chains of a one-or-all system, solved as sparse linear systems.

Independent of what they check: states are spelled out one by one, arrivals at the boundary are
lost. Only for few servers and moderate loads: at load 0.95 millions of states would be needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil, log, nan
from typing import Any, NamedTuple

import numpy as np

from schedopt.instances.msfq import Instance, OptimalTable

State = tuple[str, int, int, int]
"""Mode, small jobs waiting (when open: in the system), large jobs, small jobs of a closed batch."""
Moves = Callable[[State], Iterator[tuple[float, State]]]
NEGLIGIBLE = 1e-5
MOST_STATES = 60_000


class System(NamedTuple):
    """The raw numbers of an instance."""

    k: int
    l1: float
    lk: float
    m1: float
    mk: float

    @classmethod
    def of(cls, queue: Instance) -> System:
        """Read them from an instance."""
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
    def most(self) -> tuple[int, int]:
        """How many small and large jobs to admit, to begin with."""
        load = self.l1 / (self.k * self.m1) + self.lk / self.mk
        length = ceil(log(NEGLIGIBLE) / log(load))
        return length + 4 * self.k, length + 4

    def objective(self, which: str, small: float, large: float) -> float:
        """E[T] or E[T^w]."""
        a, b = self.l1, self.lk
        if which == "weighted":
            a, b = self.l1 / (self.k * self.m1), self.lk / self.mk
        return (a * small + b * large) / (a + b)


def converged_times(times: Callable[[tuple[int, int]], tuple[float, float]], system: System) -> Any:
    """Return both classes' mean response times on a truncation that is large enough, else None.

    The truncation grows until both times change by less than 2e-5, relatively.
    """
    small, large = system.most
    before = times((small, large))
    while (small := ceil(1.5 * small)) * (large := ceil(1.5 * large)) * system.k < MOST_STATES:
        now = times((small, large))
        if all(abs(a - b) <= 2e-5 * b for a, b in zip(before, now, strict=True)):
            return now
        before = now
    return None


def msfq_times(system: System, l: int, lazy: bool, most: tuple[int, int]) -> tuple[float, float]:
    """Return both classes' mean response times under MSFQ."""
    k, l1, lk, m1, mk = system
    most_small, most_large = most

    def decide(mode: str, n: int, large: int, batch: int) -> State:
        if mode == "open":
            if n == 0:
                mode = "empty"
            elif n <= l and (large or not lazy):
                mode, batch, n = "closed", n, 0
        if mode == "closed" and batch == 0:
            mode = "empty"
        if mode != "empty":
            return mode, n, large, batch
        if large:
            return "large", n, large, 0
        if n == 0:
            return "empty", 0, 0, 0
        if not lazy and n <= l:
            return "closed", 0, 0, n
        return "open", n, 0, 0

    def transitions(state: State) -> Iterator[tuple[float, State]]:
        mode, n, large, batch = state
        if n + batch < most_small:
            yield l1, decide("open" if mode == "empty" else mode, n + 1, large, batch)
        if large < most_large:
            yield lk, decide(mode, n, large + 1, batch)
        if mode == "large":
            yield mk, decide("large" if large > 1 else "empty", n, large - 1, 0)
        elif mode == "open":
            yield min(n, k) * m1, decide("open", n - 1, large, 0)
        elif mode == "closed":
            yield batch * m1, decide("closed", n, large, batch - 1)

    return _response_times(system, transitions)


def table_times(system: System, table: OptimalTable, most: tuple[int, int]) -> tuple[float, float]:
    """Return both classes' mean response times under a policy's table, for few servers.

    A state is what holds after decisions; beyond the table its edge goes on.
    """
    k, l1, lk, m1, mk = system
    most_small, most_large = most

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

    return _response_times(system, transitions, ("small", 0, 0, 0))


def _response_times(
    system: System, moves: Moves, start: State = ("empty", 0, 0, 0)
) -> tuple[float, float]:
    """Solve a chain that always comes back to its start; return both times, by Little's law.

    They are NaN beyond some number of states.
    """
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    states, number = [start], {start: 0}
    rows: list[int] = []
    columns: list[int] = []
    rates: list[float] = []
    for at, state in enumerate(states):  # grows meanwhile
        for rate, target in moves(state):
            to = number.setdefault(target, len(states))
            if to == len(states):
                states.append(target)
            rows += (to, at)
            columns += (at, at)
            rates += (rate, -rate)
        if len(states) > 10 * MOST_STATES:
            return nan, nan
    balance = csc_matrix((rates, (rows, columns)), shape=(len(states), len(states)))
    factors = splu(
        balance[1:, 1:],
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,  # the diagonal dominates
        options={"SymmetricMode": True},
    )
    law = np.append(1.0, factors.solve(-balance[1:, [0]].toarray().ravel()))
    law /= law.sum()
    small = np.array([n + batch for _, n, _, batch in states])
    large = np.array([waiting for _, _, waiting, _ in states])
    return float(law @ small / system.l1), float(law @ large / system.lk)
