"""The msfq paper's analysis, lemma by lemma, against cycles that are played job by job."""

from functools import cache
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from schedopt.formulations.msfq.process import System
from schedopt.solvers.msfq.threshold.approximation import paper
from schedopt.solvers.msfq.threshold.exact import exact
from schedopt.validation.reproduce.cycle_kernels import simulate_cycles, simulate_exceptional_first
from schedopt.validation.reproduce.ledger import Answer, Answers

K, L = 8, 4
L1, LK, M1, MK = 4.05, 0.45, 1.0, 1.0
PAIR = System(K, L1, LK, M1, MK)  # nine of ten jobs small, unit sizes, load 0.956


class Cycles(NamedTuple):
    """What `cycles` returns: arrays by cycle, but for the last two."""

    lengths: Any  # how long each phase lasts in all, shape (cycles, 4)
    heads: Any  # large jobs at the start of phase 1; small jobs at the end of it
    # Lengths of phases 2, 3 and 4 in the first pass after phase 1, and the large jobs at its end
    # (none: then another pass follows before the next cycle).
    passes: Any
    whole: Any  # whether the first pass begins with phase 2
    areas: Any  # the integral of the number of jobs in the system
    sums: Any  # response times by phase of arrival (0: idle) and class, shape (5, 2)
    counts: Any  # how many those are

    def response(self, kind: int, *phases: int) -> float:
        """Return the mean response time of the jobs of a class that arrive in some phases."""
        where = list(phases)
        return float(self.sums[where, kind].sum() / self.counts[where, kind].sum())


@cache
def simulated(quick: bool) -> Cycles:
    """Play cycles, once for all entries of this module."""
    return Cycles(*simulate_cycles(K, L, L1, LK, M1, MK, 150_000 if quick else 1_500_000, 1))


def busy_period(rate: float, service: float, s: float) -> float:
    """Return the transform of an M/M/1 busy period started by one job."""
    total = rate + service + s
    return (total - sqrt(total * total - 4 * rate * service)) / (2 * rate)


def transform(values: Any, s: float) -> float:
    """Return the mean of exp(-s·value)."""
    return float(np.exp(-s * values).mean())


def judge_pairs(most: float, *pairs: tuple[float, float]) -> Answer:
    """Judge formulas beside simulation, pair by pair, by their largest relative difference."""
    shown = ", ".join(f"{formula:.4g} | {found:.4g}" for formula, found in pairs)
    off = max(abs(formula / found - 1) for formula, found in pairs)
    return f"formula | played: {shown}", off <= most


def lemma_fractions(quick: bool) -> Answers:
    """Compare mean lengths with what arrivals see, which is the part of the time."""
    run = simulated(quick)
    means = run.lengths.mean(axis=0)
    found = run.counts.sum(axis=1)[1:]
    pairs = zip(means / means.sum(), found / found.sum(), strict=True)
    return {"fractions": judge_pairs(0.02, *pairs)}


def theorem_renewal(quick: bool) -> Answers:
    """Compare the reward of a cycle over its length with λ·E[T], computed exactly."""
    run = simulated(quick)
    lengths = run.lengths.sum(axis=1)
    per_cycle = float(run.areas.mean() / lengths.mean())
    small, large = exact(PAIR, L)
    tied = float(np.corrcoef(lengths[:-1], lengths[1:])[0, 1])
    told = f"correlation of a cycle's length with the next one's: {tied:.2f}"
    return {
        "reward": judge_pairs(0.1, (per_cycle, L1 * small + LK * large)),
        "tied": (told, tied > 0.1),
    }


def exceptional_first(
    rate: float, first: tuple[float, float], second: tuple[float, float]
) -> tuple[float, float]:
    """Return mean work and the probability of exceptional service, by moments of S and S'."""
    (s, s2), (e, e2) = first, second
    idle = 1 - rate * s
    work = rate * s2 / (2 * idle) + rate * (e2 - s2) / (2 * (idle + rate * e))
    return work, idle / (idle + rate * e)


def remark_exceptional_first(quick: bool) -> Answers:
    """Compare the formulas for mean work and for the part of first jobs with a simulation."""
    work, empty = simulate_exceptional_first(1.0, 0.7, 3.0, 2_000_000 if quick else 50_000_000, 1)
    by_formula = exceptional_first(1.0, (0.7, 2 * 0.7**2), (3.0, 1.5 * 3.0**2))
    return {
        "work": judge_pairs(0.03, (by_formula[0], work)),
        "empty": judge_pairs(0.02, (by_formula[1], empty)),
    }


def batch_service(counts: Any, service: float) -> tuple[float, float]:
    """Return the first two moments of a sum of so many exponential services."""
    mean, square = float(counts.mean()), float((counts**2).mean())
    return mean / service, (square + mean) / service**2


def large_in_1(run: Cycles) -> float:
    """Return E[T^L_1] by the lemma, from moments that were played."""
    work, first = exceptional_first(LK, (1 / MK, 2 / MK**2), batch_service(run.heads[:, 0], MK))
    return work / (1 - first) + 1 / MK


def small_in_2(run: Cycles) -> float:
    """Return E[T^S_2] by the lemma, from moments that were played."""
    more = run.heads[:, 1] - K + 1
    service = (1 / (K * M1), 2 / (K * M1) ** 2)
    work, first = exceptional_first(L1, service, batch_service(more[more > 0], K * M1))
    return work / (1 - first) + 1 / M1


def lemma_response_1_2(quick: bool) -> Answers:
    """Compare the lemma with the response times that were played."""
    run = simulated(quick)
    return {
        "large": judge_pairs(0.03, (large_in_1(run), run.response(1, 1))),
        "small": judge_pairs(0.03, (small_in_2(run), run.response(0, 2))),
    }


