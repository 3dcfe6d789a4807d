"""The best that can still be done in a small night, by trying every start.

Written from docs/howto/replan.md and docs/problems/dssp-machine.md alone. It keeps its own account
of what has happened, from the nights and events that it draws itself, and shares nothing with what
it judges. All times are whole numbers, and the machine changes by reports alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, pairwise
from random import Random
from typing import Any

Key = tuple[str, int, int]  # job, stage, task


@dataclass
class World:
    """A night as it really goes: what has begun, what was lost, and the machine at each time."""

    night: dict[str, Any]  # as a file holds it
    runs: dict[Key, tuple[int, int]] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)  # processor time of failed attempts, by job
    cancelled: set[str] = field(default_factory=set)
    there: dict[str, list[int]] = field(default_factory=dict)  # processors at each time, by pool
    pool: dict[Key, str] = field(default_factory=dict)
    now: int = 0

    def __post_init__(self) -> None:
        span = 3 * int(self.night["deadline"]) + 20
        pools = self.night.get("pools") or {"": self.night["processors"]}
        self.there = {name: [count] * span for name, count in pools.items()}

    @property
    def jobs(self) -> dict[str, Any]:
        return {job["name"]: job for job in self.night["jobs"]}

    def due(self, name: str) -> int:
        return int(self.jobs[name].get("deadline", self.night["deadline"]))

    @property
    def delay(self) -> int:
        late = self.night.get("late")
        return int(late[-1][0]) if late else 0

    def paid(self, name: str, end: int) -> Fraction:
        """Return what a job earns by ending at a time."""
        reward, delay = Fraction(self.jobs[name]["reward"]), end - self.due(name)
        if delay <= 0:
            return reward
        late = self.night.get("late") or [[0, 1]]
        for (a, before), (b, after) in pairwise(late):
            if delay <= b:
                part = Fraction(before) + Fraction(after - before) * (delay - a) / (b - a)
                return reward * part
        return Fraction(0)

    def keys(self, name: str) -> list[Key]:
        stages = self.jobs[name]["stages"]
        return [(name, s, i) for s, stage in enumerate(stages) for i in range(len(stage))]

    def length(self, key: Key) -> int:
        return int(self.jobs[key[0]]["stages"][key[1]][key[2]])

    def wide(self, name: str) -> int:
        return int(self.jobs[name].get("processors", 1))

    def over(self, name: str) -> bool:
        """Return whether nothing of a job is left to start."""
        return name not in self.cancelled and all(key in self.runs for key in self.keys(name))

    def end(self, name: str) -> int:
        return max(end for (job, _, _), (_, end) in self.runs.items() if job == name)

    def spent(self, name: str) -> int:
        """Return the processor time that a job has used, or will by the ends of what runs."""
        used = sum(end - start for (job, _, _), (start, end) in self.runs.items() if job == name)
        return self.wide(name) * used + self.lost[name]

    # --- what happens -------------------------------------------------------------------------

    def advance(self, tasks: list[dict[str, Any]], now: int) -> None:
        """Let the tasks of a plan start that were to start before a time."""
        self.now = now
        for task in tasks:
            key = (task["job"], task["stage"], task["task"])
            if key not in self.runs and task["start"] < now:
                self.runs[key] = (int(task["start"]), int(task["end"]))
            if key in self.runs:
                self.pool[key] = self._pool(task["processor"])

    def _pool(self, number: int) -> str:
        """Return the pool of a processor."""
        for pool, level in self.there.items():
            number -= max(*level, self.night.get("pools", {}).get(pool, 0))
            if number < 0:
                break
        return pool

    def running(self, name: str | None = None) -> list[Key]:
        every = [key for key, (_, end) in self.runs.items() if end > self.now]
        return [key for key in every if name in (None, key[0])]

    def fail(self, name: str) -> None:
        for key in self.keys(name):
            if key in self.runs:
                start, end = self.runs.pop(key)
                self.lost[name] += self.wide(name) * max(0, min(end, self.now) - start)

    def cancel(self, name: str) -> None:
        self.cancelled.add(name)
        for key in self.running(name):
            self.runs[key] = (self.runs[key][0], self.now)

    # --- what can still be done ---------------------------------------------------------------

    def held(self, pool: str) -> int:
        return sum(self.wide(key[0]) for key in self.running() if self.pool[key] == pool)

    def possible(self, name: str) -> bool:
        job = self.jobs[name]
        pools = job.get("pools") or [*self.there]
        if name in self.cancelled:
            return False
        return any(max(self.there[pool][self.now :]) >= self.wide(name) for pool in pools)

    def allowed(self, chosen: set[str]) -> bool:
        """Return whether jobs keep all rules."""
        for rule in self.night.get("constraints", ()):
            jobs, kind = rule.get("jobs", ()), rule["kind"]
            if kind == "apart" and len(chosen & {*jobs}) > 1:
                return False
            if kind == "imply" and rule["if"] in chosen and rule["then"] not in chosen:
                return False
            if kind == "fair-share":
                (group, share) = next(iter(rule["at_most"].items()))
                own = [n for n, job in self.jobs.items() if job["groups"]["team"] == group]
                left = sum(
                    self.wide(n) * self.length(key)
                    for n in own
                    if n in chosen
                    for key in self.keys(n)
                    if key not in self.runs
                )
                spent = sum(map(self.spent, own))
                deadline = int(self.night["deadline"])
                whole = sum(sum(level[:deadline]) for level in self.there.values())
                if left and left + spent > Fraction(str(share)) * whole:
                    return False
        started = {key[0] for key in self.runs}
        for name in chosen - started:
            for other in self.jobs[name].get("after", ()):
                if other not in chosen:
                    return False
                if self.over(other) and not self.paid(other, self.end(other)):
                    return False
        return True

    def best(self) -> Fraction | None:
        """Return the most that the night can earn; None where no choice of jobs keeps the rules."""
        sure = {name for name in self.jobs if self.over(name)}
        free = [n for n in self.jobs if n not in sure and self.possible(n)]
        base = sum((self.paid(name, self.end(name)) for name in sure), Fraction(0))
        choices = chain.from_iterable(combinations(free, k) for k in range(len(free) + 1))
        allowed = (more for more in choices if self.allowed(sure | {*more}))
        earned = [_Search(self, more).best() for more in allowed]
        return max((base + one for one in earned if one is not None), default=None)


class _Search:
    """Tries every way to run what is left of some jobs."""

    def __init__(self, world: World, chosen: tuple[str, ...]):
        self.world = world
        self.left = frozenset(k for n in chosen for k in world.keys(n) if k not in world.runs)
        self.last = {n: world.due(n) + world.delay for n in world.jobs}
        self.horizon = max(self.last[n] for n in chosen) if chosen else 0
        self.seats = [r for r in world.night.get("constraints", ()) if r["kind"] == "seats"]
        self.best_from = cache(self._best_from)

    def best(self) -> Fraction | None:
        world = self.world
        busy = frozenset((key, world.pool[key], world.runs[key][1]) for key in world.running())
        return self.best_from(world.now, self.left, busy)

    def _best_from(self, t: int, left: Any, busy: Any) -> Fraction | None:
        """Return the best reward from a time on; None where not all tasks can run."""
        if not left:
            return Fraction(0)
        if t >= self.horizon:
            return None
        busy = frozenset(one for one in busy if one[2] > t)
        best = None
        for more, now, earned in self._starts(t, sorted(left), left, busy):
            later = self.best_from(t + 1, more, now)
            if later is not None and (best is None or earned + later > best):
                best = earned + later
        return best

    def _starts(self, t: int, able: Any, left: Any, busy: Any) -> Any:
        """Yield each way to start some tasks at a time, and what the jobs earn that end with it."""
        yield left, busy, Fraction(0)
        for n, key in enumerate(able):
            if not self._ready(t, key, left, busy):
                continue
            end = t + self.world.length(key)
            job = self.world.jobs[key[0]]
            if end > self.last[key[0]] or not self._fits(t, key, busy):
                continue
            wide = self.world.wide(key[0])
            for pool in job.get("pools") or [*self.world.there]:
                used = sum(self.world.wide(k[0]) for k, own, _ in busy if own == pool)
                if used + wide > self.world.there[pool][t]:
                    continue
                now, rest = busy | {(key, pool, end)}, left - {key}
                earned = Fraction(0)
                if all(k[0] != key[0] for k in rest):
                    last = max(e for k, _, e in now if k[0] == key[0])
                    earned = self.world.paid(key[0], last)
                for more in self._starts(t, able[n + 1 :], rest, now):
                    yield *more[:2], earned + more[2]

    def _ready(self, t: int, key: Key, left: Any, busy: Any) -> bool:
        name, stage, _ = key
        job, world = self.world.jobs[name], self.world
        if t < job.get("release", 0) or any(k[0] == name and k[1] < stage for k in left):
            return False
        if any(k[0] == name and k[1] < stage for k, _, _ in busy):
            return False
        if any(k[0] == name for k in world.runs):
            return True  # what it waited for was there when it began
        waits = job.get("after", ())
        return not any(k[0] in waits for k in left) and not any(k[0] in waits for k, _, _ in busy)

    def _fits(self, t: int, key: Key, busy: Any) -> bool:
        names = [k[0] for k, _, _ in busy] + [key[0]]
        most = self.world.jobs[key[0]].get("max_processors")
        own = sum(self.world.wide(n) for n in names if n == key[0])
        if most is not None and own > max(most, 0):
            return False
        for rule in self.seats:
            held = sum(rule["use"].get(n, 0) for n in names)
            if rule["use"].get(key[0]) and held > rule["capacity"]:
                return False
        return True


# --- nights -----------------------------------------------------------------------------------


def drawn_night(draw: Random, tasks: int = 6) -> dict[str, Any]:
    """Draw a night of few tasks, as a file holds it."""
    horizon = draw.choice((4, 4, 5, 5, 6, 8))
    night: dict[str, Any] = {"problem": "dssp", "name": "small", "deadline": horizon}
    kind = draw.choice(("plain", "plain", "pools"))
    if kind == "pools":
        night["pools"] = {"p": draw.randint(1, 2), "q": 1}
    else:
        night["processors"] = draw.randint(1, 3)
    widest = max(night.get("pools", {"": night.get("processors", 0)}).values())
    if draw.random() < 0.25:
        night["late"] = [[0, 1], [draw.randint(1, 3), 0.5]]
    night["jobs"] = _drawn_jobs(draw, night, horizon, widest, draw.choice((3, 4, 4, 5, tasks)))
    if rules := _drawn_rules(draw, night["jobs"]):
        night["constraints"] = rules
    return night


def _drawn_jobs(
    draw: Random, night: dict[str, Any], horizon: int, widest: int, left: int
) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    while left > 0 and len(jobs) < 4:
        stages = []
        for _ in range(draw.choice((1, 1, 2))):
            count = min(left, draw.choice((1, 1, 2, 3)))
            if count:
                stages.append([draw.choice((1, 1, 2, 3)) for _ in range(count)])
                left -= count
        job: dict[str, Any] = {"name": f"j{len(jobs)}", "reward": draw.randint(1, 9)}
        job |= {"stages": stages, "groups": {"team": draw.choice("xy")}}
        if draw.random() < 0.2:
            job["deadline"] = draw.randint(2, horizon + 1)
        if draw.random() < 0.2:
            job["release"] = draw.randint(1, 3)
        if draw.random() < 0.2 and widest > 1:
            job["processors"] = 2
        if draw.random() < 0.2:
            job["max_processors"] = max(job.get("processors", 1), draw.randint(1, 2))
        if "pools" in night and draw.random() < 0.4 and job.get("processors", 1) == 1:
            job["pools"] = [draw.choice("pq")]
        if jobs and draw.random() < 0.2:
            job["after"] = [draw.choice(jobs)["name"]]
        jobs.append(job)
    return jobs


def _drawn_rules(draw: Random, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = [job["name"] for job in jobs]
    rules: list[dict[str, Any]] = []
    if len(names) > 1 and draw.random() < 0.2:
        rules.append({"kind": "apart", "name": "apart", "jobs": draw.sample(names, 2)})
    if len(names) > 1 and draw.random() < 0.15:
        first, then = draw.sample(names, 2)
        rules.append({"kind": "imply", "name": "imply", "if": first, "then": then})
    if draw.random() < 0.25:
        use = {names[0]: 1, names[-1]: 1}
        rules.append({"kind": "seats", "name": "seats", "capacity": 1, "use": use})
    if any(job["groups"]["team"] == "x" for job in jobs) and draw.random() < 0.3:
        share = draw.choice((0.25, 0.5))
        rules.append({"kind": "fair-share", "name": "cap", "by": "team", "at_most": {"x": share}})
    return rules


def drawn_events(draw: Random, world: World) -> list[dict[str, str]]:
    """Draw what happens by now, let it happen, and return the rows of a state that say so."""
    rows: list[dict[str, str]] = []
    for name in world.jobs:
        begun = any(key[0] == name for key in world.runs)
        running = world.running(name)
        chance = draw.random()
        if not begun or name in world.cancelled:
            if chance < 0.03 and name not in world.cancelled:
                world.cancel(name)
                rows.append({"job": name, "status": "cancelled"})
        elif chance < 0.12:
            world.fail(name)
            rows.append({"job": name, "status": "failed"})
        elif chance < 0.16:
            world.cancel(name)
            rows.append({"job": name, "status": "cancelled"})
        elif running and chance < 0.32:
            end = world.now + draw.randint(1, 3)
            for key in running:
                world.runs[key] = (world.runs[key][0], end)
            rows.append({"job": name, "status": "running", "end": str(end)})
        elif running and world.over(name) and chance < 0.4:
            for key in running:
                world.runs[key] = (world.runs[key][0], world.now)
            rows.append({"job": name, "status": "done", "end": str(world.now)})
    if draw.random() < 0.25:
        rows += _machine_event(draw, world)
    return rows


def _machine_event(draw: Random, world: World) -> list[dict[str, str]]:
    pool = draw.choice([*world.there])
    level, now = world.there[pool], world.now
    busy = world.held(pool)
    if draw.random() < 0.5:
        change = draw.choice((-1, -1, 1))
        count, text = level[now] + change, f"{change:+d}"
        if count < busy:
            return []
    else:
        count = max(busy, draw.randint(0, 3))
        text = str(count)
    level[now:] = [max(0, count)] * (len(level) - now)
    return [{"processors": text, "pool": pool}]
