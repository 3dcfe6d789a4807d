"""Random nights on machines that change, and their optima by trying everything, slot by slot.

Times are whole slots; the instance has them in a unit of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations
from random import Random
from typing import Any

import pytest

from schedopt.instances.dssp import Down, Instance, Job
from schedopt.instances.errors import InputError

UNITS = ("1", "0.1", "3600")
KEYS = ("capacity", "after", "max_processors", "resources", "processors", "end", "pools", "down")
NEVER = Fraction(10**6)
ALONE = [(key,) for key in KEYS]
TOGETHER = [
    ("capacity", "after", "end"),
    ("capacity", "processors", "resources"),
    ("pools", "processors", "after"),
    ("max_processors", "resources", "end"),
    ("pools", "profiles", "down"),
    KEYS,
]
EVERY = [*ALONE, *TOGETHER, ("capacity", "down", "resources", "end", "processors")]
SETS = pytest.mark.parametrize("keys", EVERY, ids="+".join)


def nights(
    keys: tuple[str, ...],
    count: int,
    seed: int = 0,
    some: Callable[[Random, tuple[str, ...]], Instance] | None = None,
) -> list[Instance]:
    """Draw nights, or seasons, that use some keys."""
    found, draw = list[Instance](), Random(f"{keys} {seed}")  # noqa: S311
    while len(found) < count:
        try:
            night = (some or some_moving_night)(draw, keys)
        except InputError:
            continue  # no processor before the deadline, or too few for a job
        if night.beyond:
            found.append(night)
    return found


def a_night(**changes: Any) -> Instance:
    jobs = (
        Job(name="a", reward=5, stages=((2.0, 3.0), (4.0,)), max_processors=2),
        Job(name="b", reward=4, stages=((3.0,),), after=("a",), processors=2),
        Job(name="c", reward=3, stages=((2.0, 2.0),), holds={"gpu": 1}),
    )
    given: dict[str, Any] = {
        "processors": 2,
        "changes": ((2, 3), (8, 2)),
        "end": 11,
        "resources": {"gpu": ((0, 0), (1, 1))},
    }
    return Instance(name="hand", deadline=12, jobs=jobs, **given | changes)


def some_moving_night(draw: Random, keys: tuple[str, ...], *, most: int = 7) -> Instance:
    """Draw a night of up to `most` tasks that uses some keys."""
    unit = Fraction(draw.choice(UNITS))
    horizon = draw.randint(4, 9)

    def steps(least: int, largest: int) -> tuple[tuple[float, int], ...]:
        times = sorted(draw.sample(range(horizon + 1), draw.randint(1, 3)))
        return tuple((float(time * unit), draw.randint(least, largest)) for time in times)

    given: dict[str, Any] = {"processors": draw.randint(1, 3), "deadline": float(horizon * unit)}
    if "capacity" in keys:
        given["changes"] = steps(0, 3)
    elif "pools" in keys:
        pools: dict[str, Any] = {name: draw.randint(1, 2) for name in "xyz"[: draw.randint(1, 3)]}
        for name in pools if "profiles" in keys else ():
            pools[name] = draw.choice((pools[name], steps(0, 2)))
        given |= {"processors": 0, "pools": pools}
    if "down" in keys:
        given["down"] = tuple(
            Down(
                start=float((first := draw.randint(0, horizon - 1)) * unit),
                end=float(draw.randint(first + 1, horizon + 1) * unit),
                processors=draw.randint(1, 2),
                pool=draw.choice([*given.get("pools", {None: 0})]),
            )
            for _ in range(draw.randint(1, 2))
        )
    if "end" in keys:
        given["end"] = float(draw.randint(2, horizon + 1) * unit)
    if "resources" in keys:
        given["resources"] = {"gpu": steps(0, 4), "gb": 1.5}
    jobs: list[Job] = []
    for _ in range(draw.randint(1, 5)):
        if left := most - sum(len(stage) for job in jobs for stage in job.stages or ()):
            jobs.append(_some_job(draw, keys, given, (horizon, unit, left), [*jobs]))
    draw.shuffle(jobs)
    return Instance(name="moving", jobs=tuple(jobs), **given)


def _some_job(
    draw: Random,
    keys: tuple[str, ...],
    given: dict[str, Any],
    size: tuple[int, Fraction, int],
    earlier: list[Job],
) -> Job:
    horizon, unit, left = size
    stages: list[tuple[float, ...]] = []
    for _ in range(draw.choice((1, 1, 2))):
        if count := min(left, draw.choice((1, 1, 2, 3))):
            lengths = [draw.choice((0, 1, 1, 2, 2, 3, 4)) for _ in range(count)]
            stages.append(tuple(float(length * unit) for length in lengths))
            left -= count
    own: dict[str, Any] = {"reward": float(draw.randint(0, 9)), "stages": tuple(stages)}
    if draw.random() < 0.3:
        own["release"] = float(draw.randint(0, 3) * unit)
    if draw.random() < 0.3:
        own["deadline"] = float(draw.randint(2, horizon + 1) * unit)
    if "after" in keys and earlier and draw.random() < 0.6:
        names = [job.name for job in earlier]
        own["after"] = tuple(draw.sample(names, min(len(names), draw.randint(1, 2))))
    pools = given.get("pools", {})
    sizes = {n: max(a for _, a in s) if isinstance(s, tuple) else s for n, s in pools.items()}
    largest = max([given["processors"], *sizes.values(), 1])
    if "processors" in keys and draw.random() < 0.5:
        own["processors"] = draw.randint(1, largest)
    wide = own.get("processors", 1)
    if "max_processors" in keys and draw.random() < 0.6:
        own["max_processors"] = wide + draw.randint(0, 1)
    if "resources" in keys and draw.random() < 0.6:
        top = max(amount for _, amount in given["resources"]["gpu"])
        own["holds"] = {"gpu": draw.randint(0, int(top)), "gb": draw.choice((0.0, 0.5, 0.75))}
    if pools and draw.random() < 0.7:
        fitting = [name for name, amount in sizes.items() if amount >= wide]
        if fitting:
            own["pools"] = tuple(draw.sample(fitting, draw.randint(1, len(fitting))))
    return Job(name=f"j{len(earlier)}", **own)


class Slots:
    """A night slot by slot."""

    def __init__(self, night: Instance) -> None:
        self.night = night
        self.jobs = {job.name: job for job in night.jobs}
        whole = [night.deadline, *(x for job in night.jobs for s in job.stages or () for x in s)]
        whole += [job.deadline or night.deadline for job in night.jobs]
        self.unit = next(u for u in map(Fraction, UNITS) if u == _unit(night, whole))
        self.length = 60
        self.pools: dict[str, list[int]] = {}
        for name, size in (night.pools or {"": night.changes or night.processors}).items():
            now = size if isinstance(size, int) else night.processors  # 0 before pools' profiles
            self.pools[name] = []
            for t in range(self.length):
                now = self.amount(size, t, now) if isinstance(size, tuple) else now
                self.pools[name].append(max(0, now - self.away(name, t)) * self.open(t))
        self.resources = {}
        for name, amount in night.resources.items():
            level: list[float] = []
            for t in range(self.length):
                before = level[-1] if level else 0
                given = self.amount(amount, t, before) if isinstance(amount, tuple) else amount
                level.append(given)
            self.resources[name] = level
        self.due = {n: self.slot(job.deadline or night.deadline) for n, job in self.jobs.items()}
        self.release = {n: self.slot(job.release) for n, job in self.jobs.items()}
        self.allowed = {
            n: [p for p in self.pools if not job.pools or p in job.pools]
            for n, job in self.jobs.items()
        }

    def slot(self, time: float) -> int:
        return int(Fraction(repr(float(time))) / self.unit)

    def open(self, t: int) -> bool:
        return self.night.end is None or t < self.slot(self.night.end)

    def away(self, pool: str, t: int) -> int:
        mine = [down for down in self.night.down if (down.pool or "") == pool]
        return sum(d.processors for d in mine if self.slot(d.start) <= t < self.slot(d.end))

    def amount(self, changes: Any, t: int, before: float) -> Any:
        return next((a for time, a in changes if self.slot(time) == t), before)

    def lengths(self, name: str) -> list[list[int]]:
        return [[self.slot(x) for x in stage] for stage in self.jobs[name].stages or ()]

    def demand(self, name: str) -> int:
        return self.jobs[name].processors * sum(map(sum, self.lengths(name)))


def _unit(night: Instance, whole: list[float]) -> Fraction:
    for unit in (Fraction(3600), Fraction(1), Fraction("0.1")):
        if all((Fraction(repr(float(x))) / unit).denominator == 1 for x in whole):
            horizon = Fraction(repr(night.deadline)) / unit
            if 4 <= horizon <= 9:
                return unit
    raise AssertionError


def subsets(names: list[str]) -> list[tuple[str, ...]]:
    """Return all subsets."""
    return list(chain.from_iterable(combinations(names, k) for k in range(len(names) + 1)))


# --- selections -----------------------------------------------------------------------------------


def fitting(night: Instance) -> list[tuple[str, ...]]:
    """Return all selections that fit."""
    slots = Slots(night)
    ends = _alone(slots)
    able = [n for n in slots.jobs if ends[n] <= slots.due[n]]
    return [
        chosen
        for chosen in subsets(able)
        if all({*slots.jobs[n].after} <= {*chosen} for n in chosen) and _fits(slots, chosen)
    ]


def served(night: Instance, chosen: Sequence[str], drawn: list[list[int]]) -> list[set[int]]:
    """Return which of some jobs are in time in each scenario, in millionths of planned times."""
    slots, left = Slots(night), list(chosen)
    factors = [
        {job.name: Fraction(part, 10**6) for job, part in zip(night.jobs, one, strict=True)}
        for one in drawn
    ]
    ends = [_alone(slots, longer) for longer in factors]
    alone = [{n for n in chosen if end[n] <= slots.due[n]} for end in ends]

    def brings(name: str) -> Fraction:
        reward, demand = int(slots.jobs[name].reward), slots.demand(name)
        return Fraction(reward * sum(name in fit for fit in alone), demand) if demand else NEVER

    order: list[str] = []
    while left:
        free = [n for n in left if not {*slots.jobs[n].after} & {*left}]
        order.append(max(free, key=lambda n: (brings(n), -night.index[n])))
        left.remove(order[-1])
    return [
        {
            night.index[n]
            for i, n in enumerate(order)
            if n in fit and _fits(slots, order[: i + 1], longer, n)
        }
        for fit, longer in zip(alone, factors, strict=True)
    ]


def _fits(
    slots: Slots, chosen: Sequence[str], longer: Mapping[str, Fraction] = {}, who: str = ""
) -> bool:
    """Tell whether some jobs fit, each so much longer, into all that one of them has to."""
    jobs = slots.jobs

    def overfull(members: list[str], held: str, most: Any) -> bool:
        """Tell whether jobs ask for too much; where it is of one job, if that asks at all."""
        asked = {n: slots.demand(n) * longer.get(n, Fraction(1)) for n in members}
        if held:
            holds = {n: Fraction(repr(jobs[n].holds.get(held, 0.0) + 0.0)) for n in members}
            asked = {n: holds[n] * asked[n] / jobs[n].processors for n in members}
        return sum(asked.values()) > most and (not who or asked.get(who, 0) > 0)

    for a in {slots.release[n] for n in chosen}:
        for b in {slots.due[n] for n in chosen}:
            inside = [n for n in chosen if slots.release[n] >= a and slots.due[n] <= b]
            for pools in subsets(list(slots.pools)):
                among = [n for n in inside if {*slots.allowed[n]} <= {*pools}]
                if overfull(among, "", sum(slots.pools[p][t] for p in pools for t in range(a, b))):
                    return False
            for name, level in slots.resources.items():
                if overfull(inside, name, sum(Fraction(level[t]) for t in range(a, b))):
                    return False
    return True


def _alone(slots: Slots, longer: Mapping[str, Fraction] | None = None) -> dict[str, Fraction]:
    """Return when each job ends at the earliest, were the machine its own.

    Where they take so many times as long, those that are late end all the same.
    """
    found: dict[str, Fraction] = {}
    while len(found) < len(slots.jobs):
        for name, job in slots.jobs.items():
            if name in found or any(other not in found for other in job.after):
                continue
            last = NEVER - 1 if longer else None
            late = any(found[other] > (last or slots.due[other]) for other in job.after)
            start = max([Fraction(slots.release[name]), *(found[o] for o in job.after)])
            times = longer[name] if longer else Fraction(1)
            found[name] = NEVER if late else _ended(slots, name, start, times)
    return found


def _ended(slots: Slots, name: str, start: Fraction, times: Fraction) -> Fraction:
    job, work, at = slots.jobs[name], slots.demand(name) * times, start
    most = (
        99 if job.max_processors is None else job.max_processors // job.processors * job.processors
    )
    done = start
    while work > 0:
        if done >= slots.length:
            return NEVER
        rate = min(most, sum(slots.pools[p][int(done)] for p in slots.allowed[name]))
        step = int(done) + 1 - done
        if rate and work <= rate * step:
            done, work = done + work / rate, Fraction(0)
        else:
            done, work = done + step, work - rate * step
    for stage in slots.lengths(name):
        if not (length := max(stage) * times):
            continue
        while not any(_stands(slots, name, p, at, length) for p in slots.allowed[name]):
            at = Fraction(int(at) + 1)
            if at >= slots.length:
                return NEVER
        at += length
    return max(done, at)


def _stands(slots: Slots, name: str, pool: str, at: Fraction, length: Fraction) -> bool:
    job = slots.jobs[name]
    last = -int(-(at + length) // 1)
    return last <= slots.length and all(
        slots.pools[pool][t] >= job.processors
        and all(slots.resources[r][t] >= a for r, a in job.holds.items())
        for t in range(int(at), last)
    )
