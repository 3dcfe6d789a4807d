"""Partitions into epochs: our default beside the direct model, arc-flow, the search and the DP.

``python -m benchmarks.epoch [TABLE ...]``: planted, tight, rectangles and uniform, or some of them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import highspy
import numpy as np
from rich.table import Table

from benchmarks.timing import agree, best_of, out, verdict
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


def planted() -> None:
    """Time planted instances, whose optimum is known and which heuristics mostly miss."""
    title = f"(i) planted epochs, N = 128: ours on {len(SEEDS)} seeds, the others on the first"
    heads = ("epochs", "k", "jobs", "schedopt s", "direct", "arc-flow", "search", "DP")
    table = Table(*heads, title=title, title_justify="left")
    slowest = 0.0
    for epochs, k in PLANTED:
        options = {"epochs": epochs, "inequity": k}
        some = [generate("epoch", "planted", seed=seed, options=options) for seed in SEEDS]
        times = []
        for instance in some:
            seconds, found = best_of(1, partial(_ours, instance))
            times.append(seconds if found else float("inf"))
            agree(found or 128.0 * epochs, 128.0 * epochs)
        cells = [f"{min(times):.2f} to {max(times):.2f}"]
        for way in OTHERS:
            seconds, found = best_of(1, partial(way, some[0]))
            agree(found or 128.0 * epochs, 128.0 * epochs)
            cells.append(f"{seconds:.2f}" if found else f">{seconds:.1f}")
        table.add_row(str(epochs), str(k), str(len(some[0].jobs)), *cells)
        slowest = max(slowest, *times)
    out.print(table)
    verdict(slowest < 5, f"each planted instance proven in under 5 s (slowest {slowest:.1f})")


def tight() -> None:
    """Time planted instances of many seeds, and with ten side constraints on pairs of jobs.

    The pairs are drawn at random. Half are to be together, half apart: first as they are in the
    partition that was found, so that the optimum stays, then whatever they are there.
    """
    title = f"(i2) planted epochs, N = 128, {len(MANY)} seeds, limit {TIGHT_LIMIT:.0f} s: slowest"
    heads = ("epochs", "k", "no rules s", "ten that fit s", "any ten s", "proven")
    table = Table(*heads, title=title, title_justify="left")
    sure: dict[tuple[int, int], list[int]] = {}
    for epochs, k in TIGHT:
        times, proven = _many(epochs, k)
        cells = (f"{max(some):.2f}" for some in times)
        table.add_row(str(epochs), str(k), *cells, f"{sum(proven)} of {3 * len(MANY)}")
        sure[epochs, k] = proven
    out.print(table)
    each = len(MANY)
    first = sure[16, 4][0]
    verdict(first == each, f"16 epochs, k = 4: {first} of {each} seeds proven in 10 s")
    others = [sure[case][0] for case in TIGHT if case != (16, 4)]
    told = ", ".join(f"{n} of {each}" for n in others)
    verdict(min(others) == each, f"16 and 32 epochs, k = 5 and 6, in 10 s: {told}")
    ruled = sum(sum(proven[1:]) for proven in sure.values())
    wanted = 2 * each * len(TIGHT)
    verdict(ruled == wanted, f"with ten side constraints, in 10 s: {ruled} of {wanted}")


def _many(epochs: int, k: int) -> tuple[tuple[list[float], ...], list[int]]:
    """Return all seeds' seconds without rules, with ten that fit and with any ten, and the proofs.

    A run that is proven infeasible is one.
    """
    times: tuple[list[float], ...] = ([], [], [])
    proven = [0, 0, 0]
    options = {"epochs": epochs, "inequity": k}
    for seed in MANY:
        instance = generate("epoch", "planted", seed=seed, options=options)
        rules: tuple[list[Constraint], ...] = ([], [], [])
        for turn in range(3):
            run = partial(
                solve, instance, threads=WORKERS, time_limit=TIGHT_LIMIT, constraints=rules[turn]
            )
            seconds, result = best_of(1, run)
            times[turn].append(seconds)
            proven[turn] += result.proven or result.termination == "infeasible"
            if turn < 2 and result.proven:
                agree(result.objective, 128.0 * epochs)
            if turn == 0:
                found = result.solution
                rules = ([], _ten(found, seed, True), _ten(found, seed, False))
    return times, proven


def _ten(found: Partitioned, seed: int, fitting: bool) -> list[Constraint]:
    """Draw ten side constraints on pairs of jobs, perhaps such that a partition keeps them all."""
    draw = np.random.Generator(np.random.PCG64(seed))
    where = {name: e for e, epoch in enumerate(found.epochs) for name in epoch.nodes}
    rules: list[Constraint] = []
    while len(rules) < 10:
        a, b = draw.choice(sorted(where), 2, replace=False).tolist()
        kind = Together if len(rules) % 2 == 0 else Apart
        if not fitting or (where[a] == where[b]) == (kind is Together):
            rules.append(kind(jobs=(a, b)))
    return rules


def rectangles() -> None:
    """Time rectangles by our own search and by CP-SAT, without rules and with three on pairs."""
    title = f"(i3) rectangles, minima to N/2, ours {RECTANGLES_LIMIT:.0f} s, CP-SAT {LIMIT:.0f}"
    heads = ("nodes", "jobs", "rules", "schedopt s", "proven", "CP-SAT alone s", "proven")
    table = Table(*heads, title=title, title_justify="left")
    ended = wanted = 0
    for nodes, jobs in RECTANGLES:
        for count in (0, 3):
            some = [_drawn(nodes, jobs, count, seed) for seed in SEEDS]
            ours, theirs = ([_ended(each, name) for each in some] for name in ("epochs", "cp-sat"))
            for mine, other in zip(ours, theirs, strict=True):
                if mine[1] and other[1]:
                    agree(mine[2], other[2])
            cells = [
                (f"{max(t for t, *_ in runs):.2f}", f"{sum(p for _, p, _ in runs)} of {len(SEEDS)}")
                for runs in (ours, theirs)
            ]
            table.add_row(str(nodes), str(jobs), str(count), *cells[0], *cells[1])
            ended += sum(proven for _, proven, _ in ours)
            wanted += len(SEEDS)
    out.print(table)
    told = f"{ended} of {wanted}"
    verdict(ended == wanted, f"each proven, or infeasible, in {RECTANGLES_LIMIT:.0f} s ({told})")


def _drawn(nodes: int, jobs: int, count: int, seed: int) -> Instance:
    """Draw minima up to half the nodes, and so many side constraints on pairs of jobs."""
    draw = np.random.Generator(np.random.PCG64(seed))
    made = named(draw.integers(1, nodes // 2, jobs, endpoint=True).tolist())
    rules: list[Together | Apart] = []
    for i in range(count):
        a, b = draw.choice(jobs, 2, replace=False).tolist()
        rules.append((Together if i % 2 == 0 else Apart)(jobs=(made[a].name, made[b].name)))
    return Instance(name="drawn", nodes=nodes, inequity=0, jobs=made, constraints=tuple(rules))


def _ended(instance: Instance, solver: str) -> tuple[float, bool, float]:
    """Return the seconds of a run, whether it ended with a proof, and its objective."""
    limit = RECTANGLES_LIMIT if solver == "epochs" else LIMIT
    asked = {"formulation": "rectangles", "solver": solver}
    run = partial(solve, instance, **asked, threads=WORKERS, time_limit=limit)
    seconds, result = best_of(1, run)
    proven = result.proven or result.termination == "infeasible"
    return seconds, proven, result.objective or 0.0


def uniform() -> None:
    """Time the paper's own random instances, up to 256 jobs on 1,024 nodes."""
    title = "(j) random instances of Table 3 (k = 1): worst of 5 seeds and two load factors"
    table = Table("jobs", "nodes", "schedopt s", "proven", title=title, title_justify="left")
    slowest = 0.0
    for jobs in (8, 64, 256):
        for nodes in (128, 1_024):
            times, proven = [], 0
            for seed in range(5):
                for load in (1.0, 2.0):
                    options = {"jobs": jobs, "nodes": nodes, "load": load}
                    instance = generate("epoch", "uniform", seed=seed, options=options)
                    seconds, result = best_of(1, partial(solve, instance, threads=WORKERS))
                    times.append(seconds)
                    proven += result.proven
            table.add_row(str(jobs), f"{nodes:,}", f"{max(times):.3f}", f"{proven} of {len(times)}")
            slowest = max(slowest, max(times) if proven == len(times) else np.inf)
    out.print(table)
    verdict(slowest < 0.2, f"each in under 0.2 s (slowest {slowest:.3f})")


