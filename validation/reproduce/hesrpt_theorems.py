"""Theorems 1 to 8 of the heSRPT paper, each as numbers on random instances."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Speedup, Table
from schedopt.policies.hesrpt.closed import hesrpt_shares, hesrpt_total
from schedopt.solvers.hesrpt.closed_form import optimum
from schedopt.solvers.hesrpt.makespan import least_makespan
from schedopt.solvers.hesrpt.orders import order_search
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction

PAPER = "Berg, Vesilo and Harchol-Balter, heSRPT, 2019"
RANDOM = "Random instances of up to 8 jobs, ties among them; p from 0.05 to 0.99, N up to 10^6."
POWERS = (0.05, 0.3, 0.5, 0.9, 0.99)


def cluster(sizes: Any, speedup: Speedup | None, servers: int = 10, **more: Any) -> Instance:
    """Build an instance of jobs of these sizes, for the total flow time where nothing is said."""
    own = more.pop("own", [None] * len(sizes))
    jobs = (Job(name=f"job-{i + 1}", size=float(x), speedup=own[i]) for i, x in enumerate(sizes))
    more.setdefault("objective", "total-flow-time")
    return Instance(name="random", servers=servers, speedup=speedup, jobs=tuple(jobs), **more)


def draws(quick: bool, most: int = 8) -> Iterator[tuple[Any, float, int]]:
    """Yield sizes from the largest, p and N."""
    for seed in range(60 if quick else 1_000):
        draw = np.random.Generator(np.random.PCG64(seed))
        count = int(draw.integers(1, most + 1))
        sizes = draw.pareto(1.5, count) + 1 if seed % 2 else draw.integers(1, 4, count)
        servers = int(draw.choice([1, 10, 1_000, 10**6]))
        yield np.sort(sizes.astype(float))[::-1], float(draw.choice(POWERS)), servers


def worst(differences: list[float]) -> str:
    """Return how many instances there were, and the largest relative difference."""
    return f"largest relative difference {max(differences):.1e} in {len(differences)} instances"


@reproduction(
    "hesrpt/theorem-1",
    title="For the makespan all jobs complete together",
    source=f"{PAPER}, section 2, Theorem 1",
    workload=f"{RANDOM} The convex program for the makespan, of speedups that differ as well.",
)
def theorem_1(quick: bool) -> Outcome:
    """Compare the program's optimum with the time at which all can complete together."""
    from schedopt.formulations.hesrpt import Allocation
    from schedopt.solvers.hesrpt.programs import solve_program

    found = []
    for x, p, servers in list(draws(True, 5))[: 20 if quick else 60]:
        own = [Power(p=p), Amdahl(parallel=0.9), Power(p=0.7), Power(p=p), Power(p=p)][: len(x)]
        instance = cluster(x, None, min(servers, 1000), own=own, objective="makespan")
        together, _, _ = least_makespan(instance)
        solved = solve_program(Allocation(instance))
        makespan = max(solved.solution.completion.values()) if solved.solution else np.inf
        found.append(abs(makespan / together - 1))
    says = "no shares have a smaller makespan than those with which all complete together"
    return Outcome([Claim(says, "always", worst(found), max(found) < 1e-5)])


@reproduction(
    "hesrpt/theorem-2",
    title="The least makespan and its shares",
    source=f"{PAPER}, section 2, Theorem 2",
    workload=RANDOM,
)
def theorem_2(quick: bool) -> Outcome:
    """Compare the formula, as printed and corrected, with the root that all shares sum to 1."""
    printed, corrected = [], []
    for x, p, servers in draws(quick):
        least, _, _ = least_makespan(cluster(x, Power(p=p), servers))
        logs = np.log(x) / p
        norm = float(np.exp(p * (logs.max() + np.log(np.exp(logs - logs.max()).sum()))))
        printed.append(abs(norm / least - 1))
        corrected.append(abs(norm / servers**p / least - 1))
    return Outcome(
        [
            Claim("the makespan is ||X||_{1/p}", "always", worst(printed), max(printed) < 1e-9),
            Claim(
                "the makespan is ||X||_{1/p} / s(N)",
                "by its own proof",
                worst(corrected),
                max(corrected) < 1e-9,
            ),
        ]
    )


@reproduction(
    "hesrpt/theorem-3",
    title="Optimal shares do not change between departures",
    source=f"{PAPER}, section 3.2, Theorem 3",
    workload=f"{RANDOM} Any concave speedups.",
)
def theorem_3(quick: bool) -> Outcome:
    """Average shares that change within an epoch: no job may have done less for it."""
    least = np.inf
    kinds = (
        Power(p=0.3),
        Power(p=0.9),
        Amdahl(parallel=0.8),
        Table(points=((1, 1), (4, 3), (9, 4))),
    )
    rounds = 200 if quick else 5_000
    draw = np.random.Generator(np.random.PCG64(1))
    for _ in range(rounds):
        parts, lengths = draw.random(6) * 10, draw.random(6)
        for kind in kinds:
            even = kind.at((parts * lengths).sum() / lengths.sum()) * lengths.sum()
            least = min(least, float(even / (kind.at(parts) * lengths).sum()))
    ours = f"at least {least:.9f} of the work, {rounds} times {len(kinds)} speedups"
    return Outcome([Claim("averaged shares do no less work", "always", ours, least >= 1 - 1e-12)])


