"""Small nights with releases, deadlines and seats, and their best selections by definition."""

from typing import Any

import numpy as np

from builders.dssp_moving import Slots
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Job


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
