"""Theorems 1 to 4 of the dssp paper, checked on random instances against exact schedules."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.generators import GENERATORS
from schedopt.policies.registry import registered
from schedopt.validation.reproduce.dssp_workload import PAPER
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction

RANDOM = "Random small instances, solved exactly by CP-SAT."


def optimal_reward(night: Instance) -> float:
    """Return the proven optimum of a schedule."""
    from schedopt.formulations.dssp import Schedule
    from schedopt.solvers import Limits, cpsat

    model: Any = Schedule(night)
    result = cpsat.solve(model, Limits(threads=1))
    if not result.proven or result.objective is None:
        raise RuntimeError(f"{night.name} was not solved to optimality")
    return result.objective


@reproduction(
    "dssp/theorem-1",
    title="One job on two processors is a partition problem",
    source=f"{PAPER}, section 2.1, Theorem 1",
    workload=RANDOM,
)
def theorem_1(quick: bool) -> Outcome:
    """Solve partition instances as schedules, and by trying all halves."""
    agree = yes = 0
    seeds = 20 if quick else 200
    for seed in range(seeds):
        make = GENERATORS["partition"]
        night = make(seed, numbers=7, largest=30, planted=seed % 2 == 0)
        numbers = [length for stage in night.jobs[0].stages or () for length in stage]
        halves = any(
            2 * sum(part) == sum(numbers)
            for size in range(len(numbers) + 1)
            for part in combinations(numbers, size)
        )
        agree += (optimal_reward(night) > 0) == halves
        yes += halves
    return Outcome(
        [
            Claim(
                "the job earns its reward if and only if its tasks can be halved",
                "always",
                f"in {agree} of {seeds}, of which {yes} can",
                agree == seeds,
            )
        ]
    )


@reproduction(
    "dssp/theorem-2",
    title="Unit tasks and unit rewards are as hard as 3D-matching",
    source=f"{PAPER}, section 2.1, Theorem 2",
    workload=RANDOM,
)
def theorem_2(quick: bool) -> Outcome:
    """Solve 3D-matching instances as schedules, and by trying all sets of triples."""
    agree = yes = 0
    seeds = 8 if quick else 40
    for seed in range(seeds):
        night = GENERATORS["matching"](seed, size=3, triples=6, planted=seed % 2 == 0)
        triples = [tuple(map(int, job.name.split("-")[2:])) for job in night.jobs]
        perfect = any(
            all(len(set(column)) == 3 for column in zip(*some, strict=True))
            for some in combinations(triples, 3)
        )
        agree += (optimal_reward(night) >= 3) == perfect
        yes += perfect
    return Outcome(
        [
            Claim(
                "as many jobs as elements complete if and only if a perfect matching exists",
                "always",
                f"in {agree} of {seeds}, of which {yes} have one",
                agree == seeds,
            )
        ]
    )


def _unit_night(seed: int) -> Instance:
    """Draw a few jobs of unit reward; mostly not all of them can be done."""
    draw = np.random.Generator(np.random.PCG64(seed))
    jobs = tuple(
        Job(
            name=f"j{i}",
            reward=1.0,
            stages=tuple(
                tuple(draw.integers(1, 6, draw.integers(1, 4)).astype(float).tolist())
                for _ in range(draw.integers(1, 4))
            ),
        )
        for i in range(draw.integers(3, 9))
    )
    longest = max(sum(map(max, job.stages or ())) for job in jobs)
    return Instance(
        name=f"unit-{seed}",
        processors=int(draw.integers(2, 5)),
        deadline=float(longest + draw.integers(0, 8)),
        jobs=jobs,
    )


@reproduction(
    "dssp/theorem-3",
    title="What MAXK is at least worth",
    source=f"{PAPER}, section 4.1, Theorem 3",
    workload=f"{RANDOM} Unit rewards.",
)
def theorem_3(quick: bool) -> Outcome:
    """Compare maxk with the bound of the theorem, for four dispatchers."""
    seeds = 60 if quick else 1_000
    slack, broken = float("inf"), 0
    maxk = registered("dssp")["maxk"]
    for seed in range(seeds):
        night = _unit_night(seed)
        best, ratio = optimal_reward(night), night.critical_paths.max() / night.deadline
        parallel = 1 - 1 / night.processors
        least = max((1 - ratio * parallel) * best - 1, best - (night.processors - 1))
        for dispatcher in ("lcpf", "stcpu", "first", "cpa"):
            got = night.objective_of(maxk.run(night, dispatcher=dispatcher))
            slack = min(slack, got - least)
            broken += got < least - 1e-9
    return Outcome(
        [_bound("max{(1 - T/D·(1 - 1/P))·OPT - 1, OPT - (P - 1)}", seeds, broken, slack)]
    )


def _bound(formula: str, seeds: int, broken: int, slack: float) -> Claim:
    ours = f"broken {broken} times in {seeds} instances by 4 dispatchers, least slack {slack:.2f}"
    return Claim(f"at least {formula} jobs complete", "always", ours, broken == 0)


@reproduction(
    "dssp/theorem-4",
    title="What greedy selection with the guaranteed r and any dispatcher is at least worth",
    source=f"{PAPER}, section 4.2, Theorem 4",
    workload=f"{RANDOM} Unit rewards.",
)
def theorem_4(quick: bool) -> Outcome:
    """Check that all that is selected completes, and both forms of the bound."""
    seeds = 60 if quick else 1_000
    slack, weak, strong, late = float("inf"), 0, 0, 0
    policies = registered("dssp")
    for seed in range(seeds):
        night = _unit_night(seed)
        best, ratio = optimal_reward(night), night.critical_paths.max() / night.deadline
        chosen = policies["greedy"].run(night, fill="guaranteed")
        for dispatcher in ("lcpf", "stcpu", "first", "cpa"):
            got = night.objective_of(policies[dispatcher].run(night, after=chosen))
            late += got < len(chosen.selected)
            parallel = 1 - 1 / night.processors
            least = (1 - ratio * parallel) * best - 1
            slack = min(slack, got - least)
            strong += got < least - 1e-9
            weak += got < (1 - ratio) * parallel * best - 1 - 1e-9
    return Outcome(
        [
            Claim(
                "every non-delay dispatcher completes all that was selected",
                "always",
                f"a job was late {late} times in {seeds} instances by 4 dispatchers",
                late == 0,
            ),
            _bound("(1 - T/D)·(1 - 1/P)·OPT - 1 (as printed)", seeds, weak, slack),
            _bound("(1 - T/D·(1 - 1/P))·OPT - 1 (as proven)", seeds, strong, slack),
        ]
    )
