"""Definition 1 and Lemmas 1 to 5 of the heSRPT paper, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from schedopt.instances.hesrpt import Power
from schedopt.solvers.hesrpt.orders import order_search
from schedopt.validation.reproduce.hesrpt_theorems import (
    PAPER,
    POWERS,
    RANDOM,
    cluster,
    draws,
    worst,
)
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction


def flow_time(sizes: Any, shares: Any, p: float, servers: float, speed: float) -> float:
    """Return the total flow time of fixed shares, freed ones lost, on a system of some speed."""
    left, total, now = np.array(sizes, dtype=float), 0.0, 0.0
    rates = speed * (np.array(shares) * servers) ** p
    running = np.ones(len(left), dtype=bool)
    while running.any():
        step = float((left[running] / rates[running]).min())
        left[running] -= step * rates[running]
        now += step
        ended = running & (left <= 1e-12 * np.array(sizes))
        total += now * ended.sum()
        running &= ~ended
    return total


@reproduction(
    "hesrpt/lemma-1",
    title="Leaving servers idle is like a slower system",
    source=f"{PAPER}, section 3.3 and appendix B, Lemma 1",
    workload=f"{RANDOM} Random shares that leave a part β idle.",
)
def lemma_1(quick: bool) -> Outcome:
    """Play shares that leave a part idle, and shares of all of a slower system."""
    found = []
    for seed, (x, p, servers) in enumerate(draws(quick)):
        draw = np.random.Generator(np.random.PCG64(seed))
        beta = float(draw.uniform(0.05, 0.95))
        parts = draw.dirichlet(np.ones(len(x))) + 1e-3
        shares = (1 - beta) * parts / parts.sum()
        idle = flow_time(x, shares, p, servers, 1.0)
        slow = flow_time(x, shares / (1 - beta), p, servers, (1 - beta) ** p)
        found.append(abs(idle / slow - 1))
    says = "with β idle the flow time is that of a system (1 - β)^p times as fast, fully used"
    return Outcome([Claim(says, "always", worst(found), max(found) < 1e-9)])


def scale_free(quick: bool) -> Any:
    """Yield sizes (last finisher first), p, N, each epoch's ω by job, and the total flow time."""
    for x, p, servers in draws(quick, 6):
        if len(set(x.tolist())) < len(x):
            continue  # with equal sizes the order is not unique
        search = order_search(cluster(x, Power(p=p), servers))
        search.advance(1.0)
        solved = search.solution()
        last_first = sorted(solved.completion, key=lambda name: -solved.completion[name])
        omegas = []
        for epoch in solved.epochs:
            shares = np.array([epoch.share.get(name, 0.0) for name in last_first])
            here = shares > 1e-200
            before = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
            omegas.append(np.where(here, before / np.where(here, shares, 1.0), np.nan))
        sizes = x[[int(name.split("-")[1]) - 1 for name in last_first]]
        yield sizes, p, servers, np.array(omegas), sum(solved.completion.values())


@reproduction(
    "hesrpt/definition-1",
    title="The scale-free constants ω",
    source=f"{PAPER}, section 3.3, Definition 1",
    workload=f"{RANDOM} Distinct sizes; shares by the dual, not by the formula.",
)
def definition_1(quick: bool) -> Outcome:
    """Compare each job's ω over the epochs of its life, and with the optimal constants."""
    spread, formula = [0.0], [0.0]
    for sizes, p, _, omegas, _ in scale_free(quick):
        known = np.isfinite(omegas)
        first = np.where(known[0], omegas[0], 0.0)
        off = np.abs(omegas - first) / np.maximum(first, 1e-300)
        spread.append(float(off[known & (first > 0)].max(initial=0.0)))
        for k in range(2, len(sizes) + 1):
            if known[0][k - 1]:
                right = 1 / np.expm1(np.log(k / (k - 1)) / (1 - p))
                if right > 1e-9:
                    formula.append(abs(first[k - 1] / right - 1))
    says = "what later finishers have, relative to a job, is the same all its life"
    best = "at the optimum ω_k = 1/((k/(k-1))^(1/(1-p)) - 1) (Lemma 3)"
    return Outcome(
        [
            Claim(says, "always", worst(spread), max(spread) < 1e-6),
            Claim(best, "always", worst(formula), max(formula) < 1e-6),
        ]
    )


