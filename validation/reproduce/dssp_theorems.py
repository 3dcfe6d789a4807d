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
from schedopt.validation.reproduce.ledger import (
    Answer,
    Answers,
    Judge,
    judge_below,
    proven_optimum,
    runner_over,
)

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


def judge_agreement(yes: str) -> Judge:
    """Return a judge that expects optimal schedules to agree with enumeration."""

    def judge(sides: list[tuple[bool, bool]]) -> Answer:
        agree = sum(one == other for one, other in sides)
        ours = f"in {agree} of {len(sides)}, of which {sum(other for _, other in sides)} {yes}"
        return ours, agree == len(sides)

    return judge


@runner_over(reductions("partition", 20, 200, numbers=7, largest=30), halved=judge_agreement("can"))
def theorem_1(night: Instance) -> tuple[bool, bool]:
    """Return whether the job can earn its reward, and whether its tasks can be halved."""
    numbers = [length for stage in night.jobs[0].stages or () for length in stage]
    halves = (c for size in range(len(numbers) + 1) for c in combinations(numbers, size))
    return optimal_reward(night) > 0, any(2 * sum(part) == sum(numbers) for part in halves)


@runner_over(reductions("matching", 8, 40, size=3, triples=6), matched=judge_agreement("have one"))
def theorem_2(night: Instance) -> tuple[bool, bool]:
    """Return whether three jobs can complete, and whether a perfect matching exists."""
    triples = [tuple(map(int, job.name.split("-")[2:])) for job in night.jobs]
    perfect = (
        all(len(set(column)) == 3 for column in zip(*some, strict=True))
        for some in combinations(triples, 3)
    )
    return optimal_reward(night) >= 3, any(perfect)


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


def judge_lower_bound(gains: list[float]) -> Answer:
    """Judge a lower bound by the rewards of dispatchers minus the bound."""
    broken, count = sum(gain < -1e-9 for gain in gains), len(gains) // len(DISPATCHERS)
    ours = f"broken {broken} times in {count} instances by 4 dispatchers"
    return f"{ours}, least slack {min(gains):.2f}", broken == 0


@runner_over(unit_rewards, maxk=judge_lower_bound)
def theorem_3(night: Instance) -> list[float]:
    """Return the rewards of MAXK minus the bound, by dispatcher."""
    maxk = registered("dssp")["maxk"]
    ratio, best = ratio_and_optimum(night)
    part = 1 - ratio * (1 - 1 / night.processors)
    least = max(part * best - 1, best - (night.processors - 1))
    return [
        night.objective_of(maxk.run(night, dispatcher=dispatcher)) - least
        for dispatcher in DISPATCHERS
    ]


def judge_in_time(late: list[bool]) -> Answer:
    """Judge that no job is late."""
    count = len(late) // len(DISPATCHERS)
    ours = f"a job was late {sum(late)} times in {count} instances by 4 dispatchers"
    return ours, not any(late)


@runner_over(
    unit_rewards, in_time=judge_in_time, printed=judge_lower_bound, proven=judge_lower_bound
)
def theorem_4(night: Instance) -> dict[str, list[Any]]:
    """Return whether selected jobs are late, and rewards minus both forms of the bound."""
    policies, (ratio, best) = registered("dssp"), ratio_and_optimum(night)
    proven = (1 - ratio * (1 - 1 / night.processors)) * best
    printed = (1 - ratio) * (1 - 1 / night.processors) * best
    chosen = policies["greedy"].run(night, fill="guaranteed")
    gotten = [night.objective_of(policies[d].run(night, after=chosen)) for d in DISPATCHERS]
    return {
        "in_time": [got < len(chosen.selected) for got in gotten],
        "printed": [got - (printed - 1) for got in gotten],
        "proven": [got - (proven - 1) for got in gotten],
    }


NOT_TOLD: Answer = ("cannot be read from the text", None)


def run_time_alone(night: Instance, job: Job, processors: int) -> float:
    """Return the completion time of a job that runs alone."""
    single = msgspec.structs.replace(night, jobs=(job,), processors=processors)
    simulated = dispatchers.simulate_dispatcher(single, "first", np.array([0]))
    return float(simulated.completion[0])


def jobs_of_nights(quick: bool) -> Iterator[tuple[Instance, Job]]:
    """Yield the jobs of render nights."""
    for night in map(GENERATORS["render-night"], range(3 if quick else 30)):
        yield from ((night, job) for job in night.jobs)


@runner_over(
    jobs_of_nights,
    demand=judge_below(1e-9, where="jobs"),
    path=judge_below(1e-9, where="jobs"),
    drawn=lambda _: NOT_TOLD,
)
def figure_1(night: Instance, job: Job) -> dict[str, float]:
    """Return the errors of T_1 and T_∞: the job alone on one processor, and on enough of them."""
    tasks = sum(map(len, job.stages or ()))
    return {
        "demand": abs(run_time_alone(night, job, 1) / job.planned_demand - 1),
        "path": abs(run_time_alone(night, job, tasks) / job.planned_critical_path - 1),
    }


def figure_2(_: bool) -> Answers:
    """Judge a night of two jobs of which only one can be in time."""
    jobs = tuple(Job(name=name, reward=1, stages=((5, 5), (5, 5))) for name in ("a", "b"))
    night = Instance(name="figure-2", processors=2, deadline=10, jobs=jobs)
    by_itself = min(run_time_alone(night, job, 2) for job in jobs)
    best = optimal_reward(night)
    ours = f"each takes {by_itself:g} of 10 alone; together {best:g} of 2, proven"
    return {"left-out": (ours, by_itself <= 10 and best == 1), "drawn": NOT_TOLD}
