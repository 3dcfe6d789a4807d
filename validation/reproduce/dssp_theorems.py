"""Theorems 1 to 4 and Figures 1 and 2 of the dssp paper, on random instances solved exactly."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from schedopt.formulations.dssp import Schedule
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.generators import GENERATORS
from schedopt.policies.dssp import dispatchers
from schedopt.policies.registry import registered
from schedopt.validation.reproduce.ledger import Values, proven_optimum, runner_over

DISPATCHERS = ("lcpf", "stcpu", "first", "cpa")


def optimal_reward(night: Instance) -> float:
    """Return the proven optimal reward of a schedule."""
    return float(proven_optimum(Schedule(night), "model").objective)


def reductions(generator: str, few: int, many: int, **options: int) -> Any:
    """Return a function that yields instances of a reduction, half of them with a solution."""

    def cases(quick: bool) -> Iterator[tuple[Instance]]:
        for seed in range(few if quick else many):
            yield (GENERATORS[generator](seed, planted=seed % 2 == 0, **options),)

    return cases


@runner_over(reductions("partition", 20, 200, numbers=7, largest=30))
def theorem_1(night: Instance) -> Values:
    """Return whether the job can earn its reward, and whether its tasks can be halved."""
    numbers = [length for stage in night.jobs[0].stages or () for length in stage]
    halves = (c for size in range(len(numbers) + 1) for c in combinations(numbers, size))
    halved = any(2 * sum(part) == sum(numbers) for part in halves)
    return {"earned": optimal_reward(night) > 0, "possible": halved}


@runner_over(reductions("matching", 8, 40, size=3, triples=6))
def theorem_2(night: Instance) -> Values:
    """Return whether three jobs can complete, and whether a perfect matching exists."""
    triples = [tuple(map(int, job.name.split("-")[2:])) for job in night.jobs]
    perfect = any(
        all(len(set(column)) == 3 for column in zip(*some, strict=True))
        for some in combinations(triples, 3)
    )
    return {"earned": optimal_reward(night) >= 3, "possible": perfect}


def unit_rewards(quick: bool) -> Iterator[tuple[Instance]]:
    """Yield nights of a few jobs with unit rewards, most of which cannot complete all jobs."""
    for seed in range(60 if quick else 1_000):
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
        processors, deadline = int(draw.integers(2, 5)), float(longest + draw.integers(0, 8))
        name = f"unit-{seed}"
        yield (Instance(name=name, processors=processors, deadline=deadline, jobs=jobs),)


def ratio_and_optimum(night: Instance) -> tuple[float, float]:
    """Return T/D and OPT."""
    return float(night.critical_paths.max() / night.deadline), optimal_reward(night)


@runner_over(unit_rewards)
def theorem_3(night: Instance) -> Values:
    """Return the rewards of MAXK minus the bound, by dispatcher."""
    maxk = registered("dssp")["maxk"]
    ratio, best = ratio_and_optimum(night)
    part = 1 - ratio * (1 - 1 / night.processors)
    least = max(part * best - 1, best - (night.processors - 1))
    gains = [night.objective_of(maxk.run(night, dispatcher=d)) - least for d in DISPATCHERS]
    return {"gain": gains}


@runner_over(unit_rewards)
def theorem_4(night: Instance) -> Values:
    """Return whether selected jobs are late, and rewards minus both forms of the bound."""
    policies, (ratio, best) = registered("dssp"), ratio_and_optimum(night)
    proven = (1 - ratio * (1 - 1 / night.processors)) * best
    printed = (1 - ratio) * (1 - 1 / night.processors) * best
    chosen = policies["greedy"].run(night, fill="guaranteed")
    gotten = [night.objective_of(policies[d].run(night, after=chosen)) for d in DISPATCHERS]
    return {
        "late": [got < len(chosen.selected) for got in gotten],
        "printed": [got - (printed - 1) for got in gotten],
        "proven": [got - (proven - 1) for got in gotten],
    }


def run_time_alone(night: Instance, job: Job, processors: int) -> float:
    """Return the completion time of a job that runs alone."""
    single = msgspec.structs.replace(night, jobs=(job,), processors=processors)
    simulated = dispatchers.simulate_dispatcher(single, "first", np.array([0]))
    return float(simulated.completion[0])


def jobs_of_nights(quick: bool) -> Iterator[tuple[Instance, Job]]:
    """Yield the jobs of render nights."""
    for night in map(GENERATORS["render-night"], range(3 if quick else 30)):
        yield from ((night, job) for job in night.jobs)


@runner_over(jobs_of_nights)
def figure_1(night: Instance, job: Job) -> Values:
    """Return the errors of T_1 and T_∞: the job alone on one processor, and on enough of them."""
    tasks = sum(map(len, job.stages or ()))
    return {
        "demand": abs(run_time_alone(night, job, 1) / job.planned_demand - 1),
        "path": abs(run_time_alone(night, job, tasks) / job.planned_critical_path - 1),
    }


def figure_2(_: bool) -> Values:
    """Measure a night of two jobs of which only one can be in time."""
    jobs = tuple(Job(name=name, reward=1, stages=((5, 5), (5, 5))) for name in ("a", "b"))
    night = Instance(name="figure-2", processors=2, deadline=10, jobs=jobs)
    alone = min(run_time_alone(night, job, 2) for job in jobs)
    return {"alone": alone, "best": optimal_reward(night)}
