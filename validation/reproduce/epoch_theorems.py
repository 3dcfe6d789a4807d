"""The epoch paper's theorems, and its count of tested assignments."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import drawn_binomial, drawn_uniform, mean_minimum
from schedopt.policies.epoch.kernels import OPT, overheads
from schedopt.validation.reproduce.epoch_shared import EXACT, PAPER, optimum, packed, policy
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction


def classes(most_nodes: int, most_jobs: int) -> Iterator[Instance]:
    """Yield every class of minima, each raised to a power of two; N and J are powers of two."""
    for n in range(most_nodes.bit_length()):
        widths = [1 << i for i in range(n + 1)]
        for j in range(most_jobs.bit_length()):
            for minima in combinations_with_replacement(widths, 1 << j):
                yield packed(minima, 1 << n)


@reproduction(
    "epoch/theorem-1",
    title="BUDDY is optimal where N, J and all widths are powers of two",
    source=f"{PAPER}, section 3.1, Theorem 1",
    workload=f"Every class of minima with N <= 16 and J <= 8 (quick: 8 and 4). {EXACT}",
)
def theorem_1(quick: bool) -> Outcome:
    """Compare BUDDY with the exact optimum on every class."""
    tried = list(classes(8, 4) if quick else classes(16, 8))
    worse = sum(policy("buddy", i) != optimum(i, widths="powers-of-two") for i in tried)
    ours = f"{worse} of {len(tried)} classes differ"
    return Outcome([Claim("BUDDY has the least overhead", "always", ours, worse == 0)])


@reproduction(
    "epoch/theorem-2",
    title="EQUI-EPOCH is optimal among equal allocations where N is a power of two",
    source=f"{PAPER}, section 4.1.1, Theorem 2",
    workload=f"Every class of minima with N <= 16 and J <= 7, and random ones. {EXACT}",
)
def theorem_2(quick: bool) -> Outcome:
    """Compare EQUI-EPOCH with OPT-EPOCH(0)."""
    tried = [
        packed(minima, 1 << n)
        for n in range(3 if quick else 5)
        for jobs in range(1, 6 if quick else 8)
        for minima in combinations_with_replacement([1 << i for i in range(n + 1)], jobs)
    ]
    draw = np.random.Generator(np.random.PCG64(1))
    for _ in range(60 if quick else 600):
        nodes = 1 << int(draw.integers(3, 9))
        minima = draw.integers(1, nodes, int(draw.integers(8, 25)), endpoint=True)
        tried.append(packed(minima.tolist(), nodes))
    worse = sum(policy("equi-epoch", i) != optimum(i) for i in tried)
    ours = f"{worse} of {len(tried)} instances differ"
    other = packed([20] * 10, 140)
    return Outcome(
        [
            Claim("EQUI-EPOCH takes the fewest epochs", "always", ours, worse == 0),
            Claim(
                "not so for other N",
                "Figure 7",
                f"N = 140: {policy('equi-epoch', other) / 140:g} against {optimum(other) / 140:g}",
                policy("equi-epoch", other) > optimum(other),
            ),
        ]
    )


@reproduction(
    "epoch/section-4.2",
    title="How many assignments the search for OPT-EPOCH(1) tests for each epoch it finds",
    source=f"{PAPER}, section 4.2",
    workload=(
        "The paper's grid of 111 experiments is not given: here J, N and the load factor vary, for "
        "uniform and binomial minima, 10,000 trials each (quick: 1,000)."
    ),
)
def section_4_2(quick: bool) -> Outcome:
    """Count assignments that hold the largest job that is left."""
    trials = 1_000 if quick else 10_000
    grid = [
        (nodes, jobs, load, drawn)
        for drawn in (drawn_uniform, drawn_binomial)
        for nodes in (64, 128, 200, 256)
        for jobs in (4, 7, 8, 12, 16, 24, 32)
        for load in (1.0, 2.0)
        if 2 * load * nodes / jobs - 1 <= nodes
    ]
    ratios = []
    for i, (nodes, jobs, load, drawn) in enumerate(grid):
        draw = np.random.Generator(np.random.PCG64(i))
        minima = drawn(draw, nodes, (trials, jobs), mean_minimum(nodes, jobs, load))
        _, tested, epochs = overheads(OPT, -np.sort(-minima, axis=1), nodes, 1)
        ratios.append(float(tested.sum() / epochs.sum()))
    mean, worst = float(np.mean(ratios)), max(ratios)
    return Outcome(
        [
            Claim(
                "on average, of all experiments", "1.08", f"{mean:.2f}", abs(mean - 1.08) <= 0.04
            ),
            Claim(
                "the worst average of an experiment (depends on the grid)",
                "2.98",
                f"{worst:.2f} of {len(grid)} experiments",
                None if worst < 2.98 else True,
            ),
        ]
    )
