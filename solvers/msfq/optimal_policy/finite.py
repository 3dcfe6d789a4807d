"""A second method: Howard's policy iteration on a finite system, solved by sparse LU.

Arrivals that find no room are lost, which costs less than the infinite system does, by ever less as
there is more room. So ever larger systems are solved: where two agree, that is the optimum.

Source: Puterman, Markov Decision Processes, Wiley 1994, section 8.6.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.process import Process
from schedopt.instances.msfq import OptimalTable
from schedopt.solvers.msfq.optimal_policy.tables import Decisions, as_table
from schedopt.solvers.msfq.searching import QueueSearch, searched

if TYPE_CHECKING:
    from schedopt.formulations.msfq import OptimalPolicy
    from schedopt.solvers.engine import Given
    from schedopt.solvers.result import Result

MOST = 120_000
"""States of the largest system: some seconds' work."""
SIZES = (0.25, 0.35, 0.5, 0.7, 1.0)
"""Room for waiting jobs, as parts of that of the largest system."""
SAME = 5e-7
"""Relative difference of two sizes that counts as none."""
PATIENCE = 60.0
"""Seconds that it may take where no time limit is given."""
Floats = NDArray[np.float64]
States = NDArray[np.intp]


def solve(model: OptimalPolicy, given: Given) -> Result:
    """Return the optimum on which systems of two sizes agree; what others cost is below it."""
    limits = given.limits
    patience = PATIENCE if limits.time_limit is None else limits.time_limit
    return searched(model, FiniteSearch(model), replace(limits, time_limit=patience))


def most_large(k: int) -> int | None:
    """Return how many large jobs may wait in the largest system; None where these are too few."""
    large = round((MOST / ((k + 2) * max(2, k))) ** 0.5)  # a large job is k times a small one
    return None if large < 2 * k else large


class FiniteSearch(QueueSearch):
    """Policy iteration on ever larger systems; stoppable between two systems of equations.

    Of so few servers that `most_large` is known.
    """

    def __init__(self, model: OptimalPolicy) -> None:
        self._model = model
        self._best: tuple[float, Floats, States] | None = None  # cost, mean numbers, decisions
        self._agreed = False
        self._stages = self._work()

    @property
    def value(self) -> float | None:
        """What the optimum costs once two sizes agree: a system that loses arrivals costs less."""
        return self._best[0] if self._best is not None and self._agreed else None

    @property
    def bound(self) -> float | None:
        """The same."""
        return self.value

    @property
    def unproven(self) -> bool:
        """Whether no two sizes agree."""
        return not self._agreed

    def solution(self) -> OptimalTable | None:
        """Return the policy on the largest system, once two sizes agree."""
        if self._best is None or not self._agreed:
            return None
        system, (_, numbers, goes) = self._model.system, self._best
        times = (numbers / [system.l1, system.lk]).tolist()
        return as_table(self._model, _starts(goes, system.k), *times)

    def _work(self) -> Generator[None, None, None]:
        process, k = self._model.model, self._model.system.k
        large = most_large(k) or 0
        for part in SIZES:
            shape = k + 2, round(part * max(2, k) * large), round(part * large)
            before = self._best
            self._best = yield from least(process, shape)
            if before is not None and abs(self._best[0] - before[0]) <= SAME * self._best[0]:
                self._agreed = True
                return


def least(
    process: Process, shape: tuple[int, int, int]
) -> Generator[None, None, tuple[float, Floats, States]]:
    """Find the optimum of a system with room for so many waiting jobs; yields at each step.

    `shape` counts what runs (0..k small jobs, k + 1 for a large one), small and large jobs waiting.
    Returns the long-run cost, the mean numbers of small and large jobs in the system, and for each
    state, as a flat index, the one that decisions lead to.
    """
    running, small, large = np.indices(shape)
    k = process.system.k
    jobs = np.stack([small + np.where(running == k + 1, 0, running), large + (running == k + 1)])
    cost = process.small_cost * jobs[0] + process.large_cost * jobs[1]
    values = small + float(k) * large  # whatever can be started is
    best: tuple[float, Floats, States] | None = None
    while True:
        goes = _best(values, k)
        means, values = _evaluated(process, np.stack([cost, *jobs]), goes)
        if best is not None and means[0] >= best[0] * (1 - 1e-13):
            return best
        best = float(means[0]), means[1:], goes
        yield


def _best(values: Floats, k: int) -> States:
    """Return for each state the state that the best decision leads to, as a flat index."""
    best = values.copy()
    where = np.arange(values.size, dtype=np.intp).reshape(values.shape)
    better = values[k + 1, :, :-1] < best[0, :, 1:]
    best[0, :, 1:] = np.where(better, values[k + 1, :, :-1], best[0, :, 1:])
    where[0, :, 1:] = np.where(better, where[k + 1, :, :-1], where[0, :, 1:])
    for c in range(k - 1, -1, -1):
        better = best[c + 1, :-1] < best[c, 1:]
        best[c, 1:] = np.where(better, best[c + 1, :-1], best[c, 1:])
        where[c, 1:] = np.where(better, where[c + 1, :-1], where[c, 1:])
    return where


def _starts(goes: States, k: int) -> Decisions:
    """Return what is started in each state, from the states that decisions lead to."""
    running = np.unravel_index(goes[:k], goes.shape)[0]
    now = np.arange(k)[:, None, None]
    starts = np.where(running == now, 0, np.where(running == k + 1, 2, 1))
    return np.ascontiguousarray(starts.transpose(2, 0, 1), dtype=np.int8)


def _evaluated(process: Process, sources: Floats, goes: States) -> tuple[Floats, Floats]:
    """Return the long-run mean of each source under some decisions, and the first one's values.

    Sources, per unit of time, have shape (sources, *states).
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    k, l1, lk, m1, mk = process.system
    states = np.arange(goes.size, dtype=np.intp).reshape(goes.shape)
    rows: list[States] = []
    columns: list[States] = []
    rates: list[Floats] = []

    def go(rate: float, here: States, there: States) -> None:
        rows.extend((here.ravel(), here.ravel()))
        columns.extend((there.ravel(), here.ravel()))
        rates.extend((np.full(here.size, rate), np.full(here.size, -rate)))

    go(l1, states[:, :-1], goes[:, 1:])
    go(lk, states[:, :, :-1], goes[:, :, 1:])
    go(l1, states[:, -1], goes[:, -1])  # lost, but time to decide again
    go(lk, states[:, :, -1], goes[:, :, -1])
    go(mk, states[k + 1], goes[0])
    for c in range(1, k + 1):
        go(c * m1, states[c], goes[c - 1])
    row, column, rate = np.concatenate(rows), np.concatenate(columns), np.concatenate(rates)
    kept = column != 0  # the empty system's value is 0; its place is the mean's
    every = np.arange(goes.size)
    matrix = csc_array(
        (
            np.concatenate((rate[kept], np.full(goes.size, -1.0))),
            (
                np.concatenate((row[kept], every)),
                np.concatenate((column[kept], np.zeros_like(every))),
            ),
        )
    )
    solved = splu(matrix).solve(-sources.reshape(len(sources), -1).T)
    means, values = solved[0].copy(), solved[:, 0].copy()
    values[0] = 0.0
    return means, values.reshape(goes.shape)
