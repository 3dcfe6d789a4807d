"""Small seasons, and their optima by trying every plan: a night, or 0, for each job."""

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import msgspec
from msgspec.structs import replace

from builders.dssp_moving import Slots, fitting, some_moving_night
from schedopt.instances import files
from schedopt.instances.constraints import FairShare
from schedopt.instances.dssp import Instance
from schedopt.validation.dssp.constraints import broken
from schedopt.validation.dssp.facts import Facts

TEAMS = ("fx", "light")


def season(draw: random.Random) -> Instance:
    nights = draw.randrange(1, 5)
    jobs = []
    for j in range(draw.randrange(2, 6)):
        first = draw.randrange(1, nights + 1)
        jobs.append(
            {
                "name": f"j{j}",
                "reward": draw.randrange(10),
                "demand": draw.choice((0, 1, 2, 3, 4, 1.5, 7)),
                "critical_path": draw.choice((1, 1, 1, 1, 9)),
                "groups": {"team": draw.choice(TEAMS)} if j > 1 else {"team": TEAMS[j]},
                "first_night": first,
                "last_night": draw.randrange(first, nights + 1),
            }
        )
    rules = [fair(draw, i) for i in range(draw.choice((0, 1, 1, 1, 2)))]
    if draw.random() < 0.4:
        two = draw.sample([job["name"] for job in jobs], 2)
        rules.append(
            draw.choice(
                (
                    {"kind": "require", "jobs": two[:1]},
                    {"kind": "forbid", "jobs": two[:1]},
                    {"kind": "apart", "jobs": two},
                    {"kind": "together", "jobs": two},
                    {"kind": "imply", "if": two[0], "then": two[1]},
                    {"kind": "at-most", "by": "team", "group": "fx", "count": 1},
                    {"kind": "at-least", "jobs": two, "count": 1},
                    {"kind": "resource", "name": "r", "capacity": 2, "use": dict.fromkeys(two, 2)},
                )
            )
        )
    document = {"problem": "dssp", "name": "s", "processors": 1, "deadline": 5, "nights": nights}
    return files.parse(files.encode({**document, "jobs": jobs, "constraints": rules}))


def fair(draw: random.Random, i: int) -> dict[str, Any]:
    rule: dict[str, Any] = {"kind": "fair-share", "name": f"f{i}", "by": "team"}
    rule[draw.choice(("at_most", "at_most", "at_least"))] = {"fx": draw.choice((0.2, 0.4, 0.5))}
    if draw.random() < 0.3:
        rule["each"] = draw.choice(({"at_most": 0.5}, {"at_least": 0.3}))
    rule["of"] = draw.choice(("capacity", "capacity", "selected"))
    if draw.random() < 0.4:
        rule["past"] = {"fx": draw.randrange(4), "light": draw.randrange(4)}
        rule["past_total"] = draw.randrange(4, 12)
    lives = draw.choice((0.5, 1, 2, 3.7))
    return rule | draw.choice(({}, {"window": draw.randrange(1, 6)}, {"half_life": lives}))


def close(left: float, right: float) -> bool:
    return left <= right + 1e-9


def kept(instance: Instance, rule: dict[str, Any], plan: tuple[int, ...]) -> bool:
    """Tell whether a plan, a night or 0 for each job, keeps a fair share; in plain numbers."""
    nights, capacity = instance.nights, 5.0
    life, window = rule.get("half_life"), rule.get("window")
    past, past_total = rule.get("past", {}), rule.get("past_total", 0)
    for n in range(1, nights + 1):
        counts, before = {n: 1.0}, 1.0 if n == 1 else 0.0
        if life:
            counts = {m: 2 ** (-(n - m) / life) for m in range(1, n + 1)}
            before = 2 ** (-n / life)
        elif window and n >= window:
            counts, before = dict.fromkeys(range(n - window + 1, n + 1), 1.0), 0.0
        elif window:
            counts, before = dict.fromkeys(range(1, n + 1), 1.0), 1.0
            if not past and n < nights:
                continue
        used = {team: before * past.get(team, 0) for team in TEAMS}
        base = before * past_total + capacity * sum(counts.values()) * (rule["of"] == "capacity")
        for job, m in zip(instance.jobs, plan, strict=True):
            part = counts.get(m, 0.0) * (job.demand or 0.0)
            used[job.groups["team"]] += part
            base += part * (rule["of"] == "selected")
        waiting = {
            job.groups["team"]
            for job, m in zip(instance.jobs, plan, strict=True)
            if not m
            and job.demand
            and (job.critical_path or 0) <= 5
            and set(counts) & set(range(job.first_night, (job.last_night or nights) + 1))
        }
        if not all(within(rule, team, used[team], base, team in waiting) for team in TEAMS):
            return False
    return True


