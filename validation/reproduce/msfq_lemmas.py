"""Lemmas and theorems of the msfq paper's analysis, compared with simulated cycles.

The formulas are evaluated at the moments and transforms of the simulation. A runner returns pairs
of a formula's value and the simulated one.
"""

from collections.abc import Callable
from functools import cache
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from schedopt.formulations.msfq.threshold import System
from schedopt.solvers.msfq.threshold.approximation import paper
from schedopt.solvers.msfq.threshold.exact import exact
from schedopt.validation.reproduce.cycle_kernels import simulate_cycles, simulate_exceptional_first
from schedopt.validation.reproduce.ledger import Runner, Values

K, L = 8, 4
L1, LK, M1, MK = 4.05, 0.45, 1.0, 1.0
PAIR = System(K, L1, LK, M1, MK)  # nine of ten jobs small, unit sizes, load 0.956


class Cycles(NamedTuple):
    """The result of `simulate_cycles`: arrays by cycle, except ``sums`` and ``counts``."""

    lengths: Any  # total length of each phase, shape (cycles, 4)
    heads: Any  # large jobs at the start of phase 1; small jobs at the end of it
    # Lengths of phases 2, 3 and 4 in the first pass after phase 1, and the large jobs at its end
    # (if there are none, another pass follows in this cycle).
    passes: Any
    whole: Any  # whether the first pass begins with phase 2
    areas: Any  # the integral of the number of jobs in the system
    sums: Any  # response times by phase of arrival (0: idle) and class, shape (5, 2)
    counts: Any  # numbers of these jobs

    def response(self, kind: int, *phases: int) -> float:
        """Return the mean response time of the jobs of a class that arrive in these phases."""
        where = list(phases)
        return float(self.sums[where, kind].sum() / self.counts[where, kind].sum())


@cache
def simulate_cycles_once(quick: bool) -> Cycles:
    """Return simulated cycles; all entries of this module share them."""
    return Cycles(*simulate_cycles(K, L, L1, LK, M1, MK, 150_000 if quick else 1_500_000, 1))


def of_cycles(measure: Callable[[Cycles], Values]) -> Runner:
    """Return a runner of a function of simulated cycles."""
    return lambda quick: measure(simulate_cycles_once(quick))


def busy_period(rate: float, service: float, s: float) -> float:
    """Return the transform of an M/M/1 busy period started by one job."""
    total = rate + service + s
    return (total - sqrt(total * total - 4 * rate * service)) / (2 * rate)


def transform(values: Any, s: float) -> float:
    """Return the mean of exp(-s·value)."""
    return float(np.exp(-s * values).mean())


@of_cycles
def lemma_fractions(run: Cycles) -> Values:
    """Return the fractions of time in each phase, and of arrivals."""
    means, seen = run.lengths.mean(axis=0), run.counts.sum(axis=1)[1:]
    return {"fractions": list(zip(means / means.sum(), seen / seen.sum(), strict=True))}


@of_cycles
def theorem_renewal(run: Cycles) -> Values:
    """Return the reward per time of a cycle with the exact λ·E[T], and how cycles depend."""
    lengths = run.lengths.sum(axis=1)
    small, large = exact(PAIR, L)
    per_cycle = float(run.areas.mean() / lengths.mean())
    return {
        "reward": [(per_cycle, L1 * small + LK * large)],
        "tied": float(np.corrcoef(lengths[:-1], lengths[1:])[0, 1]),
    }


def exceptional_first(
    rate: float, first: tuple[float, float], second: tuple[float, float]
) -> tuple[float, float]:
    """Return mean work and the probability of exceptional service, from moments of S and S'."""
    (s, s2), (e, e2) = first, second
    idle = 1 - rate * s
    work = rate * s2 / (2 * idle) + rate * (e2 - s2) / (2 * (idle + rate * e))
    return work, idle / (idle + rate * e)


def remark_exceptional_first(quick: bool) -> Values:
    """Return the formulas of exceptional first service, and their simulation."""
    work, empty = simulate_exceptional_first(1.0, 0.7, 3.0, 2_000_000 if quick else 50_000_000, 1)
    by_formula = exceptional_first(1.0, (0.7, 2 * 0.7**2), (3.0, 1.5 * 3.0**2))
    return {"work": [(by_formula[0], work)], "empty": [(by_formula[1], empty)]}


def after_batch(rate: float, service: float, counts: Any) -> float:
    """Return the mean response time in a busy period that a batch of ``counts`` jobs starts."""
    mean, square = float(counts.mean()), float((counts**2).mean())
    batch = mean / service, (square + mean) / service**2
    work, first = exceptional_first(rate, (1 / service, 2 / service**2), batch)
    return work / (1 - first)


def large_in_1(run: Cycles) -> float:
    """Return E[T^L_1]."""
    return after_batch(LK, MK, run.heads[:, 0]) + 1 / MK


def small_in_2(run: Cycles) -> float:
    """Return E[T^S_2]."""
    more = run.heads[:, 1] - K + 1
    return after_batch(L1, K * M1, more[more > 0]) + 1 / M1


@of_cycles
def lemma_response_1_2(run: Cycles) -> Values:
    """Return E[T^L_1] and E[T^S_2]."""
    return {
        "large": [(large_in_1(run), run.response(1, 1))],
        "small": [(small_in_2(run), run.response(0, 2))],
    }


def excess_response(spans: Any, load: float, mean: float) -> float:
    """Return (1 + load)·E[D²]/(2·E[D]) + mean."""
    return float((1 + load) * (spans**2).mean() / (2 * spans.mean()) + mean)


def large_else(run: Cycles) -> float:
    """Return E[T^L_{2,3,4}]."""
    return excess_response(run.lengths[:, 1:].sum(axis=1), LK / MK, 1 / MK)


