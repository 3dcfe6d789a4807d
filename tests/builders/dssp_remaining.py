"""Random small nights, what has happened to them, and the best rest by trying every slot."""

import functools
from collections import Counter
from fractions import Fraction
from itertools import chain, combinations, product
from random import Random
from typing import Any

import polars as pl

from schedopt.instances.constraints import Apart, AtMost, FairShare, Imply, Seats
from schedopt.instances.dssp import Down, Instance, Job

HORIZON = 8


def some_machine(draw: Random) -> dict[str, Any]:
    """Draw processors that stay, pools of them, or some that are away for a time."""
    kind = draw.choice(("processors", "processors", "pools", "down", "both"))
    given: dict[str, Any] = {"processors": draw.randint(1, 3)}
    if kind in ("pools", "both"):
        given = {"pools": {"p": draw.randint(1, 2), "q": draw.randint(1, 2)}}
    if kind in ("down", "both"):
        start = draw.randint(0, HORIZON - 2)
        end, pool = draw.randint(start + 1, HORIZON - 1), "q" if kind == "both" else None
        given["down"] = (
            Down(start=float(start), end=float(end), processors=draw.randint(1, 2), pool=pool),
        )
    return given


def some_night(draw: Random) -> Instance:
    jobs: list[Job] = []
    machine = some_machine(draw)
    for n in range(draw.randint(2, 4)):
        stages = [
            tuple(float(draw.choice((1, 1, 2, 3))) for _ in range(draw.choice((1, 1, 2, 2, 3))))
            for _ in range(draw.choice((1, 2)))
        ]
        own: dict[str, Any] = {"stages": tuple(stages), "groups": {"team": draw.choice("xy")}}
        if draw.random() < 0.3:
            own["max_processors"] = draw.randint(1, 2)
        if draw.random() < 0.2:
            own["deadline"] = float(draw.randint(4, HORIZON + 1))
        if "pools" in machine and draw.random() < 0.5:
            own["pools"] = tuple(draw.choice(("p", "q", "qp")))
        if draw.random() < 0.2:
            own["release"] = float(draw.randint(1, 3))
        if jobs and draw.random() < 0.2:
            own["after"] = (draw.choice(jobs).name,)
        jobs.append(Job(name=f"j{n}", reward=float(draw.randint(1, 5)), **own))
    names = [job.name for job in jobs]
    rules: list[Any] = []
    if draw.random() < 0.3:
        rules.append(Apart(name="apart", jobs=tuple(draw.sample(names, 2))))
    if draw.random() < 0.3:
        first, then = draw.sample(names, 2)
        rules.append(Imply(name="imply", if_=first, then=then))
    if draw.random() < 0.3 and any(job.groups["team"] == "x" for job in jobs):
        rules.append(AtMost(name="few", by="team", group="x", count=1))
    if draw.random() < 0.4:
        cap = FairShare(name="cap", by="team", at_most={"x": draw.choice((0.25, 0.5))})
        rules += [cap] if any(job.groups["team"] == "x" for job in jobs) else []
    if draw.random() < 0.3:
        rules.append(Seats(name="seats", capacity=1, use={names[0]: 1, names[-1]: 1}))
    return Instance(
        name="small", deadline=float(HORIZON), jobs=tuple(jobs), constraints=tuple(rules), **machine
    )