def within(rule: dict[str, Any], team: str, mine: float, base: float, waiting: bool) -> bool:
    own = {side: rule.get(side, {}).get(team) for side in ("at_most", "at_least")}
    if team not in {*rule.get("at_most", {}), *rule.get("at_least", {})}:
        own |= rule.get("each", {})
    most, least = own["at_most"], own["at_least"]
    if most is not None and not close(mine, most * base):
        return False
    return least is None or not waiting or close(least * base, mine)


def plans(instance: Instance) -> Iterator[tuple[int, ...]]:
    choices = [
        (0, *range(job.first_night, (job.last_night or instance.nights) + 1))
        if (job.critical_path or 0) <= 5
        else (0,)
        for job in instance.jobs
    ]
    for plan in itertools.product(*choices):
        used = [0.0] * (instance.nights + 1)
        for job, n in zip(instance.jobs, plan, strict=True):
            used[n] += job.demand or 0.0
        if max(used[1:]) <= 5:
            yield plan


def best_plan(instance: Instance) -> float | None:
    """Return the optimum by trying every plan; None where none keeps the rules."""
    fairs = [r for r in msgspec.to_builtins(instance.constraints) if r["kind"] == "fair-share"]
    others = [rule for rule in instance.constraints if rule.kind() != "fair-share"]
    facts = Facts(msgspec.structs.replace(instance, constraints=()), 1.0)
    best: float | None = None
    for plan in plans(instance):
        worth = sum(job.reward for job, n in zip(instance.jobs, plan, strict=True) if n)
        if best is not None and worth <= best:
            continue
        nights = [
            frozenset(job.name for job, m in zip(instance.jobs, plan, strict=True) if m == n)
            for n in range(1, instance.nights + 1)
        ]
        asked = {"resource": nights}  # of each night; the others of all together
        together = [frozenset().union(*nights)]
        if any(broken(r, facts, run) for r in others for run in asked.get(r.kind(), together)):
            continue
        if all(kept(instance, {"of": "capacity", **rule}, plan) for rule in fairs):
            best = worth
    return best


# --- on machines that change ---


def some_moving_season(draw: random.Random, keys: tuple[str, ...]) -> Instance:
    """Draw a season of two or three nights, perhaps on machines of their own, with a cap."""
    night = some_moving_night(draw, keys)
    count = draw.randint(2, 3)
    jobs = []
    for job in night.jobs:
        first = draw.randint(1, count)
        span = {"first_night": first, "last_night": draw.randint(first, count)}
        jobs.append(replace(job, groups={"team": draw.choice("xy")}, **span))
    down = tuple(replace(d, night=draw.choice((None, *range(1, count + 1)))) for d in night.down)
    cap: list[FairShare] = []
    if any(job.groups["team"] == "x" for job in jobs):
        window = draw.choice((None, 1, 2))
        cap = [FairShare(by="team", at_most={"x": draw.choice((0.25, 0.5, 0.75))}, window=window)]
    return replace(
        night,
        nights=count,
        jobs=tuple(jobs),
        down=down,
        constraints=tuple(cap[: draw.randint(0, 1)]),
    )


def best_moving_season(season: Instance) -> float:
    """Return the reward of the best season: every choice of a night, or none, for each job."""
    fits: list[set[frozenset[str]]] = []
    rooms: list[int] = []
    demands: dict[str, int] = {}
    for n in range(1, season.nights + 1):
        down = tuple(replace(d, night=None) for d in season.down if d.night in (None, n))
        jobs = tuple(replace(job, first_night=1, last_night=None) for job in season.jobs)
        alone = replace(season, nights=1, jobs=jobs, down=down, constraints=())
        fits.append({frozenset(chosen) for chosen in fitting(alone)})
        slots = Slots(alone)
        last = slots.slot(alone.deadline)
        rooms.append(sum(sum(level[:last]) for level in slots.pools.values()))
        demands = {job.name: slots.demand(job.name) for job in season.jobs}
    choices = [
        (0, *range(job.first_night, (job.last_night or season.nights) + 1)) for job in season.jobs
    ]
    best = 0.0
    for plan in itertools.product(*choices):
        on = list(zip(season.jobs, plan, strict=True))
        nights = [frozenset(j.name for j, m in on if m == n + 1) for n in range(season.nights)]
        worth = sum(job.reward for job, n in on if n)
        if worth > best and all(map(set.__contains__, fits, nights)):
            used = [
                sum(demands[j.name] for j, m in on if m == n + 1 and j.groups["team"] == "x")
                for n in range(season.nights)
            ]
            best = worth if all(_capped(rule, used, rooms) for rule in season.constraints) else best
    return best


def _capped(rule: Any, used: list[int], rooms: list[int]) -> bool:
    window = min(rule.window or 1, len(rooms))
    return all(
        sum(used[n : n + window]) <= Fraction(rule.at_most["x"]) * sum(rooms[n : n + window])
        for n in range(len(rooms) - window + 1)
    )