@reproduction(
    "hesrpt/lemma-2",
    title="The total flow time from the scale-free constants",
    source=f"{PAPER}, section 3.4, Lemma 2",
    workload=f"{RANDOM} Distinct sizes; ω from the first epoch's shares.",
)
def lemma_2(quick: bool) -> Outcome:
    """Compare the expression with the sum of completion times."""
    found = []
    for sizes, p, servers, omegas, total in scale_free(quick):
        if np.isfinite(omegas[0]).all():
            k, w = np.arange(1, len(sizes) + 1), omegas[0]
            by_omega = float((sizes * (k * (1 + w) ** p - (k - 1) * w**p)).sum()) / servers**p
            found.append(abs(by_omega / total - 1))
    says = "T = Σ x_k·(k·s(1 + ω_k) - (k - 1)·s(ω_k)) / s(N)"
    return Outcome([Claim(says, "always", worst(found), max(found) < 1e-7)])


def rising(says: str, values: dict[str, Any], count: int) -> Outcome:
    """Judge whether sequences, by p, increase."""
    least = min(float(np.diff(of).min()) for of in values.values())
    ours = f"the least step up to k = {count} is {least:.1e}, p of {', '.join(values)}"
    k = np.arange(1, 31)
    shown = {f"p = {p}": (k, of[:30] / of[29]) for p, of in values.items()}
    return Outcome([Claim(says, "always", ours, least > 0)], shown, "k", "relative to k = 30")


def constants(p: float, count: int) -> Any:
    """Return ω_1 .. ω_count."""
    k = np.arange(2, count + 1)
    return np.concatenate([[0.0], 1 / np.expm1(np.log(k / (k - 1)) / (1 - p))])


@reproduction(
    "hesrpt/lemma-3",
    title="The constants increase",
    source=f"{PAPER}, appendix C, Lemma 3",
    workload="Computed for k up to 1,000.",
)
def lemma_3(quick: bool) -> Outcome:
    """Look at the steps of ω."""
    del quick
    values = {f"{p:g}": constants(p, 1_000) for p in POWERS}
    return rising("ω_k increases in k", values, 1_000)


@reproduction(
    "hesrpt/lemma-4",
    title="Later finishers have larger shares at the relaxed minimum",
    source=f"{PAPER}, appendix C, Lemma 4",
    workload="Computed for m = 1,000 jobs, as differences of (i/m)^(1/(1-p)) in logarithms.",
)
def lemma_4(quick: bool) -> Outcome:
    """Look at the logarithms of the shares, which for small i and p near 1 underflow."""
    del quick
    i = np.arange(1, 1_001)
    values = {}
    for p in POWERS:
        c = 1 / (1 - p)
        with np.errstate(divide="ignore"):
            logs = c * np.log(i / 1_000) + np.log(-np.expm1(c * np.log1p(-1 / i)))
        values[f"{p:g}"] = logs - logs[0] + 1
    return rising("Θ_i increases in i (its logarithm)", values, 1_000)


@reproduction(
    "hesrpt/lemma-5",
    title="What a unit of size costs increases with the jobs that wait for it",
    source=f"{PAPER}, appendix C, Lemma 5",
    workload="Computed for k up to 1,000.",
)
def lemma_5(quick: bool) -> Outcome:
    """Look at the steps of Δ(k), and compare it with its closed form."""
    del quick
    k, values, off = np.arange(1, 1_001), {}, [0.0]
    for p in POWERS:
        with np.errstate(divide="ignore"):
            values[f"{p:g}"] = k * (-np.expm1(np.log1p(-1 / k) / (1 - p))) ** (1 - p)
        w = constants(p, 60)
        direct = k[:60] * (1 + w) ** p - (k[:60] - 1) * w**p
        off.append(float(np.abs(direct / values[f"{p:g}"][:60] - 1).max()))
    outcome = rising("Δ(k) increases in k", values, 1_000)
    says = "k·s(1 + ω_k) - (k - 1)·s(ω_k) is (k^c - (k-1)^c)^(1-p)"
    same = Claim(says, "always", worst(off), max(off) < 1e-6)
    return Outcome([*outcome.claims, same], outcome.curves, outcome.xlabel, outcome.ylabel)
