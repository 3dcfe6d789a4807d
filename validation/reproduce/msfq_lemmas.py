"""The msfq paper's analysis, lemma by lemma, against cycles that are played job by job."""

from __future__ import annotations

from functools import cache
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from schedopt.formulations.msfq.system import System
from schedopt.solvers.msfq.threshold.approximation import paper
from schedopt.solvers.msfq.threshold.exact import exact
from schedopt.validation.reproduce.cycle_kernels import cycles, exceptional
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction
from schedopt.validation.reproduce.msfq_figures import PAPER

K, L = 8, 4
L1, LK, M1, MK = 4.05, 0.45, 1.0, 1.0
PLAYED = (
    "k = 8, l = 4, nine of ten jobs small, unit sizes, load 0.956: cycles played job by job, "
    "without the formulas."
)
ASSUMED = f"{PLAYED} The paper assumes that no phase is skipped; here 7% of cycles skip one."


class Played(NamedTuple):
    """What `cycles` returns."""

    lengths: Any
    heads: Any
    passes: Any
    whole: Any
    areas: Any
    sums: Any
    counts: Any


@cache
def played(quick: bool, seed: int = 1) -> Played:
    """Play cycles, once for all entries of this module."""
    wanted = 150_000 if quick else 1_500_000
    return Played(*cycles(K, L, L1, LK, M1, MK, wanted, seed))


def busy(rate: float, service: float, s: float) -> float:
    """Return the transform of an M/M/1 busy period started by one job."""
    total = rate + service + s
    return (total - sqrt(total * total - 4 * rate * service)) / (2 * rate)


def transform(values: Any, s: float) -> float:
    """Return the mean of exp(-s·value)."""
    return float(np.exp(-s * values).mean())


def agree(says: str, pairs: list[tuple[float, float]], most: float, stated: str = "") -> Claim:
    """Judge formulas beside simulation, pair by pair, by their largest relative difference."""
    shown = ", ".join(f"{theirs:.4g} | {ours:.4g}" for theirs, ours in pairs)
    off = max(abs(theirs / ours - 1) for theirs, ours in pairs)
    ours = f"formula | played: {shown}"
    return Claim(says, stated or "equal", ours, off <= most)


@reproduction(
    "msfq/lemma-fractions",
    title="The part of the time that each phase takes",
    source=f"{PAPER}, section 5.3, lemma on m_i",
    workload=f"{PLAYED} The part is taken from the phases that arrivals find.",
)
def fractions(quick: bool) -> Outcome:
    """Compare mean lengths with what arrivals see, which is the part of the time."""
    run = played(quick)
    means = run.lengths.mean(axis=0)
    found = run.counts.sum(axis=1)[1:]
    pairs = list(zip(means / means.sum(), found / found.sum(), strict=True))
    return Outcome([agree("m_i is E[H_i] over the sum of all", pairs, 0.02)])


@reproduction(
    "msfq/theorem-renewal",
    title="Rewards over time, though cycles are not independent",
    source=f"{PAPER}, section 5.3 and appendix A, extended renewal reward theorem",
    workload=f"{PLAYED} The reward is the integral of the number of jobs; Little's law and the "
    "exact mean response time say what it comes to per unit of time.",
)
def renewal(quick: bool) -> Outcome:
    """Compare the reward of a cycle over its length with λ·E[T], computed exactly."""
    run = played(quick)
    per_cycle = float(run.areas.mean() / run.lengths.sum(axis=1).mean())
    small, large = exact(System(K, L1, LK, M1, MK), L)
    lengths = run.lengths.sum(axis=1)
    tied = float(np.corrcoef(lengths[:-1], lengths[1:])[0, 1])
    return Outcome(
        [
            agree("E[R]/E[X] is the reward over time", [(per_cycle, L1 * small + LK * large)], 0.1),
            Claim(
                "a long cycle makes for another long one",
                "so cycles are no renewals",
                f"correlation of a cycle's length with the next one's: {tied:.2f}",
                tied > 0.1,
            ),
        ]
    )