def _ours(instance: Any) -> float | None:
    result = solve(instance, threads=WORKERS, time_limit=4 * LIMIT)
    return result.objective if result.proven else None


def _direct(instance: Any) -> float | None:
    """Solve the direct model with CP-SAT, as it stands."""
    result = solve(Partition(instance), solver="model", threads=WORKERS, time_limit=LIMIT)
    return result.objective if result.proven else None


def _policy(name: str, instance: Any) -> float | None:
    try:
        return instance.objective_of(registered("epoch")[name].run(instance))
    except NotApplicableError:
        return None


def _arc_flow(instance: Any) -> float | None:
    """Solve an arc-flow model with HiGHS.

    A graph for each leader v: points 0 to N, arcs as long as a slot, widest first. The flow z_v
    that leaves 0 by an arc of length v is how many epochs v leads. Slots of size s or wider must be
    as many as jobs of s or more. Source of the form: Valério de Carvalho, Annals of Operations
    Research 86, 1999.
    """
    graph = _Graph(instance)
    columns = len(graph.cost)
    highspy.Highs.resetGlobalScheduler(True)  # else the first run's number of threads stays
    engine = highspy.Highs()
    engine.silent()
    for name, value in (("threads", WORKERS), ("mip_rel_gap", 0.0), ("time_limit", LIMIT)):
        engine.setOptionValue(name, value)
    engine.addVars(columns, np.zeros(columns), np.full(columns, float(len(instance.jobs))))
    every = np.arange(columns, dtype=np.int32)
    engine.changeColsCost(columns, every, np.array(graph.cost))
    whole = np.full(columns, highspy.HighsVarType.kInteger)
    engine.changeColsIntegrality(columns, every, whole)
    for lower, row in graph.rows():
        engine.addRow(lower, np.inf, len(row), list(row), list(row.values()))
    engine.run()
    if engine.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return float(instance.nodes * round(engine.getInfo().objective_function_value))


