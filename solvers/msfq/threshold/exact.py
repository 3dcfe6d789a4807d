"""Exact mean response times of MSFQ at a threshold, without truncation.

Consider the system whenever phase 1 ends: n small jobs are there, and no large job. Until the next
such moment n is replaced by n' with the transform G_n(z) = E[z^n' | n]. For n >= k it is a(z)·σ^n,
so the transform Π of the stationary distribution π satisfies

    Π(z) = a(z)·Π(σ) + Σ_{n<k} π_n·(G_n(z) - a(z)·σ^n),   σ = B_S(s), s = λ_k·(1 - B_L(λ_1·(1-z))),

where B_S and B_L are the transforms of the busy periods of small and of large jobs. Since σ(z)
contracts towards 1, Π is a series that is linear in π_0..π_{k-1}. Its coefficients, by a Fourier
transform on a circle, give k linear equations for π_0..π_{k-1}. The means follow from the balance
of first and second moments. `series` has a table of all symbols.

The lazy variant starts a drain only when a large job arrives. It has one more unknown, y =
E[τ^(n-k+1); n >= k] with τ = B_S(λ_k): the probability that no large job arrives in phase 2.

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
    cycle_means,
    series,
)

if TYPE_CHECKING:
    from schedopt.formulations.msfq import Threshold
    from schedopt.solvers.engine import EngineTask
    from schedopt.solvers.result import Result


Variant = Literal["literal", "lazy"]


def exact(system: System, threshold: int, variant: Variant = "literal") -> tuple[float, float]:
    """Return the mean response times of small and of large jobs at a threshold.

    Parameters
    ----------
    system : System
        A stable one-or-all system.
    threshold : int
        l, from 0 to k - 1.
    variant : {"literal", "lazy"}
        Whether a drain begins at once, or when a large job arrives.

    Returns
    -------
    small, large : float
        In the unit of time of the rates. Infinite where the mean of phase 3 overflows.
    """
    l1, lk, m1, mk = map(np.float64, system[1:])
    point = Point(l1, lk, m1, mk, system.k, threshold, variant == "lazy")
    with np.errstate(all="ignore"):
        pi, y = _stationary(point)
        rewards = cycle_means(point)
        if not np.isfinite(pi).all() or not np.isfinite(rewards[0]).all():
            return np.inf, np.inf
        moments = _moments(system, pi, y, rewards)
        basis = np.array([*moments, y])
        table, tail = rewards
        means = [
            table[i] @ pi + tail[i] @ basis for i in range(QUANTITIES)
        ]  # integrals over a cycle
    cycle = means[0]
    small, large = means[1] / (system.l1 * cycle), means[2] / (system.lk * cycle)
    if not (np.isfinite(small) and np.isfinite(large) and cycle > 0):
        return np.inf, np.inf
    return float(small), float(large)


def exact_curve(system: System, variant: Variant = "literal") -> Curve:
    """Return the exact mean response times at every threshold l = 0..k-1."""
    times = np.array([exact(system, l, variant) for l in range(system.k)])
    return Curve(times[:, 0], times[:, 1], np.ones(system.k, dtype=np.bool_))


def _stationary(point: Point) -> tuple[Any, float]:
    """Return π_0..π_{k-1}, and y (0 in the literal variant)."""
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
    """Return the coefficients and the right side of the equation for y, from Π(τ)."""
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
    """Evaluate every threshold by the method of the model, and return the best."""
    return run_search(model, Enumeration(model, evaluate_stages(model)), task.limits)


class Enumeration(QueueSearch):
    """Evaluation of all thresholds one after the other; it can be stopped after each."""

    def __init__(self, formulation: Threshold, stages: Iterator[int]) -> None:
        self._formulation, self._stages = formulation, stages
        formulation.model.small[:] = formulation.model.large[:] = np.nan

    @property
    def value(self) -> float | None:
        """The best objective so far, None before the first feasible threshold."""
        best = self._formulation.best()
        return None if best is None else float(self._formulation.curve[best])

    @property
    def bound(self) -> float | None:
        """The best objective once all thresholds are evaluated."""
        return self.value if self._done and not self._formulation.changed else None

    @property
    def infeasible(self) -> bool:
        """Whether all thresholds are evaluated and each violates a side constraint."""
        return self._done and self.value is None

    def solution(self) -> Thresholded | None:
        """Return the best threshold so far, None before the first feasible one."""
        best = self._formulation.best()
        return None if best is None else self._formulation.solution(best)

    def holds(self, names: frozenset[str]) -> bool:
        """Return True if a threshold satisfies these side constraints."""
        return bool(self._formulation.kept_thresholds(names).any())


def evaluate_stages(formulation: Threshold) -> Iterator[int]:
    """Evaluate all thresholds, the most promising first, and yield each."""
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
