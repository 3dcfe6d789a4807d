"""When tasks start on a machine that changes, by dispatching slot by slot."""

from typing import Any

from builders.dssp_moving import Slots
from schedopt.instances.dssp import Instance


def dispatched_in_slots(night: Instance, order: list[str]) -> dict[tuple[str, int, int], int]:
    """Return when each task starts if jobs go in an order: slot by slot, a task whenever it can.

    Of a job that waits for others that are not run nothing is run. Lengths are above 0.
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
                and all(_done(slots, ends, o, None, t) for o in slots.jobs[n].after)
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
