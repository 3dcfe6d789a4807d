"""Small nights with releases, deadlines and seats, and their best selections by definition."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import inf
from typing import Any

import numpy as np

from builders.dssp_moving import Slots
from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job
from schedopt.validation.dssp.constraints import broken
from schedopt.validation.dssp.facts import Facts


def dispatched_in_slots(night: Instance, order: list[str]) -> dict[tuple[str, int, int], int]:
    """Return when each task starts if jobs go in an order: slot by slot, a task whenever it can.

    Of a job that waits for others that are late or not run nothing is run. Lengths are above 0.
    """
    slots, starts = Slots(night), dict[tuple[str, int, int], int]()
    on: dict[tuple[str, int, int], list[tuple[str, int]]] = {}
    ends: dict[tuple[str, int, int], int] = {}
    for t in range(slots.length):
        while True:
            ready = [
                (n, s, k)
                for n in order
                for s, stage in enumerate(slots.lengths(n))
                for k in range(len(stage))
                if (n, s, k) not in starts
                and t >= slots.release[n]
                and _done(slots, ends, n, s, t)
                and all(
                    _done(slots, ends, o, None, min(t, slots.due[o])) for o in slots.jobs[n].after
                )
            ]
            found = next(
                ((key, p) for key in ready if (p := _found(slots, key, t, on, ends))), None
            )
            if found is None:
                break
            (n, s, k), on[n, s, k] = found
            starts[n, s, k] = t
            ends[n, s, k] = t + slots.lengths(n)[s][k]
    return starts


def _done(slots: Slots, ends: Any, name: str, stage: int | None, t: int) -> bool:
    stages = slots.lengths(name)[:stage]
    keys = [(name, s, k) for s, lengths in enumerate(stages) for k in range(len(lengths))]
    return all(key in ends and ends[key] <= t for key in keys)


def _found(slots: Slots, key: Any, t: int, on: Any, ends: Any) -> list[tuple[str, int]] | None:
    name, s, k = key
    job, end = slots.jobs[name], t + slots.lengths(name)[s][k]
    running = [other for other in ends if ends[other] > t]
    mine = sum(len(on[other]) for other in running if other[0] == name)
    if job.max_processors is not None and mine + job.processors > job.max_processors:
        return None
    for resource, level in slots.resources.items():
        for u in range(t, min(end, slots.length)):
            held = sum(slots.jobs[o[0]].holds.get(resource, 0) for o in running if ends[o] > u)
            if held + job.holds.get(resource, 0) > level[u]:
                return None
    busy = {place for other in running for place in on[other]}
    for pool in slots.allowed[name]:
        level = [*slots.pools[pool], *[slots.pools[pool][-1]] * 9]
        free = []
        for p in range(max(level)):
            away = next((u for u in range(t, len(level)) if level[u] <= p), len(level))
            if (pool, p) not in busy and away >= end:
                free.append((away, p))
        if len(free) >= job.processors:
            return [(pool, p) for _, p in sorted(free)[: job.processors]]
    return None


def windowed_night(
    rng: np.random.Generator, *, jobs: int = 5, tasks: int = 3, stages: int = 2
) -> Instance:
    """Draw a night of few short jobs, with lengths in units or in tenths, that do not all fit."""
    unit = float(rng.choice([1.0, 0.1, 0.5]))
    count = int(rng.integers(1, jobs + 1))
    deadline = int(rng.integers(4, 10))
    made = []
    for i in range(count):
        window = {}
        if rng.random() < 0.5:
            window["release"] = round(int(rng.integers(0, deadline)) * unit, 9)
        if rng.random() < 0.5:
            window["deadline"] = round(int(rng.integers(1, deadline + 3)) * unit, 9)
        made.append(
            Job(
                name=f"j{i}",
                reward=float(rng.integers(0, 6)),
                priority=float(rng.integers(0, 3)),
                stages=tuple(
                    tuple(
                        round(int(x) * unit, 9) for x in rng.integers(0, 4, rng.integers(1, tasks))
                    )
                    for _ in range(rng.integers(1, stages + 1))
                ),
                **window,
            )
        )
    seats = tuple(
        Seats(
            name=f"licence-{k}",
            capacity=int(rng.integers(0, 4)),
            use={f"j{i}": int(rng.integers(0, 3)) for i in range(count) if rng.random() < 0.6},
        )
        for k in range(int(rng.integers(0, 3)))
    )
    return Instance(
        name="windowed",
        processors=int(rng.integers(1, 4)),
        deadline=round(deadline * unit, 9),
        jobs=tuple(made),
        constraints=seats,
    )


Task = tuple[int, int, Fraction]
"""Job, stage and length."""


def best_schedule(night: Instance, constraints: Sequence[Constraint] = ()) -> float:
    """Return the most that schedules earn, by placing tasks in every order as early as they fit.

    Some order gives an optimum, since completing earlier never earns less. It is -infinity where
    nothing keeps the side constraints with all jobs that are run done while they are paid.
    """
    rules, facts = [*night.constraints, *constraints], Facts(night, 1.0)
    seats = [rule for rule in rules if isinstance(rule, Seats)]
    able = [
        j
        for j, job in enumerate(night.jobs)
        if all(rule.use.get(job.name, 0) <= rule.capacity for rule in seats)
    ]
    return max(
        (
            _best_order(night, seats, some)
            for size in range(len(able) + 1)
            for some in combinations(able, size)
            if not any(
                broken(rule, facts, frozenset(night.jobs[j].name for j in some)) for rule in rules
            )
        ),
        default=-inf,
    )


def _best_order(night: Instance, seats: list[Seats], jobs: tuple[int, ...]) -> float:
    tasks: list[Task] = [
        (j, s, as_written(length))
        for j in jobs
        for s, stage in enumerate(night.jobs[j].stages or ())
        for length in stage
        if length > 0
    ]
    most = sum(night.jobs[j].reward for j in jobs)

    def value(placed: list[tuple[Task, Fraction]]) -> float:
        ends = {j: as_written(night.jobs[j].release) for j in jobs}
        for (j, _, length), start in placed:
            ends[j] = max(ends[j], start + length)
        late = as_written(night.delay)
        if any(end > as_written(float(night.deadlines[j])) + late for j, end in ends.items()):
            return -inf
        paid = {j: night.worth(j, float(end)) for j, end in ends.items()}
        return sum(night.jobs[j].reward * part for j, part in paid.items())

    def best(placed: list[tuple[Task, Fraction]], waiting: list[Task]) -> float:
        found = value(placed)
        if found == -inf:
            return found
        found = -inf if waiting else found
        for task in dict.fromkeys(waiting):
            if any(j == task[0] and s < task[1] for j, s, _ in waiting):
                continue
            left = waiting.copy()
            left.remove(task)
            start = _earliest(night, seats, placed, task)
            found = max(found, best([*placed, (task, start)], left))
            if found == most:
                break
        return found

    return best([], tasks)


def _earliest(
    night: Instance, seats: list[Seats], placed: list[tuple[Task, Fraction]], task: Task
) -> Fraction:
    j, s, length = task
    opened = [start + x for (other, t, x), start in placed if other == j and t < s]
    first = max([as_written(night.jobs[j].release), *opened])
    names = [job.name for job in night.jobs]

    def free(start: Fraction) -> bool:
        for moment in [start, *(at for _, at in placed if start < at < start + length)]:
            running = [j, *(i for (i, _, x), at in placed if at <= moment < at + x)]
            if len(running) > night.processors:
                return False
            for rule in seats:
                if sum(rule.use.get(names[i], 0) for i in running) > rule.capacity:
                    return False
        return True

    moments = sorted({first, *(at + x for (_, _, x), at in placed if at + x > first)})
    return next(moment for moment in moments if free(moment))
