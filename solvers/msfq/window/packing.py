"""Prices of servers by need, improved by subgradients, that rule out starts: bounds on few jobs.

Where servers cost the same for all, a machine of 240 sells 240 of them though three jobs of 80 may
not be there. Here each need has prices of its own, and what is taken off a bound is what the jobs
that fit side by side could pay at the most: the prices are the dual of the time-indexed linear
program in which at each time a mix of packings runs (Mingozzi, Maniezzo, Ricciardelli and Bianco,
Management Science 44, 1998). Each job starts between ``first`` and ``last``: in a schedule that is
better than one known, no start may cost its job more than the bound has left. What is ruled out
says who can run when, and who must; with that prices prove more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.log_bound import Ticks, Ticks64
from schedopt.solvers.clock import now
from schedopt.solvers.kernels.subgradient import Ascent
from schedopt.solvers.msfq.window.packing_kernels import pack, respond, use

Floats = NDArray[np.float64]
ROOM = 2**57
MOST_UNIT = 2**10
FEWER = 0.95
"""Prices by need start from this part of prices that are the same for all needs."""


class AscentSettings(NamedTuple):
    """How prices are improved: rounds, the part of the last direction kept, patience, length."""

    rounds: int
    kept: float
    patience: int
    length: float


OPENING = AscentSettings(1000, 0.9, 40, 0.3)
AGAIN = AscentSettings(400, 0.9, 30, 0.1)
TIGHTER = 0.02
"""Starts are ruled out no more once prices close less than this part of the rest of the gap."""


class Packing:
    """Prices by need, and the starts that they leave.

    A schedule better than `known`, a sum of weighted starts, is sought; it is better by `step` at
    least, and its starts are between `first` and `last`. `sizes` are needs, by kind, in units of
    ``shared`` servers, `kind` is each job's, and `room` is what sizes may add up to. `prices`,
    shape (kinds, cells), are the best, in units of 1/`unit` of a tick of waiting at weight 1; they
    prove `total`. `most` and `must`, shape (kinds, cells), count the jobs of a kind that may run in
    a cell, and those that do throughout in any case. Unless `usable`, numbers are too large for all
    this.
    """

    def __init__(self, ticks: Ticks, grid: Ticks64, known: int) -> None:
        self.ticks, self.grid, self.known = ticks, grid, known
        self.lengths = np.diff(grid)
        needs, self.kind = np.unique(ticks.need, return_inverse=True)
        self.shared = int(np.gcd.reduce(needs))
        self.sizes, self.room = needs // self.shared, ticks.servers // self.shared
        self.step = int(np.gcd.reduce(ticks.weight))
        spare = known - int(ticks.weight @ ticks.submit)
        self.first, self.last = ticks.submit.copy(), ticks.submit + spare // ticks.weight
        horizon = max(int(grid[-1]), int(self.last.max())) + int(ticks.run.max())
        self._largest = horizon * int(ticks.weight.sum())
        self.unit = min(MOST_UNIT, 1 << max(0, (ROOM // (4 * self._largest)).bit_length() - 1))
        self.usable = 8 * self._largest < ROOM
        self.prices = np.zeros((len(needs), len(grid) - 1), np.int64)
        self.costs, self.starts = np.zeros_like(ticks.run), np.zeros_like(ticks.run)
        self._kept = np.zeros((len(ticks.run), 2), np.int64)
        self._used, self._chosen = np.zeros(self.prices.shape), np.zeros(self.prices.shape)
        self._values = np.zeros(len(grid) - 1, np.int64)
        self.total = 0
        self._count()

    @property
    def closed(self) -> bool:
        """Whether no schedule is better than the one known."""
        return self.total > self.aim

    @property
    def aim(self) -> int:
        """The most that a better schedule has, in units."""
        return (self.known - self.step) * self.unit

    @property
    def bound(self) -> int:
        """What no schedule has less than, as a sum of weighted starts."""
        return min(self.known, -(-self.total // self.unit))

    def open(self, prices: Floats, until: float) -> None:
        """Start from prices of a server, shape (cells,), and tighten until that gains little."""
        if not self.usable:
            return
        alike = prices * (self.sizes * self.shared)[:, None]
        best, self.total = self.prices, 0
        for start in (np.zeros_like(alike), alike):
            value = self.evaluate(start)
            if value is not None and value >= self.total:
                best, self.total = self._whole(start), value
        self.prices = best
        self._improve(alike * FEWER, OPENING, until)
        while not self.closed and now() < until:
            before = self.total
            self.tighten()
            self._improve(self.prices / self.unit, AGAIN, until)
            if self.total - before <= TIGHTER * (self.aim - before):
                break
        if not self.closed:
            self.tighten()

    def tighten(self) -> None:
        """Rule out the starts that cost more than the bound has left, and count who can run."""
        value = self.evaluate(self.prices / self.unit)
        if value is None or value > self.aim:
            self.total = self.total if value is None else value
            return
        self.evaluate(self.prices / self.unit, self.costs + (self.aim - value))
        if (self._kept < 0).any():
            self.total = self.aim + 1
            return
        self.first, self.last = self._kept[:, 0].copy(), self._kept[:, 1].copy()
        self._count()
        value = self.evaluate(self.prices / self.unit)
        self.total = self.total if value is None else max(self.total, value)

    def evaluate(self, prices: Floats, most: Ticks64 | None = None) -> int | None:
        """Return the bound that prices prove, in units; None where numbers would be too large."""
        ticks = self.ticks
        spent = float((prices * self.lengths).sum(axis=1).max()) * self.unit
        if spent * len(ticks.run) * 4 >= ROOM:
            return None
        whole = self._whole(prices)
        padded, paid = self.summed(whole)
        respond(
            self.first,
            self.last,
            ticks.run,
            ticks.weight * self.unit,
            self.kind,
            self.grid,
            padded,
            paid,
            np.zeros_like(ticks.run) if most is None else most,
            self.costs,
            self.starts,
            self._kept,
        )
        use(self.starts, ticks.run, self.kind, self.grid, self._used)
        pack(padded, self.sizes, self.room, self.most, self.must, self._chosen, self._values)
        if (self._values < 0).any():  # who must run does not fit
            return self.aim + 1
        return int(self.costs.sum()) - int(self._values @ self.lengths)

    def values(self) -> Ticks64:
        """Return what the machine could earn in each cell at the best prices, shape (cells,)."""
        self.evaluate(self.prices / self.unit)
        return self._values.copy()

    def summed(self, whole: Ticks64) -> tuple[Ticks64, Ticks64]:
        """Return prices with those beyond the grid, and what is paid from its first time on."""
        nothing = np.zeros((len(whole), 1), np.int64)
        paid = np.cumsum(whole * self.lengths, axis=1)
        return np.hstack([whole, nothing]), np.hstack([nothing, paid])

    def _whole(self, prices: Floats) -> Ticks64:
        return np.rint(prices * self.unit).astype(np.int64)

    def _count(self) -> None:
        """Count for each cell how many jobs of each kind can run in it, and how many must."""
        self.most, self.must = np.zeros_like(self.prices), np.zeros_like(self.prices)
        run = self.ticks.run
        can = np.searchsorted(self.grid, self.first, "right") - 1
        cannot = np.searchsorted(self.grid, self.last + run, "left")
        begun = np.searchsorted(self.grid, self.last, "left")
        ended = np.searchsorted(self.grid, self.first + run, "right") - 1
        for job, kind in enumerate(self.kind.tolist()):
            self.most[kind, can[job] : cannot[job]] += 1
            if begun[job] < ended[job]:
                self.must[kind, begun[job] : ended[job]] += 1

    def _improve(self, at: Floats, tuned: AscentSettings, until: float) -> None:
        """Improve prices by subgradients, deflected, from some on."""
        lengths, best = self.lengths.astype(np.float64), self.total
        ascent = Ascent(tuned.kept, tuned.patience, tuned.length)
        for _ in range(tuned.rounds):
            value, goes_on = self.evaluate(at), False
            if value is not None:
                goes_on = ascent.goes_on(value > best + 1e-4 * (self.aim - best))
                best = max(best, value)
                if value > self.total:
                    self.total, self.prices = value, self._whole(at)
            if self.closed or now() >= until or ascent.length < 1e-4:
                return
            if value is None or not goes_on:
                ascent.halve()
                at = self.prices / self.unit
                continue
            ahead = (self.known * self.unit - value) / self.unit
            following = ascent.step(at, self._used - self._chosen, lengths, ahead)
            if following is None:
                return
            at = following