class Facts:
    """What has happened to a plan by a time, told plainly; shares nothing with `replan`."""

    def __init__(self, draw: Random, night: Instance, tasks: Any) -> None:
        self.night = night
        self.now = draw.randint(0, HORIZON - 1)
        self.ends: dict[str, dict[tuple[int, int], float]] = {}
        pools = night.pools or {"": night.processors}
        self.there = {
            name: [
                size
                - sum(
                    d.processors
                    for d in night.down
                    if (d.pool or "") == name and d.start <= t < d.end
                )
                for t in range(2 * HORIZON)
            ]
            for name, size in pools.items()
        }
        self.there = {name: [max(0, n) for n in level] for name, level in self.there.items()}
        pool_of = [name for name, level in self.there.items() for _ in range(max(level))]
        on = {(t.job, t.stage, t.task): pool_of[t.processor] for t in tasks}
        self.spent: Counter[str] = Counter()
        self.rows: list[dict[str, Any]] = []
        for job in night.jobs:
            begun = {
                (t.stage, t.task): (t.start, t.end)
                for t in tasks
                if t.job == job.name and t.start < self.now
            }
            if not begun:
                continue
            lasting = [key for key, (_, end) in begun.items() if end > self.now]
            if draw.random() < 0.2:
                self.rows.append({"job": job.name, "status": "failed"})
                self.spent[job.groups["team"]] += sum(
                    min(e, self.now) - s for s, e in begun.values()
                )
                continue
            if lasting and draw.random() < 0.3:
                late = float(self.now + draw.randint(1, 4))
                self.rows.append({"job": job.name, "status": "running", "end": f"{late:g}"})
                begun |= {key: (begun[key][0], late) for key in lasting}
            self.ends[job.name] = {key: end for key, (_, end) in begun.items()}
            self.spent[job.groups["team"]] += sum(e - s for s, e in begun.values())
        self.busy = [
            (end, on[name, *key])
            for name, ends in self.ends.items()
            for key, end in ends.items()
            if end > self.now
        ]
        self.whole = sum(level[t] for level in self.there.values() for t in range(self.now))
        if draw.random() < 0.3:
            pool = draw.choice([*self.there])
            count = max(sum(of == pool for _, of in self.busy), 1, draw.randint(1, 3))
            self.rows.append({"processors": str(count), "pool": pool})
            changes = [t for d in night.down if (d.pool or "") == pool for t in (d.start, d.end)]
            until = int(min((t for t in changes if t > self.now), default=2 * HORIZON))
            self.there[pool][self.now : until] = [count] * (until - self.now)
        self.whole += sum(sum(level[self.now : HORIZON]) for level in self.there.values())

    def state(self) -> pl.DataFrame | None:
        titles = ("job", "status", "start", "processors", "end", "pool")
        rows = [{title: row.get(title, "") for title in titles} for row in self.rows]
        return pl.DataFrame(rows) if rows else None

    def left(self, pool: str, t: int) -> int:
        """How many processors of a pool are there at a time beside what runs already."""
        return max(0, self.there[pool][t] - sum(of == pool and end > t for end, of in self.busy))

    def over(self, name: str) -> bool:
        """Whether a job ends whatever is done."""
        count = sum(map(len, self.night.jobs[self.night.index[name]].stages or ()))
        return len(self.ends.get(name, ())) == count


def best(facts: Facts, was: set[str]) -> tuple[float, int] | None:
    """Return the best reward of the night, and how many jobs of the old plan can be kept with it.

    None where some rule cannot be kept whatever is done.
    """
    night = facts.night
    sure = {job.name for job in night.jobs if facts.over(job.name)}
    free = [job.name for job in night.jobs if job.name not in sure]
    found = []
    for more in chain.from_iterable(combinations(free, k) for k in range(len(free) + 1)):
        chosen = sure | {*more}
        if _allowed(facts, chosen) and _can(facts, frozenset(more)):
            found.append((sum(_earns(facts, n, sure) for n in chosen), len(was & {*more})))
    return max(found) if found else None


def _due(night: Instance, name: str) -> float:
    deadline = night.jobs[night.index[name]].deadline
    return night.deadline if deadline is None else deadline


def _earns(facts: Facts, name: str, sure: set[str]) -> float:
    in_time = name not in sure or max(facts.ends[name].values()) <= _due(facts.night, name)
    return facts.night.jobs[facts.night.index[name]].reward * in_time