def efs(
    rate: float, first: tuple[float, float], second: tuple[float, float]
) -> tuple[float, float]:
    """Return mean work and the probability of exceptional service, by moments of S and S'."""
    (s, s2), (e, e2) = first, second
    idle = 1 - rate * s
    work = rate * s2 / (2 * idle) + rate * (e2 - s2) / (2 * (idle + rate * e))
    return work, idle / (idle + rate * e)


@reproduction(
    "msfq/remark-exceptional-first",
    title="M/G/1 with exceptional first service",
    source=f"{PAPER}, section 5.3, remark on EFS systems",
    workload="Exponential sizes of mean 0.7, first ones Erlang-2 of mean 3, rate 1; played.",
)
def exceptional_first(quick: bool) -> Outcome:
    """Compare the formulas for mean work and for the part of first jobs with a simulation."""
    work, empty = exceptional(1.0, 0.7, 3.0, 2_000_000 if quick else 50_000_000, 1)
    by_formula = efs(1.0, (0.7, 2 * 0.7**2), (3.0, 1.5 * 3.0**2))
    return Outcome(
        [
            agree("mean work in the system", [(by_formula[0], work)], 0.03),
            agree("how many jobs arrive at an empty system", [(by_formula[1], empty)], 0.02),
        ]
    )


def started(counts: Any, service: float) -> tuple[float, float]:
    """Return the first two moments of a sum of so many exponential services."""
    mean, square = float(counts.mean()), float((counts**2).mean())
    return mean / service, (square + mean) / service**2


def large_in_1(run: Played) -> float:
    """Return E[T^L_1] by the lemma, from moments that were played."""
    work, first = efs(LK, (1 / MK, 2 / MK**2), started(run.heads[:, 0], MK))
    return work / (1 - first) + 1 / MK


def small_in_2(run: Played) -> float:
    """Return E[T^S_2] by the lemma, from moments that were played."""
    more = run.heads[:, 1] - K + 1
    service = (1 / (K * M1), 2 / (K * M1) ** 2)
    work, first = efs(L1, service, started(more[more > 0], K * M1))
    return work / (1 - first) + 1 / M1


def response(run: Played, kind: int, *phases: int) -> float:
    """Return the mean response time of the jobs of a class that arrive in some phases."""
    where = list(phases)
    return float(run.sums[where, kind].sum() / run.counts[where, kind].sum())


@reproduction(
    "msfq/lemma-response-1-2",
    title="Large jobs that arrive in phase 1, small ones in phase 2",
    source=f"{PAPER}, section 5.3, lemma on T^L_1 and T^S_2; corrected: E[N2 - k + 1 services]",
    workload=f"{PLAYED} The lemma with the moments that were played.",
)
def response_1_2(quick: bool) -> Outcome:
    """Compare the lemma with the response times that were played."""
    run = played(quick)
    return Outcome(
        [
            agree("E[T^L_1]", [(large_in_1(run), response(run, 1, 1))], 0.03),
            agree("E[T^S_2]", [(small_in_2(run), response(run, 0, 2))], 0.03),
        ]
    )


def excess(spans: Any, load: float, mean: float) -> float:
    """Return (1 + load)·E[D²]/(2·E[D]) + mean."""
    return float((1 + load) * (spans**2).mean() / (2 * spans.mean()) + mean)


def large_else(run: Played) -> float:
    """Return E[T^L_{2,3,4}] by the lemma, from moments that were played."""
    return excess(run.lengths[:, 1:].sum(axis=1), LK / MK, 1 / MK)


def small_in_4_1(run: Played) -> float:
    """Return E[T^S_{1,4}] by the lemma: a phase 4 and the phase 1 after it."""
    return excess(run.lengths[:-1, 3] + run.lengths[1:, 0], L1 / (K * M1), 1 / M1)


@reproduction(
    "msfq/lemma-response-excess",
    title="Large jobs that arrive in phases 2 to 4, small ones in phases 4 and 1",
    source=f"{PAPER}, section 5.3, lemma on T^L_{{2,3,4}} and T^S_{{1,4}}",
    workload=f"{ASSUMED} The lemma with the moments that were played.",
)
def response_excess(quick: bool) -> Outcome:
    """Compare the lemma with the response times that were played."""
    run = played(quick)
    return Outcome(
        [
            agree("E[T^L_{2,3,4}]", [(large_else(run), response(run, 1, 2, 3, 4))], 0.03),
            agree("E[T^S_{1,4}]", [(small_in_4_1(run), response(run, 0, 4, 1))], 0.05),
        ]
    )


