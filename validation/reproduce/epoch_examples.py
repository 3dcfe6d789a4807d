"""The epoch paper's tables, worked examples and theorems, and its count of tested assignments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from instances.epoch import Instance
from instances.epoch.generators import (
    GENERATORS,
    drawn_binomial,
    drawn_uniform,
    mean_minimum,
    named,
)
from policies.epoch.kernels import OPT, overheads
from policies.registry import NotApplicableError, registered
from solvers import Limits
from validation.reproduce.ledger import Claim, Outcome, reproduction

PAPER = "McCann and Zahorjan, TR 94-10-05, 1994"
EXACT = "Solved exactly by CP-SAT."


def packed(minima: Sequence[int], nodes: int, inequity: int = 0) -> Instance:
    """Return an instance of these minima."""
    jobs = named(minima)
    return Instance(name="example", nodes=nodes, inequity=inequity, jobs=jobs)


def policy(name: str, instance: Instance) -> float:
    """Return the overhead that a policy gets."""
    return instance.objective_of(registered("epoch")[name].run(instance))


def optimum(instance: Instance, **options: Any) -> float:
    """Return the least overhead of epochs; with ``widths``, of rectangles of such widths."""
    from formulations.epoch import Partition, Rectangles
    from solvers import cpsat

    model: Any = Rectangles(instance, **options) if options else Partition(instance)
    result = cpsat.solve(model, Limits(threads=1), bound=model.bound())
    if not result.proven or result.objective is None:
        raise RuntimeError(f"{instance.name} was not solved to optimality")
    return result.objective


# --- tables -----------------------------------------------------------------------------------

TABLE_1 = (8, 128, 2_144, 21_527, 144_055, 692_693, 2_560_378)


@reproduction(
    "epoch/table-1",
    title="In how many ways N = 128 nodes can be cut, by the inequity k",
    source=f"{PAPER}, section 4.2, Table 1",
    workload="Counted by dynamic programming, without minima.",
)
def table_1(quick: bool) -> Outcome:
    """Count multisets of positive parts that sum to 128 and differ by k at most."""
    del quick
    counts = [_cuts(128, k) for k in range(len(TABLE_1))]
    claims = [
        Claim(f"cuts with inequity {k}", f"{paper:,}", f"{ours:,}", ours == paper)
        for k, (paper, ours) in enumerate(zip(TABLE_1, counts, strict=True))
    ]
    x = list(range(len(counts)))
    return Outcome(claims, {"cuts": (x, counts)}, "inequity k", "cuts of 128 nodes")


def _cuts(nodes: int, inequity: int) -> int:
    """Count by the smallest part: it is there, and others are up to k larger."""
    total = 0
    for least in range(1, nodes + 1):
        ways = [0] * (nodes + 1)
        ways[least] = 1
        for part in range(least, min(least + inequity, nodes) + 1):
            for size in range(part, nodes + 1):
                ways[size] += ways[size - part]
        total += ways[nodes]
    return total


@reproduction(
    "epoch/table-2",
    title="What the policies are restricted to, and whether they are optimal and efficient",
    source=f"{PAPER}, section 4.4, Table 2",
    workload="Each cell tried on random instances, or shown by an instance.",
)
def table_2(quick: bool) -> Outcome:
    """Try every cell."""
    seeds = range(10 if quick else 60)
    claims = []
    for name, label, cells in _TABLE_2:
        found = (
            *_restrictions(name, seeds),
            _optimal(name, seeds),
            _efficient(name),
        )
        for head, paper, (ours, agrees) in zip(_HEADS, cells, found, strict=True):
            claims.append(Claim(f"{label}: {head}", paper, ours, agrees == paper))
    return Outcome(claims)


_HEADS = ("restricted to N = 2^n", "to J = 2^j", "to equal allocations", "optimal", "efficient")
_TABLE_2 = (
    ("buddy", "BUDDY", ("yes", "yes", "yes", "yes", "yes")),
    ("buddy-star", "BUDDY*", ("yes", "no", "yes", "no", "yes")),
    ("hybrid", "HYBRID(k)", ("yes", "no", "partially", "no", "yes")),
    ("equi-epoch", "EQUI-EPOCH", ("no", "no", "yes", "if N = 2^n", "yes")),
    ("paper-search", "OPT-EPOCH(k)", ("no", "no", "no", "yes", "no")),
    ("heuristic-epoch", "HEURISTIC(k)", ("no", "no", "no", "no", "yes")),
)


def _restrictions(name: str, seeds: range) -> list[tuple[str, str]]:
    """Tell whether a policy runs for other N, for other J, and whether areas are equal."""
    runs = {}
    for what, nodes, jobs in (("nodes", 24, 8), ("jobs", 32, 11)):
        try:
            for seed in seeds:
                policy(name, GENERATORS["uniform"](seed, nodes=nodes, jobs=jobs))
            runs[what] = ("runs for others", "no")
        except NotApplicableError as reason:
            runs[what] = (str(reason), "yes")
    kinds: set[str] = set()
    for seed in seeds:
        instance = GENERATORS["uniform"](seed, nodes=32, jobs=8 if name == "buddy" else 11)
        kinds.update(_equal(registered("epoch")[name].run(instance), instance))
    some = {"equal": "all areas equal", "unequal": "areas differ", "both": "some areas differ"}
    kind = "both" if len(kinds) > 1 and name == "hybrid" else max(kinds)
    return [
        *runs.values(),
        (some[kind], {"equal": "yes", "unequal": "no", "both": "partially"}[kind]),
    ]


def _equal(solution: Any, instance: Instance) -> Iterator[str]:
    from policies.epoch.closed_system import shares

    fair = instance.nodes / len(instance.jobs)
    for nodes, part in shares(solution).values():
        yield "equal" if abs(nodes * part - fair) < 1e-9 else "unequal"


def _optimal(name: str, seeds: range) -> tuple[str, str]:
    """Compare a policy with the optimum of its class."""
    if name == "buddy":
        worse = _against(name, seeds, (16,), 8, 0, widths="powers-of-two")
        return f"above the optimum of its widths {worse} times", "no" if worse else "yes"
    if name in ("buddy-star", "hybrid"):
        small = packed([1, 1, 1, 3, 3], 4, 1)
        ours, best = policy(name, small), optimum(small, widths="any")
        return (
            f"N = 4, M = [1, 1, 1, 3, 3]: {ours:g}, optimum {best:g}",
            "no" if ours > best else "yes",
        )
    k = 0 if name == "equi-epoch" else 1
    powers = _against(name, seeds, (8, 16, 32), 7, k)
    others = _against(name, seeds, (12, 18, 20, 30), 7, k)
    if name == "equi-epoch":
        others += policy(name, packed([20] * 10, 140)) > optimum(packed([20] * 10, 140))
    if name == "heuristic-epoch":
        others += policy(name, packed([4, 4, 4, 4, 8], 16)) > optimum(packed([4] * 4 + [8], 16))
    verdict = "yes" if powers + others == 0 else "if N = 2^n" if powers == 0 else "no"
    if name == "heuristic-epoch":
        verdict = "no" if others else "yes"
    return f"above OPT-EPOCH({k}) {powers} times for N = 2^n, {others} times else", verdict


def _against(
    name: str, seeds: range, sizes: tuple[int, ...], jobs: int, k: int, **options: Any
) -> int:
    worse = 0
    for seed in seeds:
        for nodes in sizes:
            values = {"nodes": nodes, "jobs": jobs, "load": 1.5, "inequity": k}
            instance = GENERATORS["uniform"](seed, **values)
            worse += policy(name, instance) > optimum(instance, **options)
    return worse


def _efficient(name: str) -> tuple[str, str]:
    """Tell whether a policy ends on a planted instance that is hard for a search."""
    import time

    hard = GENERATORS["planted"](1, nodes=128, epochs=8, inequity=4)
    if name == "buddy":
        hard = GENERATORS["uniform"](1, nodes=128, jobs=64)
    began = time.perf_counter()
    try:
        policy(name, hard)
    except NotApplicableError as reason:
        return f"{len(hard.jobs)} jobs, k = 4: {reason}", "no"
    took = time.perf_counter() - began
    return (
        f"{len(hard.jobs)} jobs in {'under 1' if took < 1 else round(took)} s",
        "yes" if took < 1 else "no",
    )


# --- figures ----------------------------------------------------------------------------------


@reproduction(
    "epoch/figure-3",
    title="BUDDY's schedule for N = 16, J = 8, M = [1, 2, 3, 3, 3, 3, 3, 8]",
    source=f"{PAPER}, section 3, Figure 3",
    workload="The paper's example.",
)
def figure_3(quick: bool) -> Outcome:
    """Run BUDDY on the example."""
    del quick
    instance = packed([1, 2, 3, 3, 3, 3, 3, 8], 16)
    pieces = list(registered("epoch")["buddy"].run(instance).rectangles.values())
    second = pieces[1]
    ours, best = policy("buddy", instance), optimum(instance, widths="powers-of-two")
    return Outcome(
        [
            Claim(
                "the first job, minimum 8",
                "8 nodes",
                f"{pieces[0].nodes} nodes",
                pieces[0].nodes == 8,
            ),
            Claim(
                "then the min-seg is at 1/4, and the next job, minimum 3, is forced to 8 nodes",
                "8 nodes from 1/4 on",
                f"{second.nodes} nodes from {second.start:g} on",
                (second.nodes, second.start) == (8, 0.25),
            ),
            Claim(
                "the widths are the least that powers of two allow",
                "optimal (Theorem 1)",
                f"{ours:g}, optimum {best:g}",
                ours == best,
            ),
        ]
    )


@reproduction(
    "epoch/figure-4",
    title="Widths that are no powers of two can beat BUDDY",
    source=f"{PAPER}, section 3.2, Figure 4",
    workload=f"The figure's numbers are not in the text; N = J = 4, M = [3, 3, 3, 1]. {EXACT}",
)
def figure_4(quick: bool) -> Outcome:
    """Compare BUDDY with rectangles of any width."""
    del quick
    instance = packed([3, 3, 3, 1], 4)
    ours, best = policy("buddy", instance), optimum(instance, widths="any")
    return Outcome(
        [Claim("other widths need less", "yes", f"BUDDY {ours:g}, optimum {best:g}", best < ours)]
    )


@reproduction(
    "epoch/figure-7",
    title="EQUI-EPOCH is not optimal for N = 140 and ten jobs of 20",
    source=f"{PAPER}, section 4.1.2, Figure 7",
    workload="As the text has it; the caption swaps J and M.",
)
def figure_7(quick: bool) -> Outcome:
    """Count epochs."""
    del quick
    instance = packed([20] * 10, 140)
    equi, best = policy("equi-epoch", instance) / 140, optimum(instance) / 140
    return Outcome(
        [
            Claim("EQUI-EPOCH: 7 jobs, then 2, then 1", "3 epochs", f"{equi:g}", equi == 3),
            Claim("five jobs twice", "2 epochs", f"{best:g}, proven", best == 2),
        ]
    )


@reproduction(
    "epoch/figure-8",
    title="Filling epochs from the largest job is not optimal for N = 16, M = [4, 4, 4, 4, 8]",
    source=f"{PAPER}, section 4.1.3, Figure 8",
    workload="The paper's example.",
)
def figure_8(quick: bool) -> Outcome:
    """Count epochs."""
    del quick
    instance = packed([4, 4, 4, 4, 8], 16)
    greedy = policy("heuristic-epoch", instance) / 16
    equi, best = policy("equi-epoch", instance) / 16, optimum(instance) / 16
    return Outcome(
        [
            Claim("greedy from the largest", "3 epochs", f"{greedy:g}", greedy == 3),
            Claim(
                "EQUI-EPOCH, optimal", "2 epochs", f"{equi:g}, optimum {best:g}", equi == best == 2
            ),
        ]
    )


# --- theorems and section 4.2 -----------------------------------------------------------------


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
