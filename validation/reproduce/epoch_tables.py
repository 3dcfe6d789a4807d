"""The epoch paper's tables: in how many ways nodes are cut, what policies promise, the defaults."""

import time
from collections.abc import Iterator, Sequence

import numpy as np

from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.policies.epoch.closed_system import shares
from schedopt.policies.registry import NotApplicableError, registered
from schedopt.validation.reproduce.epoch_schedules import (
    LARGE_LAST,
    WIDE,
    Widths,
    instance_of,
    optimum,
    policy_overhead,
)
from schedopt.validation.reproduce.ledger import Answers, Outcome

CUTS = (8, 128, 2_144, 21_527, 144_055, 692_693, 2_560_378)
"""Table 1: in how many ways 128 nodes can be cut, by the inequity."""


def table_1(_: bool) -> Outcome:
    """Count multisets of positive parts that sum to 128 and differ by k at most."""
    counts = [_count_cuts(128, k) for k in range(len(CUTS))]
    answers: Answers = {
        f"k-{k}": (f"{ours:,}", ours == paper)
        for k, (paper, ours) in enumerate(zip(CUTS, counts, strict=True))
    }
    curves = {"cuts": (list(range(len(counts))), counts)}
    return Outcome(answers, curves, "inequity k", "cuts of 128 nodes")


def _count_cuts(nodes: int, inequity: int) -> int:
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


COLUMNS = ("nodes", "jobs", "equal", "optimal", "efficient")
PROPERTIES = {
    "buddy": ("yes", "yes", "yes", "yes", "yes"),
    "buddy-star": ("yes", "no", "yes", "no", "yes"),
    "hybrid": ("yes", "no", "partially", "no", "yes"),
    "equi-epoch": ("no", "no", "yes", "if N = 2^n", "yes"),
    "paper-search": ("no", "no", "no", "yes", "no"),
    "heuristic-epoch": ("no", "no", "no", "no", "yes"),
}
"""Table 2: whether a policy is restricted to N = 2^n, to J = 2^j, to equal allocations, and so on.
"""


def table_2(quick: bool) -> Answers:
    """Try every cell."""
    seeds = range(10 if quick else 60)
    answers: Answers = {}
    for name, cells in PROPERTIES.items():
        found = (
            _try_restriction(name, _random_instances(seeds, (24,), 8)),
            _try_restriction(name, _random_instances(seeds, (32,), 11)),
            _compare_areas(name, seeds),
            _compare_with_optimum(name, seeds),
            _time_hard_instance(name),
        )
        for column, paper, (ours, cell) in zip(COLUMNS, cells, found, strict=True):
            answers[f"{name}-{column}"] = ours, cell == paper
    return answers


def _random_instances(
    seeds: range, sizes: Sequence[int], jobs: int, **more: float
) -> Iterator[Instance]:
    for seed in seeds:
        for nodes in sizes:
            yield GENERATORS["uniform"](seed, nodes=nodes, jobs=jobs, **more)


def _try_restriction(name: str, drawn: Iterator[Instance]) -> tuple[str, str]:
    try:
        for instance in drawn:
            policy_overhead(name, instance)
    except NotApplicableError as reason:
        return str(reason), "yes"
    return "runs for others", "no"


def _compare_areas(name: str, seeds: range) -> tuple[str, str]:
    kinds: set[bool] = set()
    for instance in _random_instances(seeds, (32,), 8 if name == "buddy" else 11):
        fair = instance.nodes / len(instance.jobs)
        schedule = registered("epoch")[name].run(instance)
        kinds |= {abs(nodes * part - fair) < 1e-9 for nodes, part in shares(schedule).values()}
    if kinds == {True}:
        return "all areas equal", "yes"
    both = len(kinds) > 1 and name == "hybrid"
    return ("some areas differ", "partially") if both else ("areas differ", "no")


def _compare_with_optimum(name: str, seeds: range) -> tuple[str, str]:
    """Compare a policy with the optimum of its class."""
    if name == "buddy":
        worse = _count_above_optimum(
            name, _random_instances(seeds, (16,), 8, load=1.5, inequity=0), "powers-of-two"
        )
        return f"above the optimum of its widths {worse} times", "no" if worse else "yes"
    if name in ("buddy-star", "hybrid"):
        small = instance_of([1, 1, 1, 3, 3], 4, 1)
        ours, best = policy_overhead(name, small), optimum(small, widths="any")
        told = f"N = 4, M = [1, 1, 1, 3, 3]: {ours:g}, optimum {best:g}"
        return told, "no" if ours > best else "yes"
    k = 0 if name == "equi-epoch" else 1
    powers = _count_above_optimum(
        name, _random_instances(seeds, (8, 16, 32), 7, load=1.5, inequity=k)
    )
    others = _count_above_optimum(
        name, _random_instances(seeds, (12, 18, 20, 30), 7, load=1.5, inequity=k)
    )
    if counterexample := {"equi-epoch": WIDE, "heuristic-epoch": LARGE_LAST}.get(name):
        others += policy_overhead(name, counterexample) > optimum(counterexample)
    verdict = "if N = 2^n" if others else "yes"
    if powers or (others and name == "heuristic-epoch"):
        verdict = "no"
    return f"above OPT-EPOCH({k}) {powers} times for N = 2^n, {others} times else", verdict


def _count_above_optimum(name: str, drawn: Iterator[Instance], widths: Widths | None = None) -> int:
    return sum(
        policy_overhead(name, instance) > optimum(instance, widths=widths) for instance in drawn
    )


def _time_hard_instance(name: str) -> tuple[str, str]:
    """Tell whether a policy ends on a planted instance that is hard for a search."""
    hard = GENERATORS["planted"](1, nodes=128, epochs=8, inequity=4)
    if name == "buddy":
        hard = GENERATORS["uniform"](1, nodes=128, jobs=64)
    began = time.perf_counter()
    try:
        policy_overhead(name, hard)
    except NotApplicableError as reason:
        return f"{len(hard.jobs)} jobs, k = 4: {reason}", "no"
    took = time.perf_counter() - began
    told = f"{len(hard.jobs)} jobs in {'under 1' if took < 1 else round(took)} s"
    return told, "yes" if took < 1 else "no"


def table_3(quick: bool) -> Outcome:
    """Look at what the generator makes by default."""
    made: list[Instance] = [GENERATORS["uniform"](seed) for seed in range(200 if quick else 5_000)]
    minima = np.concatenate([instance.minima for instance in made])
    shape = {(i.nodes, len(i.jobs), i.inequity) for i in made}
    load = float(minima.mean() * 8 / 128)
    least, most = minima.min(), minima.max()
    values, counts = np.unique(minima, return_counts=True)
    answers: Answers = {
        "shape": (str(sorted(shape)), shape == {(128, 8, 1)}),
        "load": (f"{load:.1%}", abs(load - 1) < 0.05),
        "minima": (f"{least} to {most}", (least, most) == (1, 31)),
    }
    curves = {"minima": (values, counts / counts.sum())}
    return Outcome(answers, curves, "minimum, in nodes", "part of the jobs")