def small_in_3(falling: bool = True) -> float:
    """Return E[T^S_3] by the lemma; `falling`: C_j from C_{j-1} beyond k, as its proof has it."""
    visits = {L + 1: (L1 + (L + 1) * M1) / ((L + 1) * M1)}
    for j in range(L + 2, K + 1):
        visits[j] = (
            visits[j - 1] * L1 * (L1 + j * M1) / (j * M1 * (L1 + (j - 1) * M1))
            + (L1 + j * M1) / (j * M1) * (j <= K - 1)
        )  # fmt: skip
    for j in range(K + 1, K + 400):
        visits[j] = (visits[j - 1] if falling else visits[K]) * L1 / (K * M1)
    times = {j: c / (L1 + min(K, j) * M1) for j, c in visits.items()}
    seen = {j: (K + max(0, j - K + 1)) / (K * M1) for j in visits}
    return sum(times[j] * seen[j] for j in times) / sum(times.values())


@reproduction(
    "msfq/lemma-response-3",
    title="Small jobs that arrive in phase 3",
    source=f"{PAPER}, section 5.3, lemma on T^S_3",
    workload=f"{PLAYED} As printed, visits to a state beyond k do not fall off, and the sum has no "
    "limit; its proof has them fall by λ_1/(k·μ_1) from one state to the next.",
)
def response_3(quick: bool) -> Outcome:
    """Compare both readings with the response times that were played."""
    ours = response(played(quick), 0, 3)
    return Outcome(
        [
            agree("E[T^S_3], visits falling as in the proof", [(small_in_3(), ours)], 0.03),
            agree("E[T^S_3] as printed (its first 400 states)", [(small_in_3(False), ours)], 0.03),
        ]
    )


@reproduction(
    "msfq/remark-busy-periods",
    title="Busy periods of one class alone",
    source=f"{PAPER}, section 5.4, remark on busy periods",
    workload=f"{PLAYED} Phases 1 that begin with a single large job are busy periods of one.",
)
def busy_periods(quick: bool) -> Outcome:
    """Compare the transform's equation, solved, with those phases."""
    run = played(quick)
    alone = run.lengths[run.heads[:, 0] == 1, 0]
    pairs = [(busy(LK, MK, s), transform(alone, s)) for s in (0.1, 0.5, 2.0)]
    rest = [(MK / (MK + s + LK - LK * busy(LK, MK, s)), busy(LK, MK, s)) for s in (0.01, 0.5, 5.0)]
    return Outcome(
        [
            agree("the transform at s = 0.1, 0.5 and 2", pairs, 0.03),
            agree("it solves the remark's equation", rest, 1e-12),
        ]
    )


@reproduction(
    "msfq/lemma-phase-lengths",
    title="Phases 1 and 2 are busy periods",
    source=f"{PAPER}, section 5.4, lemma on H_1 and H_2; corrected: phase 2 has services S_1/k",
    workload=f"{PLAYED} The lemma with the numbers of jobs that were played.",
)
def phase_lengths(quick: bool) -> Outcome:
    """Compare transforms of the phases' lengths with those of their starting numbers."""
    run = played(quick)
    more = run.heads[:, 1] - K + 1
    first, second = [], []
    for s in (0.02, 0.1, 0.5):
        by_numbers = float((busy(LK, MK, s) ** run.heads[:, 0]).mean())
        first.append((by_numbers, transform(run.lengths[:, 0], s)))
        by_numbers = float((busy(L1, K * M1, s) ** more[run.whole]).mean())
        second.append((by_numbers, transform(run.passes[run.whole, 0], s)))
    return Outcome(
        [
            agree("H_1 at s = 0.02, 0.1 and 0.5", first, 0.03),
            agree("H_2 at the same", second, 0.03),
        ]
    )


