"""Partitions into epochs: our default beside the direct model and the paper's search.

``python -m benchmarks.epoch [TABLE ...]``.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.tables import Measured, agree, best_of, measurement, row, run
from schedopt.instances.constraints import Apart, Constraint, Together
from schedopt.instances.epoch import Instance, Partitioned
from schedopt.instances.epoch.generators import numbered_jobs
from schedopt.policies.registry import NotApplicableError, registered
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

LIMIT, WORKERS = 5.0, 2
"""Seconds after which an alternative is stopped, marked >; and threads of each solver."""

SEEDS = range(1, 4)

TIGHT, MANY, TIGHT_LIMIT = ((16, 4), (16, 5), (16, 6), (32, 5), (32, 6)), range(20), 10.0
"""Epochs and k of the planted instances of many seeds, and the seconds that each may take."""

RECTANGLES, RECTANGLES_LIMIT = ((16, 6), (16, 8), (16, 12), (32, 8), (32, 10)), 10.0
"""Nodes and jobs of the rectangles, and the seconds that each may take; CP-SAT alone has LIMIT."""


def _solve(instance: Any, limit: float | None = None, **asked: Any) -> tuple[float, Any]:
    return best_of(1, partial(solve, instance, threads=WORKERS, time_limit=limit, **asked))


def _is_closed(result: Any) -> bool:
    """Tell whether a run ended with a proof, of an optimum or that there is none."""
    return bool(result.proven or result.termination == "infeasible")


def paper_search(instance: Any) -> float | None:
    """Return the optimum by the paper's search, or None if it takes too long."""
    try:
        return float(instance.objective_of(registered("epoch")["paper-search"].run(instance)))
    except NotApplicableError:
        return None


@measurement
def tight() -> Measured:
    """Time planted instances of many seeds, and with ten side constraints on pairs of jobs.

    The pairs are drawn at random. Half are to be together, half apart: first as they are in the
    partition that was found, so that the optimum stays, then whatever they are there.
    """
    yield f"(i2) planted epochs, N = 128, {len(MANY)} seeds, {TIGHT_LIMIT:.0f} s each: proven"
    for epochs, k in TIGHT:
        times: tuple[list[float], ...] = ([], [], [])
        proven = 0
        for seed in MANY:
            options = {"epochs": epochs, "inequity": k}
            instance = generate("epoch", "planted", seed=seed, options=options)
            rules: Sequence[Sequence[Constraint]] = ((),)
            for turn in range(3):
                took, result = _solve(instance, TIGHT_LIMIT, constraints=rules[turn])
                times[turn].append(took)
                proven += _is_closed(result)
                if turn < 2 and result.proven:
                    agree(result.objective, 128.0 * epochs)
                if turn == 0:
                    rules = ((), *(_ten_rules(result.solution, seed, fit) for fit in (True, False)))
        plain, fitting, others = map(max, times)
        beside = {"slowest s": plain, "ten rules that fit": fitting, "any ten": others}
        yield row(f"{epochs} epochs, k = {k}", proven, least=3 * len(MANY), **beside)


def _ten_rules(free: Partitioned, seed: int, fitting: bool) -> list[Constraint]:
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
    """Time rectangles, without rules and with three on pairs of jobs."""
    yield f"(i3) rectangles, minima to N/2, {RECTANGLES_LIMIT:.0f} s each: proven, or infeasible"
    for (nodes, jobs), count in product(RECTANGLES, (0, 3)):
        some = [draw_rectangles(nodes, jobs, count, seed) for seed in SEEDS]
        runs = [_solve(one, RECTANGLES_LIMIT, formulation="rectangles") for one in some]
        ended = sum(_is_closed(result) for _, result in runs)
        what = f"{nodes} nodes, {jobs} jobs, {count} rules"
        yield row(what, ended, least=len(SEEDS), slowest_s=max(took for took, _ in runs))


def draw_rectangles(nodes: int, jobs: int, count: int, seed: int) -> Instance:
    """Draw minima up to half the nodes, and so many side constraints on pairs of jobs."""
    draw = np.random.Generator(np.random.PCG64(seed))
    drawn = numbered_jobs(draw.integers(1, nodes // 2, jobs, endpoint=True).tolist())
    rules: list[Together | Apart] = []
    for i in range(count):
        a, b = draw.choice(jobs, 2, replace=False).tolist()
        rules.append((Together if i % 2 == 0 else Apart)(jobs=(drawn[a].name, drawn[b].name)))
    return Instance(name="drawn", nodes=nodes, inequity=0, jobs=drawn, constraints=tuple(rules))


@measurement
def uniform() -> Measured:
    """Time the paper's own random instances, up to 256 jobs on 1,024 nodes."""
    yield "(j) random instances of Table 3 (k = 1): worst of 5 seeds and two load factors"
    for jobs, nodes in product((8, 64, 256), (128, 1_024)):
        runs = [
            _solve(generate("epoch", "uniform", seed=seed, options=options))
            for seed in range(5)
            for options in ({"jobs": jobs, "nodes": nodes, "load": load} for load in (1.0, 2.0))
        ]
        proven, worst = sum(r.proven for _, r in runs), max(seconds for seconds, _ in runs)
        worst = worst if proven == len(runs) else float("inf")
        yield row(f"{jobs} jobs, {nodes:,} nodes", worst, "s", most=0.2, proven=proven)


if __name__ == "__main__":
    run(tight, rectangles, uniform)