def _allowed(facts: Facts, chosen: set[str]) -> bool:
    night = facts.night
    team = {job.name: job.groups["team"] for job in night.jobs}
    for rule in night.constraints:
        if isinstance(rule, Apart) and len(chosen & {*rule.jobs}) > 1:
            return False
        if isinstance(rule, Imply) and rule.if_ in chosen and rule.then not in chosen:
            return False
        if isinstance(rule, AtMost) and sum(team[n] == "x" for n in chosen) > 1:
            return False
        if isinstance(rule, FairShare):
            left = sum(
                length
                for n in chosen
                if team[n] == "x"
                for s, stage in enumerate(night.jobs[night.index[n]].stages or ())
                for i, length in enumerate(stage)
                if (s, i) not in facts.ends.get(n, {})
            )
            if left and left + facts.spent["x"] > Fraction(rule.at_most["x"]) * facts.whole:
                return False
    paid = {n for n in chosen if not facts.over(n) or _earns(facts, n, {n})}
    return all({*night.jobs[night.index[n]].after} <= paid for n in chosen if n not in facts.ends)


def _can(facts: Facts, chosen: frozenset[str]) -> bool:
    """Tell whether what is left of some jobs can be done in time, trying every slot."""
    night = facts.night
    jobs = [night.jobs[night.index[name]] for name in sorted(chosen)]
    seats = next((rule for rule in night.constraints if isinstance(rule, Seats)), None)
    todo = tuple(
        (job.name, s, i)
        for job in jobs
        for s, stage in enumerate(job.stages or ())
        for i, _ in enumerate(stage)
        if (s, i) not in facts.ends.get(job.name, {})
    )
    running = tuple(
        (name, s, end) for name, ends in facts.ends.items() for (s, _), end in ends.items()
    )
    by_name = {job.name: job for job in night.jobs}

    def ready(task: tuple[str, int, int], t: int, left: Any, on: Any) -> bool:
        name, stage, _ = task
        job = by_name[name]
        if t < job.release or any(n == name and s < stage for n, s, _ in left):
            return False
        if any(n == name and s < stage and e > t for n, s, e in on):
            return False
        begun = name in facts.ends
        waits = () if begun else job.after
        return not any(n in waits for n, _, _ in left) and not any(
            n in waits and e > t for n, _, e in on
        )

    def fits(t: int, on: Any) -> bool:
        now = Counter(name for name, _, end in on if end > t)
        if any((most := by_name[n].max_processors) and k > most for n, k in now.items()):
            return False
        return not seats or sum(seats.use.get(n, 0) * k for n, k in now.items()) <= seats.capacity

    def ways(started: Any) -> Any:
        """Yield in which pool each of some tasks may run."""
        return product(*(by_name[n].pools or (*facts.there,) for n, _, _ in started))

    @functools.cache
    def done(t: int, left: tuple[tuple[str, int, int], ...], on: Any, where: Any) -> bool:
        if not left:
            return True
        if any(
            t + max((by_name[n].stages or ())[s]) > _due(night, n)
            for n, s, _ in left
            if len({*(by_name[n].stages or ())[s]}) == 1
        ):
            return False
        if t > HORIZON + 1:
            return False
        able = [task for task in left if ready(task, t, left, on)]
        for k in range(len(able), -1, -1):
            for started in {*combinations(able, k)}:
                ends = tuple((n, s, t + (by_name[n].stages or ())[s][i]) for n, s, i in started)
                if any(end > _due(night, name) for name, _, end in ends):
                    continue
                now = tuple(sorted(one for one in (*on, *ends) if one[2] > t))
                rest = tuple(task for task in left if task not in started)
                if started and not fits(t, now):
                    continue
                for pools in {*ways(started)}:
                    held = (*where, *((end, p) for (_, _, end), p in zip(ends, pools, strict=True)))
                    held = tuple(sorted(one for one in held if one[0] > t))
                    used = Counter((p, u) for end, p in held for u in range(t, int(end)))
                    if all(n <= facts.left(*at) for at, n in used.items()) and done(
                        t + 1, rest, now, held
                    ):
                        return True
        return False

    if any(end > _due(night, name) for name, _, end in running if name in chosen):
        return False
    return done(facts.now, todo, tuple(sorted(one for one in running if one[2] > facts.now)), ())