class _Graph:
    """The arcs of all leaders' graphs: what each costs, covers, and joins."""

    def __init__(self, instance: Any) -> None:
        self.jobs = Counter(instance.minima.tolist())
        self.sizes = sorted(self.jobs, reverse=True)
        self.cost: list[float] = []
        self.covering: dict[int, dict[int, float]] = {size: {} for size in self.sizes}
        self.balance: dict[tuple[int, int], dict[int, float]] = {}
        for leader in self.sizes:
            self._lead(leader, instance.nodes, max(1, leader - instance.inequity))

    def _lead(self, leader: int, nodes: int, floor: int) -> None:
        """Add a leader's arcs; a point is reached by wider slots before narrower ones."""
        widths = [s for s in self.sizes if floor < s <= leader] + [floor]
        self._arc(leader, 0, leader, 1.0)
        reached = {leader}
        for width in widths:
            for start in range(leader, nodes - width + 1):
                if start in reached:
                    self._arc(leader, start, width, 0.0)
                    reached.add(start + width)

    def _arc(self, leader: int, start: int, width: int, price: float) -> None:
        column = len(self.cost)
        self.cost.append(price)
        if start:
            self.balance.setdefault((leader, start), {})[column] = -1.0
        self.balance.setdefault((leader, start + width), {})[column] = 1.0
        for size in self.sizes:
            if size <= width:
                self.covering[size][column] = 1.0

    def rows(self) -> Iterator[tuple[float, dict[int, float]]]:
        """Yield lower bounds and coefficients: what does not flow on is left over."""
        yield from ((0.0, row) for row in self.balance.values())
        total = 0
        for size in self.sizes:
            total += self.jobs[size]
            yield float(total), self.covering[size]


OTHERS = (_direct, _arc_flow, partial(_policy, "paper-search"), partial(_policy, "dp"))

TABLES = {"planted": planted, "tight": tight, "rectangles": rectangles, "uniform": uniform}


if __name__ == "__main__":
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