def small_in_4_1(run: Cycles) -> float:
    """Return E[T^S_{1,4}], over a phase 4 and the following phase 1."""
    return excess_response(run.lengths[:-1, 3] + run.lengths[1:, 0], L1 / (K * M1), 1 / M1)


@of_cycles
def lemma_response_excess(run: Cycles) -> Values:
    """Return E[T^L_{2,3,4}] and E[T^S_{1,4}]."""
    return {
        "large": [(large_else(run), run.response(1, 2, 3, 4))],
        "small": [(small_in_4_1(run), run.response(0, 4, 1))],
    }


def small_in_3(falling: bool = True) -> float:
    """Return E[T^S_3]; with ``falling`` C_j follows from C_{j-1} beyond k, as in the proof."""
    visits = {L + 1: (L1 + (L + 1) * M1) / ((L + 1) * M1)}
    for j in range(L + 2, K + 1):
        visits[j] = visits[j - 1] * L1 * (L1 + j * M1) / (j * M1 * (L1 + (j - 1) * M1)) + (
            L1 + j * M1
        ) / (j * M1) * (j <= K - 1)
    for j in range(K + 1, K + 400):
        visits[j] = (visits[j - 1] if falling else visits[K]) * L1 / (K * M1)
    times = {j: c / (L1 + min(K, j) * M1) for j, c in visits.items()}
    seen = {j: (K + max(0, j - K + 1)) / (K * M1) for j in visits}
    return sum(times[j] * seen[j] for j in times) / sum(times.values())


@of_cycles
def lemma_response_3(run: Cycles) -> Values:
    """Return E[T^S_3] as proven and as printed."""
    measured = run.response(0, 3)
    return {
        "falling": [(small_in_3(), measured)],
        "printed": [(small_in_3(falling=False), measured)],
    }


@of_cycles
def remark_busy_periods(run: Cycles) -> Values:
    """Return the busy-period transform at phases 1 with one large job, and its equation."""
    alone = run.lengths[run.heads[:, 0] == 1, 0]
    b = {s: busy_period(LK, MK, s) for s in (0.01, 0.1, 0.5, 2.0, 5.0)}
    return {
        "transform": [(b[s], transform(alone, s)) for s in (0.1, 0.5, 2.0)],
        "equation": [(MK / (MK + s + LK - LK * b[s]), b[s]) for s in (0.01, 0.5, 5.0)],
    }


@of_cycles
def lemma_phase_lengths(run: Cycles) -> Values:
    """Return transforms of the lengths of phases 1 and 2, from their initial numbers of jobs."""
    more = (run.heads[:, 1] - K + 1)[run.whole]
    of_phase: dict[str, Any] = {
        "phase_1": (LK, MK, run.heads[:, 0], run.lengths[:, 0]),
        "phase_2": (L1, K * M1, more, run.passes[run.whole, 0]),
    }
    return {
        phase: [
            (float((busy_period(rate, service, s) ** numbers).mean()), transform(lengths, s))
            for s in (0.02, 0.1, 0.5)
        ]
        for phase, (rate, service, numbers, lengths) in of_phase.items()
    }


@of_cycles
def lemma_phase_numbers(run: Cycles) -> Values:
    """Return transforms of the numbers of jobs, as products of those of the lengths."""
    _, second, third, fourth = run.lengths.T
    first = run.passes[run.whole]
    large, small = [], []
    for z in (0.6, 0.8, 0.95):
        s = LK * (1 - z)
        by_lengths = prod(transform(first[:, phase], s) for phase in range(3))
        large.append((by_lengths, float((z ** first[:, 3]).mean())))
    for z in (0.98, 0.99, 0.995):  # near 1, since there are dozens of small jobs
        s = LK * (1 - busy_period(LK, MK, L1 * (1 - z)))
        by_lengths = transform(second, s) * transform(third, s)
        by_lengths *= transform(fourth, s + L1 * (1 - z))
        small.append((by_lengths, float((z ** run.heads[1:, 1]).mean())))
    return {"large": large, "small": small}


@of_cycles
def lemma_phase_3(run: Cycles) -> Values:
    """Return transforms of the length of phase 3."""
    lengths = []
    for s in (0.1, 0.5, 2.0):
        step, product = busy_period(L1, K * M1, s), 1.0
        for j in range(K - 1, L, -1):
            step = j * M1 / (L1 + j * M1 + s - L1 * step)
            product *= step
        lengths.append((product, transform(run.passes[run.whole, 1], s)))
    return {"length": lengths}


@of_cycles
def lemma_phase_4(run: Cycles) -> Values:
    """Return transforms of the length of phase 4."""
    lengths = run.passes[run.whole, 2]
    pairs = [
        (prod(j * M1 / (j * M1 + s) for j in range(1, L + 1)), transform(lengths, s))
        for s in (0.1, 0.5, 2.0)
    ]
    return {"length": pairs}


@of_cycles
def theorem_summary(run: Cycles) -> Values:
    """Return the mean response time by equation 3 from all lemmas, and exactly."""
    m = run.lengths.mean(axis=0) / run.lengths.mean(axis=0).sum()
    large = large_in_1(run) * m[0] + large_else(run) * m[1:].sum()
    small = small_in_4_1(run) * (m[0] + m[3]) + small_in_2(run) * m[1] + small_in_3() * m[2]
    curve = paper(PAIR)
    by_moments, by_paper, truth = (
        float(L1 * of_small + LK * of_large) / (L1 + LK)
        for of_small, of_large in ((small, large), (curve.small[L], curve.large[L]), exact(PAIR, L))
    )
    return {"played": [(by_moments, truth)], "paper": [(by_paper, truth)]}