@reproduction(
    "hesrpt/theorem-4",
    title="The scale-free property",
    source=f"{PAPER}, section 3.3, Theorem 4",
    workload=f"{RANDOM} Every completion order, optimal for it.",
)
def theorem_4(quick: bool) -> Outcome:
    """Compare a job's share relative to later finishers over its lifetime, by the dual's prices."""
    found = [0.0]
    for x, p, servers in draws(quick, 5):
        instance = cluster(x, Power(p=p), servers)
        epochs = order_search(instance, order=range(len(x)))
        epochs.advance(1.0)
        shares = [epoch.share for epoch in epochs.solution().epochs]
        for before, after in pairwise(shares):
            left = sum(before.get(name, 0.0) for name in after)
            found += [
                abs(before.get(name, 0.0) / left / share - 1)
                for name, share in after.items()
                if share > 1e-200 and left > 0
            ]
    says = "a job's share relative to those that complete later is constant"
    return Outcome([Claim(says, "always", worst(found), max(found) < 1e-9)])


@reproduction(
    "hesrpt/theorem-5",
    title="The optimal completion order is shortest job first",
    source=f"{PAPER}, section 3.4, Theorem 5",
    workload=f"{RANDOM} Up to 6 jobs, all orders, each solved exactly.",
)
def theorem_5(quick: bool) -> Outcome:
    """Compare shortest-first with the best of all orders."""
    found = []
    for x, p, servers in draws(quick, 5 if quick else 6):
        ones = np.ones(len(x))
        best = min(
            optimum(x[list(order)], ones, p, servers).value for order in permutations(range(len(x)))
        )
        found.append(abs(optimum(x, ones, p, servers).value / best - 1))
    says = "no order is better than shortest job first"
    return Outcome([Claim(says, "always", worst(found), max(found) < 1e-12)])


@reproduction(
    "hesrpt/theorem-6",
    title="The optimal shares do not depend on the sizes",
    source=f"{PAPER}, section 3.5, Theorem 6",
    workload=RANDOM,
)
def theorem_6(quick: bool) -> Outcome:
    """Compare the optimal shares of two sets of as many jobs."""
    found = []
    for seed, (x, p, servers) in enumerate(draws(quick)):
        draw = np.random.Generator(np.random.PCG64(10_000 + seed))
        others = np.sort(draw.pareto(1.1, len(x)) + 0.1)[::-1]
        pair = []
        for sizes in (x, others):
            search = order_search(cluster(sizes, Power(p=p), servers))
            search.advance(1.0)
            pair.append(sorted(search.solution().epochs[0].share.values()))
        found.append(max(abs(a - b) for a, b in zip(*pair, strict=True)))
    says = "two sets of as many jobs have the same shares"
    ours = f"largest difference {max(found):.1e} in {len(found)} pairs"
    return Outcome([Claim(says, "always", ours, max(found) < 1e-9)])


@reproduction(
    "hesrpt/theorem-7",
    title="The optimal shares in closed form",
    source=f"{PAPER}, section 3.5, Theorem 7 (Theorem 5 of the summary)",
    workload=f"{RANDOM} The optimum by the dual: one root for each job, no formula.",
)
def theorem_7(quick: bool) -> Outcome:
    """Compare the formula with the shares that the dual's prices ask for."""
    from schedopt.solvers.hesrpt.price_kernels import prices_of
    from schedopt.solvers.hesrpt.prices import curves, levels_of
    from schedopt.solvers.hesrpt.rent_kernels import best_shares

    found = []
    for x, p, servers in draws(quick):
        instance = cluster(x, Power(p=p), servers)
        order, c = np.arange(len(x)), curves(instance)
        lam = prices_of(c, order, levels_of(instance.costs, order))
        shares = np.zeros(len(x))
        best_shares(c, lam, order, len(x), shares)
        found.append(float(np.abs(shares[::-1] - hesrpt_shares(len(x), p)).max()))
    ours = f"largest difference {max(found):.1e} in {len(found)} instances"
    says = "theta_i = (i/m)^(1/(1-p)) - ((i-1)/m)^(1/(1-p))"
    return Outcome([Claim(says, "always", ours, max(found) < 1e-8)])


@reproduction(
    "hesrpt/theorem-8",
    title="The optimal total flow time in closed form",
    source=f"{PAPER}, section 3.1, Theorem 8 (Theorem 6 of the summary)",
    workload=f"{RANDOM} Against the dual's prices and an event simulation of Theorem 7.",
)
def theorem_8(quick: bool) -> Outcome:
    """Compare the formula with the dual bound and with what the shares really make."""
    from schedopt.policies.registry import registered

    dual, played = [], []
    for x, p, servers in draws(quick):
        instance = cluster(x, Power(p=p), servers)
        total = hesrpt_total(x, p, servers)
        search = order_search(instance)
        search.advance(1.0)
        dual.append(abs(float(search.prices() @ x) / total - 1))
        run = registered("hesrpt")["hesrpt"].run(instance)
        played.append(abs(instance.objective_of(run) / total - 1))
    return Outcome(
        [
            Claim("it is the optimum over all policies", "always", worst(dual), max(dual) < 1e-8),
            Claim("it is what heSRPT makes", "always", worst(played), max(played) < 1e-10),
        ]
    )