@reproduction(
    "msfq/lemma-phase-numbers",
    title="How many jobs there are when phases 1 and 2 begin",
    source=f"{PAPER}, section 5.4, lemma on N^L_1 and N^S_2",
    workload=f"{ASSUMED} The lemma with the lengths that were played; N^L_1 at the end of a drain, "
    "be it none.",
)
def phase_numbers(quick: bool) -> Outcome:
    """Compare transforms of the numbers with products of those of the lengths."""
    run = played(quick)
    _, second, third, fourth = run.lengths.T
    large, small = [], []
    for z in (0.6, 0.8, 0.95):
        s = LK * (1 - z)
        first = run.passes[run.whole]
        by_lengths = prod(transform(first[:, phase], s) for phase in range(3))
        large.append((by_lengths, float((z ** first[:, 3]).mean())))
    for z in (
        0.98,
        0.99,
        0.995,
    ):  # there are dozens of small ones: nearer to 1 there is more to see
        s = LK * (1 - busy(LK, MK, L1 * (1 - z)))
        by_lengths = transform(second, s) * transform(third, s)
        by_lengths *= transform(fourth, s + L1 * (1 - z))
        small.append((by_lengths, float((z ** run.heads[1:, 1]).mean())))
    return Outcome(
        [
            agree("N^L_1 at z = 0.6, 0.8 and 0.95", large, 0.05),
            agree("N^S_2 at z = 0.98, 0.99 and 0.995", small, 0.05),
        ]
    )


@reproduction(
    "msfq/lemma-phase-3",
    title="How long phase 3 lasts",
    source=f"{PAPER}, section 5.4, lemma on H_3; corrected: H_{{3,k}} is a busy period of S_1/k",
    workload=f"{PLAYED} Of passes that begin with phase 2.",
)
def phase_3(quick: bool) -> Outcome:
    """Compare the recursion with the lengths."""
    run = played(quick)
    pairs = []
    for s in (0.1, 0.5, 2.0):
        step, product = busy(L1, K * M1, s), 1.0
        for j in range(K - 1, L, -1):
            step = j * M1 / (L1 + j * M1 + s - L1 * step)
            product *= step
        pairs.append((product, transform(run.passes[run.whole, 1], s)))
    return Outcome([agree("H_3 at s = 0.1, 0.5 and 2", pairs, 0.03)])


@reproduction(
    "msfq/lemma-phase-4",
    title="How long phase 4 lasts",
    source=f"{PAPER}, section 5.4, lemma on H_4",
    workload=f"{PLAYED} Of passes that begin with phase 2.",
)
def phase_4(quick: bool) -> Outcome:
    """Compare the product with the lengths."""
    run = played(quick)
    pairs = [
        (
            prod(j * M1 / (j * M1 + s) for j in range(1, L + 1)),
            transform(run.passes[run.whole, 2], s),
        )
        for s in (0.1, 0.5, 2.0)
    ]
    return Outcome([agree("H_4 at s = 0.1, 0.5 and 2", pairs, 0.03)])


@reproduction(
    "msfq/theorem-summary",
    title="The mean response time from moments of phases and numbers alone",
    source=f"{PAPER}, section 5, summary theorem and equation 3",
    workload=f"{ASSUMED} Once with the moments that were played, once with the paper's own.",
)
def summary(quick: bool) -> Outcome:
    """Put the lemmas together by equation 3, and compare with the exact mean response time."""
    run = played(quick)
    m = run.lengths.mean(axis=0) / run.lengths.mean(axis=0).sum()
    large = large_in_1(run) * m[0] + large_else(run) * m[1:].sum()
    small = small_in_4_1(run) * (m[0] + m[3]) + small_in_2(run) * m[1] + small_in_3() * m[2]
    pair = System(K, L1, LK, M1, MK)
    right, curve = exact(pair, L), paper(pair)
    lam = L1 + LK
    truth = (L1 * right[0] + LK * right[1]) / lam
    theirs = float(L1 * curve.small[L] + LK * curve.large[L]) / lam
    return Outcome(
        [
            agree(
                "E[T] with moments that were played",
                [((L1 * small + LK * large) / lam, truth)],
                0.1,
            ),
            agree("E[T] with the paper's moments", [(theirs, truth)], 0.05, "an approximation"),
        ]
    )
