"""Relative values of a system of several classes on a box, and beyond it by a quadratic.

With n jobs in the system, s of them in service, values are

    h(s, n) = V(s, min(n, N)) + a·n + n·Q·n/2,

N being the box. What is started changes s alone, so that decisions beyond the box are those at its
edge. Cost and expected change are linear there in each n_d from N_d + 1 on, with the slope

    c_d + Σ_c (λ_c - s_c·μ_c)·Q_cd;

where none of these is below 0 it suffices to look at n <= N + 1. Their least then bounds the cost
of every policy from below: see `validation.msfq.class_bellman`, which looks again. Any a serves,
and any such Q: they are prices of what is beyond the box. Q is a part of the quadratic that is
largest where slopes allow it; a is corrected until V goes level at the edges.

States are swept one after the other (Gauss-Seidel), forwards and backwards in turn.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.process import ClassProcess
from schedopt.solvers.msfq.optimal_policy import class_kernels as kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AT_ONCE = 400_000
"""Values that are corrected between two looks at the clock."""
LOOK, SWEEPS, EARLY = 10, 800, 200
"""Sweeps between two looks at what is open, at most, and until the gain is corrected gently."""
LEAST = 0.02
"""The part of a correction of the gain that is made at least."""
SLACK = 1e-9


@dataclass
class Shape:
    """Where values are known, and how they go on: the box N, the prices a and the bends Q."""

    box: Ints
    prices: Floats
    bends: Floats

    @property
    def states(self) -> int:
        """Numbers of jobs in the system that are told apart."""
        return prod(int(n) + 1 for n in self.box)

    @property
    def strides(self) -> Ints:
        """How far apart states are of one job more."""
        whole = np.cumprod((self.box + 1)[::-1])[::-1]
        return np.append(whole[1:], 1).astype(np.int64)

    def quadratic(self) -> Floats:
        """Return a·n + n·Q·n/2 on the box, shape (states, 1)."""
        axes = np.meshgrid(*[np.arange(n + 1.0) for n in self.box], indexing="ij")
        n = np.stack([axis.ravel() for axis in axes], axis=1)
        return np.asarray(n @ self.prices + 0.5 * ((n @ self.bends) * n).sum(axis=1))[:, None]


def steps(services: Ints) -> tuple[Ints, Ints]:
    """Return what is in service after a start and after a completion, -1 where that cannot be."""
    known = {tuple(s): q for q, s in enumerate(services.tolist())}
    up, down = np.full(services.shape, -1), np.full(services.shape, -1)
    for s, q in known.items():
        for c in range(len(s)):
            other = known.get((*s[:c], s[c] + 1, *s[c + 1 :]))
            if other is not None:
                up[q, c], down[other, c] = other, q
    return up, down


def steepest(process: ClassProcess, jobs: Floats) -> Floats:
    """Return the Q without slopes below 0 that makes n·Q·n largest at some n, shape (C, C)."""
    from scipy.optimize import linprog

    count = len(jobs)
    pairs = [(c, d) for c in range(count) for d in range(c, count)]
    drift = process.services * process.rates - process.arrivals
    rows = np.zeros((len(drift), count, len(pairs)))
    for at, (c, d) in enumerate(pairs):
        rows[:, d, at] += drift[:, c]
        if c != d:
            rows[:, c, at] += drift[:, d]
    worth = [-(1 + (c != d)) * jobs[c] * jobs[d] for c, d in pairs]
    limits = np.tile(process.costs, (len(drift), 1))
    found = linprog(worth, rows.reshape(-1, len(pairs)), limits.ravel(), bounds=(0, None))
    bends = np.zeros((count, count))
    if found.x is not None:
        for value, (c, d) in zip(found.x, pairs, strict=True):
            bends[c, d] = bends[d, c] = max(value, 0.0)
    return bends


class Values:
    """Values on a box, being corrected; `start` are values on a smaller box."""

    def __init__(self, process: ClassProcess, shape: Shape, start: Values | None = None) -> None:
        self.shape = shape
        drift = process.arrivals - process.services * process.rates
        both = process.arrivals + process.services * process.rates
        self.values = np.zeros((shape.states, len(process.services)))
        self.box = kernels.Box(
            self.values,
            shape.box,
            shape.strides,
            process.services,
            *steps(process.services),
            process.arrivals,
            process.rates,
            slopes=np.maximum(process.costs + drift @ shape.bends, 0.0),
            constants=drift @ shape.prices + 0.5 * both @ np.diag(shape.bends),
            leaving=both.sum(axis=1),
        )
        self.gain, self.bound = 0.0, -np.inf
        self.proven = self.values
        if start is not None:
            self._begin(start)

    def _begin(self, start: Values) -> None:
        old, new = start.shape, self.shape
        places = [np.minimum(np.arange(n + 1), m) for n, m in zip(new.box, old.box, strict=True)]
        laid = start.values.reshape(*(old.box + 1), -1)
        self.values[:] = laid[np.ix_(*places)].reshape(self.values.shape)
        before = Shape(new.box, old.prices, old.bends)
        self.values += before.quadratic() - new.quadratic()
        self.gain = start.gain

    def improve(self, tolerance: float, floor: float) -> Generator[None, None, None]:
        """Correct values until the bounds on the gain of the box are within a relative tolerance.

        Values of a bound above `floor` are kept in ``proven``.
        """
        last = before = np.inf
        part = 1.0
        for step in range(SWEEPS):
            yield from self._swept(backwards=step % 2 == 1, update=True)
            if step % LOOK != LOOK - 1:
                continue
            low, high = yield from self._swept(backwards=False, update=False)
            if high - low > before:  # the gain overshoots
                part = max(0.5 * part, LEAST)
            before = high - low
            if low > self.bound:
                self.bound = low
                if low > floor:
                    self.proven = self.values.copy()
            if high - low <= tolerance * abs(high):
                break
            middle = 0.5 * (low + high)
            self.gain += part * (1.0 if step < EARLY else 0.5) * (middle - self.gain)
            self.values -= self.values[0, 0]
            if step % 100 == 99:
                if high - low > 0.95 * last:
                    break
                last = high - low

    def _swept(
        self, *, backwards: bool, update: bool
    ) -> Generator[None, None, tuple[float, float]]:
        states, ways = self.values.shape
        found = np.array([np.inf, -np.inf])
        here, fresh = np.zeros(len(self.shape.box), np.int64), np.zeros(ways)
        begins = list(range(0, states, part := max(1, AT_ONCE // ways)))
        for begin in reversed(begins) if backwards else begins:
            end = min(begin + part, states)
            kernels.sweep(self.box, self.gain, begin, end, backwards, update, here, fresh, found)
            yield
        return float(found[kernels.LOW]), float(found[kernels.HIGH])

    def edges(self, jobs: Floats) -> Floats:
        """Return the increments of V at each edge, with some jobs of the others, shape (C,)."""
        box = self.shape.box
        usual = np.minimum(np.rint(jobs).astype(np.int64), box - 1)
        strides = self.shape.strides
        at = int(usual @ strides) + (box - usual) * strides
        return np.asarray(self.values[at, 0] - self.values[at - strides, 0])
