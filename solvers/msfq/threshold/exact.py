"""MSFQ's response times exactly, without truncation, for one threshold.

Look at the system at the ends of phase 1: n small jobs, no large ones. Until the next such moment n
goes over into n' with transform G_n(z) = E[z^n' | n]. From n >= k on it is a(z)·σ^n, so that the
stationary transform Π satisfies

    Π(z) = a(z)·Π(σ) + Σ_{n<k} π_n·(G_n(z) - a(z)·σ^n),   σ = B_S(s), s = λ_k·(1 - B_L(λ_1·(1-z))),

with B_S and B_L the transforms of the busy periods. Since σ(z) contracts towards 1, Π is a series
that is linear in π_0..π_{k-1}; its coefficients, by Fourier transform on a circle, give k linear
equations for them. Means then follow from the balance of first and second moments.

The lazy variant waits for a large job before it drains. What it adds is one more unknown, the mean
y = E[τ^(n-k+1); n >= k] with τ = B_S(λ_k): whether a large job came in phase 2.

This goes beyond the paper, which assumes n >= k (section 5.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from schedopt.formulations.msfq.process import Curve, System
from schedopt.instances.msfq import Thresholded
from schedopt.solvers.msfq.searching import QueueSearch, run_search
from schedopt.solvers.msfq.threshold import approximation
from schedopt.solvers.msfq.threshold.series import (
    QUANTITIES,
    Point,
    busy_gap,
    circle,
    rewards_of,
    series,
)

if TYPE_CHECKING:
    from schedopt.formulations.msfq import Threshold
    from schedopt.solvers.engine import EngineTask
    from schedopt.solvers.result import Result


Variant = Literal["literal", "lazy"]


def exact(system: System, threshold: int, variant: Variant = "literal") -> tuple[float, float]:
    """Return the mean response times of small and of large jobs at a threshold of a stable system.

    They are infinite where phase 3 takes longer than floating point can tell. The lazy variant
    waits for a large job before it drains.
    """
    l1, lk, m1, mk = map(np.float64, system[1:])
    point = Point(l1, lk, m1, mk, system.k, threshold, variant == "lazy")
    with np.errstate(all="ignore"):
        pi, y = _stationary(point)
        rewards = rewards_of(point)
        if not np.isfinite(pi).all() or not np.isfinite(rewards[0]).all():
            return np.inf, np.inf
        moments = _moments(system, pi, y, rewards)
        basis = np.array([*moments, y])
        table, tail = rewards
        means = [table[i] @ pi + tail[i] @ basis for i in range(QUANTITIES)]  # over a cycle
    cycle = means[0]
    small, large = means[1] / (system.l1 * cycle), means[2] / (system.lk * cycle)
    if not (np.isfinite(small) and np.isfinite(large) and cycle > 0):
        return np.inf, np.inf
    return float(small), float(large)


def exact_curve(system: System, variant: Variant = "literal") -> Curve:
    """Return the exact response times at every l = 0..k-1."""
    times = np.array([exact(system, l, variant) for l in range(system.k)])
    return Curve(times[:, 0], times[:, 1], np.ones(system.k, dtype=np.bool_))


def _stationary(point: Point) -> tuple[Any, float]:
    """Solve for π_n, n < k, and for y (0 where not lazy)."""
    k, lazy = point.k, point.lazy
    radius, count, _ = circle(k)
    free, terms = series(point)
    spectrum = np.conj(np.column_stack([free, terms]))
    values = np.fft.irfft(spectrum, count, axis=0)  # coefficients times radius^n
    powers = radius ** -np.arange(k)
    rows = values[:k] * powers[:, None]  # π_m = rows[m, 0] + Σ rows[m, 1+n]·unknown_n
    unknowns = k + 1 if lazy else k
    matrix = np.eye(unknowns)
    right = np.zeros(unknowns)
    matrix[:k] -= rows[:, 1 : 1 + unknowns]
    right[:k] = rows[:, 0]
    if lazy:
        matrix[k], right[k] = _row_of_y(point)
    solved = np.linalg.solve(matrix, right)
    return solved[:k], float(solved[k]) if lazy else 0.0


def _row_of_y(point: Point) -> Any:
    """Return the row and right side that fix y, from Π(τ)."""
    k = point.k
    tau_gap = busy_gap(point.lk, point.l1, k * point.m1)
    free, terms = series(point, float(tau_gap))
    row = -terms[0, : k + 1].real
    row[:k] += (1.0 - tau_gap) ** np.arange(k)
    row[k] += (1.0 - tau_gap) ** (k - 1)
    return row, free[0].real


def _moments(system: System, pi: Any, y: float, rewards: Any) -> tuple[float, float, float]:
    """Return P, E[M] and E[M²] of M = n - k + 1 over n >= k, from the balance of moments."""
    k = system.k
    table, tail = rewards
    n = np.arange(k)
    rest = 1.0 - pi.sum()
    first, second = tail[3], tail[4]  # of A, the time in which the next small jobs gather
    l1 = system.l1
    known = l1 * (table[3] @ pi + first[0] * rest + first[3] * y)
    m1 = (known - n @ pi - (k - 1) * rest) / (1.0 - l1 * first[1])
    # E[n²] = E[n] + λ_1²·E[A²]
    left = (n * n) @ pi + (k - 1) ** 2 * rest + 2 * (k - 1) * m1
    mean = n @ pi + (k - 1) * rest + m1
    known = l1 * l1 * (table[4] @ pi + second[0] * rest + second[1] * m1 + second[3] * y)
    m2 = (mean + known - left) / (1.0 - l1 * l1 * second[2])
    return rest, m1, m2


def solve(model: Threshold, task: EngineTask) -> Result:
    """Evaluate every threshold by the model's method, and take the best."""
    return run_search(model, Enumeration(model, evaluate_stages(model)), task.limits)


class Enumeration(QueueSearch):
    """Fill in a formulation's table anew, one threshold after the other; stoppable at any time."""

    def __init__(self, formulation: Threshold, stages: Iterator[int]) -> None:
        self._formulation, self._stages = formulation, stages
        formulation.model.small[:] = formulation.model.large[:] = np.nan

    @property
    def value(self) -> float | None:
        """The best objective so far."""
        best = self._formulation.best()
        return None if best is None else float(self._formulation.curve[best])

    @property
    def bound(self) -> float | None:
        """The best objective, once all thresholds are evaluated."""
        return self.value if self._done and not self._formulation.changed else None

    @property
    def infeasible(self) -> bool:
        """Whether every threshold was looked at, and none keeps the side constraints."""
        return self._done and self.value is None

    def solution(self) -> Thresholded | None:
        """Return the best so far."""
        best = self._formulation.best()
        return None if best is None else self._formulation.solution(best)

    def holds(self, names: frozenset[str]) -> bool:
        """Tell whether some threshold keeps these side constraints."""
        return bool(self._formulation.kept_thresholds(names).any())


def evaluate_stages(formulation: Threshold) -> Iterator[int]:
    """Fill in the table, yielding the threshold after each step."""
    model, system = formulation.model, formulation.system
    quick = approximation.paper if formulation.method == "paper" else approximation.area
    curve = quick(system)
    if formulation.method != "exact":
        model.small[:], model.large[:], model.assumption_ok[:] = curve
        yield system.k - 1
        return
    likely = np.argsort(formulation.objective(curve.small, curve.large), kind="stable")
    for l in likely.tolist():
        model.small[l], model.large[l] = exact(system, l, formulation.variant)
        yield l