def excess_response(spans: Any, load: float, mean: float) -> float:
    """Return (1 + load)·E[D²]/(2·E[D]) + mean."""
    return float((1 + load) * (spans**2).mean() / (2 * spans.mean()) + mean)


def large_else(run: Cycles) -> float:
    """Return E[T^L_{2,3,4}] by the lemma, from moments that were played."""
    return excess_response(run.lengths[:, 1:].sum(axis=1), LK / MK, 1 / MK)


def small_in_4_1(run: Cycles) -> float:
    """Return E[T^S_{1,4}] by the lemma: a phase 4 and the phase 1 after it."""
    return excess_response(run.lengths[:-1, 3] + run.lengths[1:, 0], L1 / (K * M1), 1 / M1)


def lemma_response_excess(quick: bool) -> Answers:
    """Compare the lemma with the response times that were played."""
    run = simulated(quick)
    return {
        "large": judge_pairs(0.03, (large_else(run), run.response(1, 2, 3, 4))),
        "small": judge_pairs(0.05, (small_in_4_1(run), run.response(0, 4, 1))),
    }


def small_in_3(falling: bool = True) -> float:
    """Return E[T^S_3] by the lemma; `falling`: C_j from C_{j-1} beyond k, as its proof has it."""
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


def lemma_response_3(quick: bool) -> Answers:
    """Compare both readings with the response times that were played."""
    found = simulated(quick).response(0, 3)
    readings = {"falling": True, "printed": False}
    return {name: judge_pairs(0.03, (small_in_3(f), found)) for name, f in readings.items()}


def remark_busy_periods(quick: bool) -> Answers:
    """Compare the transform's equation, solved, with phases 1 that begin with one large job."""
    run = simulated(quick)
    alone = run.lengths[run.heads[:, 0] == 1, 0]
    pairs = [(busy_period(LK, MK, s), transform(alone, s)) for s in (0.1, 0.5, 2.0)]
    rest = [
        (MK / (MK + s + LK - LK * busy_period(LK, MK, s)), busy_period(LK, MK, s))
        for s in (0.01, 0.5, 5.0)
    ]
    return {"transform": judge_pairs(0.03, *pairs), "equation": judge_pairs(1e-12, *rest)}


def lemma_phase_lengths(quick: bool) -> Answers:
    """Compare transforms of the phases' lengths with those of their starting numbers."""
    run = simulated(quick)
    more = (run.heads[:, 1] - K + 1)[run.whole]
    first, second = [], []
    for s in (0.02, 0.1, 0.5):
        by_numbers = float((busy_period(LK, MK, s) ** run.heads[:, 0]).mean())
        first.append((by_numbers, transform(run.lengths[:, 0], s)))
        by_numbers = float((busy_period(L1, K * M1, s) ** more).mean())
        second.append((by_numbers, transform(run.passes[run.whole, 0], s)))
    return {"phase-1": judge_pairs(0.03, *first), "phase-2": judge_pairs(0.03, *second)}


def lemma_phase_numbers(quick: bool) -> Answers:
    """Compare transforms of the numbers with products of those of the lengths."""
    run = simulated(quick)
    _, second, third, fourth = run.lengths.T
    large, small = [], []
    for z in (0.6, 0.8, 0.95):
        s = LK * (1 - z)
        first = run.passes[run.whole]
        by_lengths = prod(transform(first[:, phase], s) for phase in range(3))
        large.append((by_lengths, float((z ** first[:, 3]).mean())))
    for z in (0.98, 0.99, 0.995):  # of dozens of small jobs there is more to see near 1
        s = LK * (1 - busy_period(LK, MK, L1 * (1 - z)))
        by_lengths = transform(second, s) * transform(third, s)
        by_lengths *= transform(fourth, s + L1 * (1 - z))
        small.append((by_lengths, float((z ** run.heads[1:, 1]).mean())))
    return {"large": judge_pairs(0.05, *large), "small": judge_pairs(0.05, *small)}


def lemma_phase_3(quick: bool) -> Answers:
    """Compare the recursion with the lengths."""
    run = simulated(quick)
    pairs = []
    for s in (0.1, 0.5, 2.0):
        step, product = busy_period(L1, K * M1, s), 1.0
        for j in range(K - 1, L, -1):
            step = j * M1 / (L1 + j * M1 + s - L1 * step)
            product *= step
        pairs.append((product, transform(run.passes[run.whole, 1], s)))
    return {"length": judge_pairs(0.03, *pairs)}


def lemma_phase_4(quick: bool) -> Answers:
    """Compare the product with the lengths."""
    run = simulated(quick)
    lengths = run.passes[run.whole, 2]
    pairs = [
        (prod(j * M1 / (j * M1 + s) for j in range(1, L + 1)), transform(lengths, s))
        for s in (0.1, 0.5, 2.0)
    ]
    return {"length": judge_pairs(0.03, *pairs)}


def theorem_summary(quick: bool) -> Answers:
    """Put the lemmas together by equation 3, and compare with the exact mean response time."""
    run = simulated(quick)
    m = run.lengths.mean(axis=0) / run.lengths.mean(axis=0).sum()
    large = large_in_1(run) * m[0] + large_else(run) * m[1:].sum()
    small = small_in_4_1(run) * (m[0] + m[3]) + small_in_2(run) * m[1] + small_in_3() * m[2]
    right, curve = exact(PAIR, L), paper(PAIR)
    by_moments, by_paper, truth = (
        float(L1 * of_small + LK * of_large) / (L1 + LK)
        for of_small, of_large in ((small, large), (curve.small[L], curve.large[L]), right)
    )
    return {
        "played": judge_pairs(0.1, (by_moments, truth)),
        "paper": judge_pairs(0.05, (by_paper, truth)),
    }
