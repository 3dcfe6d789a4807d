"""Models of run times, fitted on ended jobs alone.

A model makes a `Draw` of a log and what has ended of it; `run_times` registers it by name.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq.logs import Floats, Jobs

FEW = 20
"""Jobs of a user, or of a size, from which their own past counts."""
RECENT = 200
"""Jobs of a pool that count: the last to end."""

Rows = NDArray[np.intp]


class Draw(Protocol):
    """Draws run times of some rows of a log."""

    def __call__(self, rows: Rows, elapsed: Floats, count: int, seed: int) -> Floats:
        """Return run times longer than what has elapsed, shape (count, rows)."""
        ...


MODELS: dict[str, Callable[[Jobs, Rows], Draw]] = {}
"""By name: a function of a log and the rows that have ended, the last to end last."""


def run_times(name: str) -> Callable[[Callable[[Jobs, Rows], Draw]], Callable[[Jobs, Rows], Draw]]:
    """Register a model under a name."""

    def registered(model: Callable[[Jobs, Rows], Draw]) -> Callable[[Jobs, Rows], Draw]:
        MODELS[name] = model
        return model

    return registered


@run_times("history")
class History:
    """Runs by the user's own past, else by jobs of the same size, else by all.

    What is learned is the ratio of actual to requested time where both are known, else the run
    time. Jobs of one user that ask for the same are drawn alike in a scenario: users submit many
    copies of one program.
    """

    def __init__(self, jobs: Jobs, ended: Rows) -> None:
        self.jobs = jobs
        self._asked = np.ones(len(jobs))
        if jobs.estimate is not None:
            self._asked = np.where(np.isfinite(jobs.estimate), jobs.estimate, 1.0)
        self._rated = np.zeros(len(jobs), dtype=np.bool_)
        if jobs.estimate is not None:
            self._rated = np.isfinite(jobs.estimate)
        self._classes = np.floor(np.log2(jobs.need)).astype(np.int64)
        self._users = np.full(len(jobs), -1) if jobs.user is None else jobs.user.codes
        self._pools: dict[tuple[str, int, bool], Floats] = {}
        for rated in (False, True):
            rows = ended[self._rated[ended] == rated]
            self._learn("all", rows, np.zeros(len(jobs), dtype=np.int64), rated)
            self._learn("size", rows, self._classes, rated)
            self._learn("user", rows, self._users, rated)

    def _learn(self, by: str, rows: Rows, keys: NDArray[np.generic], rated: bool) -> None:
        for key in np.unique(keys[rows]).tolist():
            own = rows[keys[rows] == key][-RECENT:]
            if len(own) >= FEW or by == "all":
                self._pools[by, key, rated] = np.sort(self.jobs.run[own] / self._asked[own])

    def _pool(self, row: int) -> Floats:
        """Return the sorted run times of similar jobs, or their ratios to what was requested."""
        rated = bool(self._rated[row])
        user = int(self._users[row])
        keys = [("user", user), ("size", int(self._classes[row])), ("all", 0)]
        for by, key in keys if user >= 0 else keys[1:]:
            if (by, key, rated) in self._pools:
                return self._pools[by, key, rated]
        return np.empty(0)

    def __call__(self, rows: Rows, elapsed: Floats, count: int, seed: int) -> Floats:
        """Return run times longer than what has elapsed, shape (count, rows)."""
        draw = np.random.Generator(np.random.PCG64(seed))
        alike = list(
            zip(
                self._users[rows].tolist(),
                self.jobs.need[rows].tolist(),
                self._asked[rows].tolist(),
                strict=True,
            )
        )
        known = {key: number for number, key in enumerate(dict.fromkeys(alike))}
        chance = draw.random((count, len(known)))
        runs = np.empty((count, len(rows)))
        for i, row in enumerate(rows.tolist()):
            asked = float(self._asked[row])
            values = self._pool(row) * asked
            longer = values[np.searchsorted(values, elapsed[i], "right") :]
            if not longer.size:  # beyond all known: what was asked, or as long again
                rest = asked - elapsed[i] if self._rated[row] else elapsed[i]
                longer = elapsed[i] + np.linspace(0.05, 1.0, 20) * max(rest, elapsed[i] * 0.05, 1.0)
            at = (chance[:, known[alike[i]]] * longer.size).astype(np.intp)
            runs[:, i] = longer[at]
        return runs


@run_times("requested")
class Requested:
    """Takes requests as run times; a job without one, or beyond it, runs as long again."""

    def __init__(self, jobs: Jobs, ended: Rows) -> None:
        known = jobs.run[ended] if len(ended) else np.ones(1)
        self._asked = np.full(len(jobs), float(known.max()))
        if jobs.estimate is not None:
            self._asked = np.where(np.isfinite(jobs.estimate), jobs.estimate, self._asked)

    def __call__(self, rows: Rows, elapsed: Floats, count: int, seed: int) -> Floats:
        """Return the same run times in each scenario, shape (count, rows)."""
        asked = self._asked[rows]
        runs = np.where(asked > elapsed, asked, 2 * elapsed + 1.0)
        return np.tile(runs, (count, 1))
