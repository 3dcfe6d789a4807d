"""Theorems 1 to 4 of the dssp paper, and its two drawings, on random instances solved exactly."""

from collections.abc import Callable, Iterator
from itertools import combinations

import msgspec
import numpy as np

from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.generators import GENERATORS
from schedopt.policies.dssp import dispatchers
from schedopt.policies.registry import registered
from schedopt.validation.reproduce.ledger import Answer, Answers

DISPATCHERS = ("lcpf", "stcpu", "first", "cpa")


def optimal_reward(night: Instance) -> float:
    """Return the proven optimum of a schedule."""
    from schedopt.formulations.dssp import Schedule
    from schedopt.solvers import door
    from schedopt.solvers.result import Limits, Result

    result: Result = door.solve(Schedule(night), Limits(threads=1), solver="model")
    if not result.proven or result.objective is None:
        raise RuntimeError(f"{night.name} was not solved to optimality")
    return result.objective


def _compare_reduction(
    generator: str,
    seeds: int,
    asked: Callable[[Instance], tuple[bool, bool]],
    yes: str,
    **made: int,
) -> Answer:
    """Compare a reduction's two sides, optimal schedule and enumeration, on random instances."""
    sides = [
        asked(GENERATORS[generator](seed, planted=seed % 2 == 0, **made)) for seed in range(seeds)
    ]
    agree = sum(one == other for one, other in sides)
    ours = f"in {agree} of {seeds}, of which {sum(other for _, other in sides)} {yes}"
    return ours, agree == seeds


def theorem_1(quick: bool) -> Answers:
    """Solve partition instances as schedules, and by trying all halves."""

    def halved(night: Instance) -> tuple[bool, bool]:
        numbers = [length for stage in night.jobs[0].stages or () for length in stage]
        return optimal_reward(night) > 0, any(
            2 * sum(part) == sum(numbers)
            for size in range(len(numbers) + 1)
            for part in combinations(numbers, size)
        )

    seeds = 20 if quick else 200
    return {"halved": _compare_reduction("partition", seeds, halved, "can", numbers=7, largest=30)}


def theorem_2(quick: bool) -> Answers:
    """Solve 3D-matching instances as schedules, and by trying all sets of triples."""

    def matched(night: Instance) -> tuple[bool, bool]:
        triples = [tuple(map(int, job.name.split("-")[2:])) for job in night.jobs]
        return optimal_reward(night) >= 3, any(
            all(len(set(column)) == 3 for column in zip(*some, strict=True))
            for some in combinations(triples, 3)
        )

    seeds = 8 if quick else 40
    return {
        "matched": _compare_reduction("matching", seeds, matched, "have one", size=3, triples=6)
    }


def _nights_of_unit_rewards(seeds: int) -> Iterator[tuple[Instance, float, float]]:
    """Yield nights of a few jobs of unit reward, their optimum, and 1 - T/D·(1 - 1/P).

    Mostly not all of the jobs can be done.
    """
    for seed in range(seeds):
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
        night = Instance(
            name=f"unit-{seed}",
            processors=int(draw.integers(2, 5)),
            deadline=float(longest + draw.integers(0, 8)),
            jobs=jobs,
        )
        ratio = night.critical_paths.max() / night.deadline
        yield night, optimal_reward(night), 1 - ratio * (1 - 1 / night.processors)


def _judge_lower_bound(gotten: list[tuple[float, float]], slack: float, seeds: int) -> Answer:
    """Judge a lower bound by what dispatchers got beside it."""
    broken = sum(got < least - 1e-9 for got, least in gotten)
    ours = f"broken {broken} times in {seeds} instances by 4 dispatchers, least slack {slack:.2f}"
    return ours, broken == 0


def theorem_3(quick: bool) -> Answers:
    """Compare maxk with the bound of the theorem, for four dispatchers."""
    seeds = 60 if quick else 1_000
    maxk = registered("dssp")["maxk"]
    gotten = []
    for night, best, part in _nights_of_unit_rewards(seeds):
        least = max(part * best - 1, best - (night.processors - 1))
        gotten += [
            (night.objective_of(maxk.run(night, dispatcher=dispatcher)), least)
            for dispatcher in DISPATCHERS
        ]
    return {"maxk": _judge_lower_bound(gotten, min(got - least for got, least in gotten), seeds)}


def theorem_4(quick: bool) -> Answers:
    """Check that all that is selected completes, and both forms of the bound."""
    seeds = 60 if quick else 1_000
    printed, proven, late = [], [], 0
    policies = registered("dssp")
    for night, best, part in _nights_of_unit_rewards(seeds):
        ratio = night.critical_paths.max() / night.deadline
        chosen = policies["greedy"].run(night, fill="guaranteed")
        for dispatcher in DISPATCHERS:
            got = night.objective_of(policies[dispatcher].run(night, after=chosen))
            late += got < len(chosen.selected)
            proven.append((got, part * best - 1))
            printed.append((got, (1 - ratio) * (1 - 1 / night.processors) * best - 1))
    slack = min(got - least for got, least in proven)
    ours = f"a job was late {late} times in {seeds} instances by 4 dispatchers"
    return {
        "in-time": (ours, late == 0),
        "printed": _judge_lower_bound(printed, slack, seeds),
        "proven": _judge_lower_bound(proven, slack, seeds),
    }


NOT_TOLD: Answer = ("cannot be read from the text", None)


def run_time_alone(night: Instance, job: Job, processors: int) -> float:
    """Return a job's run time alone."""
    single = msgspec.structs.replace(night, jobs=(job,), processors=processors)
    played = dispatchers.simulate_dispatcher(single, "first", np.array([0]))
    return float(played.completion[0])


def figure_1(quick: bool) -> Answers:
    """Run jobs alone, on one processor and on as many as they have tasks."""
    one, many = [], []
    for seed in range(3 if quick else 30):
        night = GENERATORS["render-night"](seed)
        for job in night.jobs:
            tasks = sum(map(len, job.stages or ()))
            one.append(abs(run_time_alone(night, job, 1) / job.planned_demand - 1))
            many.append(abs(run_time_alone(night, job, tasks) / job.planned_critical_path - 1))
    shown = f"largest relative difference {{:.1e}} in {len(one)} jobs"
    return {
        "demand": (shown.format(max(one)), max(one) < 1e-9),
        "path": (shown.format(max(many)), max(many) < 1e-9),
        "drawn": NOT_TOLD,
    }


def figure_2(_: bool) -> Answers:
    """Solve a night of two jobs of which only one can be in time."""
    jobs = tuple(Job(name=name, reward=1, stages=((5, 5), (5, 5))) for name in ("a", "b"))
    night = Instance(name="figure-2", processors=2, deadline=10, jobs=jobs)
    by_itself = min(run_time_alone(night, job, 2) for job in jobs)
    best = optimal_reward(night)
    ours = f"each takes {by_itself:g} of 10 alone; together {best:g} of 2, proven"
    return {"left-out": (ours, by_itself <= 10 and best == 1), "drawn": NOT_TOLD}
