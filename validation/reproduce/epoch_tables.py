"""The epoch paper's Table 1, in how many ways nodes are cut, and Table 2, what policies promise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from schedopt.instances.epoch import Instance, Solution
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.policies.registry import NotApplicableError, registered
from schedopt.validation.reproduce.epoch_shared import PAPER, optimum, packed, policy
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction

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


def _equal(solution: Solution, instance: Instance) -> Iterator[str]:
    from schedopt.policies.epoch.closed_system import shares

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
    name: str,
    seeds: range,
    sizes: tuple[int, ...],
    jobs: int,
    k: int,
    *,
    widths: Literal["any", "powers-of-two"] | None = None,
) -> int:
    worse = 0
    for seed in seeds:
        for nodes in sizes:
            values = {"nodes": nodes, "jobs": jobs, "load": 1.5, "inequity": k}
            instance = GENERATORS["uniform"](seed, **values)
            worse += policy(name, instance) > optimum(instance, widths=widths)
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
