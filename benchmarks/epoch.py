"""Partitions into epochs: our default beside the direct model and the search.

``python -m benchmarks.epoch [TABLE ...]``: planted, tight, rectangles and uniform, or some of them.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.tables import Measured, all_of, measurement, row, run
from benchmarks.timing import agree, best_of
from schedopt.formulations.epoch import Partition
from schedopt.instances.constraints import Apart, Constraint, Together
from schedopt.instances.epoch import Instance, Partitioned
from schedopt.instances.epoch.generators import named
from schedopt.policies.registry import NotApplicableError, registered
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

LIMIT, WORKERS = 5.0, 2
"""Seconds after which an alternative is stopped, marked >; and threads of each solver."""

PLANTED = [(epochs, k) for epochs in (8, 16) for k in (1, 2, 3, 4)] + [(32, 3)]
SEEDS = range(1, 4)

TIGHT, MANY, TIGHT_LIMIT = ((16, 4), (16, 5), (16, 6), (32, 5), (32, 6)), range(20), 10.0
"""Epochs and k of the planted instances of many seeds, and the seconds that each may take."""

RECTANGLES, RECTANGLES_LIMIT = ((16, 6), (16, 8), (16, 12), (32, 8), (32, 10)), 10.0
"""Nodes and jobs of the rectangles, and the seconds that each may take; CP-SAT alone has LIMIT."""


def _solved(instance: Any, limit: float | None = None, **asked: Any) -> tuple[float, Any]:
    return best_of(1, partial(solve, instance, threads=WORKERS, time_limit=limit, **asked))


def _ended(result: Any) -> bool:
    """Tell whether a run ended with a proof, of an optimum or that there is none."""
    return bool(result.proven or result.termination == "infeasible")


@measurement
def planted() -> Measured:
    """Time planted instances, whose optimum is known and which heuristics mostly miss."""
    yield f"(i) planted epochs, N = 128: ours on {len(SEEDS)} seeds, the others on the first"
    for epochs, k in PLANTED:
        options = {"epochs": epochs, "inequity": k}
        some = [generate("epoch", "planted", seed=seed, options=options) for seed in SEEDS]
        times = []
        for instance in some:
            seconds, result = _solved(instance, 4 * LIMIT)
            times.append(seconds if result.proven else float("inf"))
            agree(128.0 * epochs, result.objective if result.proven else None)
        beside = {}
        for name, way in OTHERS.items():
            seconds, value = best_of(1, partial(way, some[0]))
            agree(128.0 * epochs, value)
            beside[name] = f"{seconds:.2f} s" if value else f">{seconds:.1f} s"
        what = f"{epochs} epochs, k = {k}, {len(some[0].jobs)} jobs"
        yield row(what, max(times), "s", most=5, quickest=f"{min(times):.2f} s", **beside)


@measurement
def tight() -> Measured:
    """Time planted instances of many seeds, and with ten side constraints on pairs of jobs.

    The pairs are drawn at random. Half are to be together, half apart: first as they are in the
    partition that was found, so that the optimum stays, then whatever they are there.
    """
    each = len(MANY)
    yield f"(i2) planted epochs, N = 128, {each} seeds, limit {TIGHT_LIMIT:.0f} s: slowest"
    plain: list[int] = []
    ruled = 0
    for epochs, k in TIGHT:
        times, proven = _many(epochs, k)
        plain.append(proven[0])
        ruled += sum(proven[1:])
        slowest = [max(some) for some in times]
        beside = {"ten rules that fit": slowest[1], "any ten": slowest[2]}
        told = f"{sum(proven)} of {3 * each}"
        yield row(f"{epochs} epochs, k = {k}", slowest[0], "s", **beside, proven=told)
    yield all_of("16 epochs, k = 4: seeds proven in 10 s", plain[0], each)
    others = len(TIGHT) - 1
    yield all_of("16 and 32 epochs, k = 5 and 6, in 10 s", sum(plain[1:]), others * each)
    yield all_of("with ten side constraints, in 10 s", ruled, 2 * each * len(TIGHT))


def _many(epochs: int, k: int) -> tuple[tuple[list[float], ...], list[int]]:
    """Return seconds by seed without rules, with ten that fit and with any ten; and the proofs."""
    times: tuple[list[float], ...] = ([], [], [])
    proven = [0, 0, 0]
    options = {"epochs": epochs, "inequity": k}
    for seed in MANY:
        instance = generate("epoch", "planted", seed=seed, options=options)
        rules: tuple[list[Constraint], ...] = ([], [], [])
        for turn in range(3):
            seconds, result = _solved(instance, TIGHT_LIMIT, constraints=rules[turn])
            times[turn].append(seconds)
            proven[turn] += _ended(result)
            if turn < 2 and result.proven:
                agree(result.objective, 128.0 * epochs)
            if turn == 0:
                free = result.solution
                rules = ([], _ten(free, seed, True), _ten(free, seed, False))
    return times, proven


def _ten(free: Partitioned, seed: int, fitting: bool) -> list[Constraint]:
    """Draw ten side constraints on pairs of jobs, perhaps such that a partition keeps them all."""
    draw = np.random.Generator(np.random.PCG64(seed))
    where = {name: e for e, epoch in enumerate(free.epochs) for name in epoch.nodes}
    rules: list[Constraint] = []
    while len(rules) < 10:
        a, b = draw.choice(sorted(where), 2, replace=False).tolist()
        kind = Together if len(rules) % 2 == 0 else Apart
        if not fitting or (where[a] == where[b]) == (kind is Together):
            rules.append(kind(jobs=(a, b)))
    return rules


@measurement
def rectangles() -> Measured:
    """Time rectangles by our own search and by CP-SAT, without rules and with three on pairs."""
    yield f"(i3) rectangles, minima to N/2, ours {RECTANGLES_LIMIT:.0f} s, CP-SAT {LIMIT:.0f}"
    ended = wanted = 0
    for nodes, jobs in RECTANGLES:
        for count in (0, 3):
            some = [_drawn(nodes, jobs, count, seed) for seed in SEEDS]
            ours, theirs = (
                [_solved(one, limit, formulation="rectangles", solver=solver) for one in some]
                for solver, limit in (("epochs", RECTANGLES_LIMIT), ("cp-sat", LIMIT))
            )
            for (_, mine), (_, other) in zip(ours, theirs, strict=True):
                if _ended(mine) and _ended(other):
                    agree(mine.objective or 0.0, other.objective or 0.0)
            proven, also = (sum(_ended(result) for _, result in runs) for runs in (ours, theirs))
            alone = f"{max(seconds for seconds, _ in theirs):.2f} s, {also} of {len(SEEDS)}"
            what = f"{nodes} nodes, {jobs} jobs, {count} rules"
            slowest = max(seconds for seconds, _ in ours)
            yield row(what, slowest, "s", proven=f"{proven} of {len(SEEDS)}", CP_SAT_alone=alone)
            ended, wanted = ended + proven, wanted + len(SEEDS)
    yield all_of(f"proven, or infeasible, in {RECTANGLES_LIMIT:.0f} s", ended, wanted)


def _drawn(nodes: int, jobs: int, count: int, seed: int) -> Instance:
    """Draw minima up to half the nodes, and so many side constraints on pairs of jobs."""
    draw = np.random.Generator(np.random.PCG64(seed))
    made = named(draw.integers(1, nodes // 2, jobs, endpoint=True).tolist())
    rules: list[Together | Apart] = []
    for i in range(count):
        a, b = draw.choice(jobs, 2, replace=False).tolist()
        rules.append((Together if i % 2 == 0 else Apart)(jobs=(made[a].name, made[b].name)))
    return Instance(name="drawn", nodes=nodes, inequity=0, jobs=made, constraints=tuple(rules))


@measurement
def uniform() -> Measured:
    """Time the paper's own random instances, up to 256 jobs on 1,024 nodes."""
    yield "(j) random instances of Table 3 (k = 1): worst of 5 seeds and two load factors"
    for jobs in (8, 64, 256):
        for nodes in (128, 1_024):
            runs = [
                _solved(generate("epoch", "uniform", seed=seed, options=options))
                for seed in range(5)
                for options in ({"jobs": jobs, "nodes": nodes, "load": load} for load in (1.0, 2.0))
            ]
            proven, worst = sum(r.proven for _, r in runs), max(seconds for seconds, _ in runs)
            worst = worst if proven == len(runs) else np.inf
            yield row(f"{jobs} jobs, {nodes:,} nodes", worst, "s", most=0.2, proven=proven)


def _direct(instance: Any) -> float | None:
    """Solve the direct model with CP-SAT, as it stands."""
    result = solve(Partition(instance), solver="model", threads=WORKERS, time_limit=LIMIT)
    return result.objective if result.proven else None


def _policy(name: str, instance: Any) -> float | None:
    try:
        return instance.objective_of(registered("epoch")[name].run(instance))
    except NotApplicableError:
        return None


OTHERS = {
    "direct": _direct,
    "search": partial(_policy, "paper-search"),
}


if __name__ == "__main__":
    run(planted, tight, rectangles, uniform)
