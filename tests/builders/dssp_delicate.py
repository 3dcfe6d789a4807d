"""Selections whose numbers are hard for floating point, and their answers in rational numbers."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from builders.dssp import TEAMS
from schedopt.instances.constraints import (
    Apart,
    AtLeast,
    AtMost,
    Constraint,
    FairShare,
    Forbid,
    Imply,
    Require,
    Resource,
    Together,
)
from schedopt.instances.dssp import Instance, Job


def delicate(seed: int, most: int = 12) -> Instance:
    """Draw a night: near-ties from 1e-12 to 1e-6, spreads to 1e15, rules of all kinds."""
    draw = Random(seed)  # noqa: S311
    count = draw.randint(1, most)
    numbers = draw.choice((_near, _spread, _plain))
    rewards = draw.choice((_near, _spread, _plain))(draw, count)
    demands = numbers(draw, count)
    capacity = _capacity(draw, demands)
    late = draw.random() < 0.1
    jobs = tuple(
        Job(
            name=f"j{i}",
            reward=rewards[i],
            demand=demands[i],
            critical_path=_path(draw, capacity) if late else 0.0,
            groups={"team": draw.choice(TEAMS)},
        )
        for i in range(count)
    )
    rules = [_rule(draw, jobs, demands, f"c{i}") for i in range(draw.randint(0, 4))]
    return Instance(
        name="delicate", processors=1, deadline=capacity, jobs=jobs, constraints=tuple(rules)
    )


def _near(draw: Random, count: int) -> list[float]:
    """Draw numbers that differ from each other by next to nothing."""
    base, apart = draw.choice((1.0, 3.0, 1e8, 0.1, 7e5)), 10.0 ** -draw.randint(6, 12)
    return [base * draw.choice((1, 1, 2)) * (1 + apart * draw.randint(0, 9)) for _ in range(count)]


def _spread(draw: Random, count: int) -> list[float]:
    """Draw numbers of up to 15 orders of magnitude."""
    low = draw.randint(-12, 0)
    return [
        float(f"{draw.randint(1, 999)}e{draw.randint(low, low + 15) - 2}") for _ in range(count)
    ]


def _plain(draw: Random, count: int) -> list[float]:
    """Draw ordinary numbers: whole, or of one decimal."""
    unit = draw.choice((1, 10))
    return [draw.randint(0, 50) / unit for _ in range(count)]


def _capacity(draw: Random, demands: list[float]) -> float:
    """Draw a capacity next to what some of the jobs ask for."""
    part = sum(d for d in demands if draw.random() < 0.5) or max(demands) or 1.0
    return part * (1 + draw.choice((0, 0, 1, -1)) * 10.0 ** -draw.randint(6, 13))


def _path(draw: Random, deadline: float) -> float:
    return deadline * (1 + draw.choice((-1, 0, 1)) * 1e-13)


def _rule(draw: Random, jobs: tuple[Job, ...], demands: list[float], name: str) -> Constraint:
    names = [job.name for job in jobs]
    some = tuple(draw.sample(names, min(len(names), draw.randint(1, 3))))
    teams = sorted({job.groups["team"] for job in jobs})
    team, of = draw.choice(teams), draw.choice(("capacity", "selected"))
    share = min(1.0, draw.choice((0.0, 0.25, 1 / 3, 0.5, 0.6, 0.7, 1.0, 5.6e-10, draw.random())))
    amounts = dict(zip(some, _near(draw, len(some)), strict=True))
    kinds: list[Constraint] = [
        FairShare(by="team", at_most={team: share}, of=of, name=name),
        FairShare(by="team", at_least={team: share}, of=of, name=name),
        FairShare(by="team", at_most={team: share}, name=name),
        Require(jobs=some[:1], name=name),
        Forbid(jobs=some, name=name),
        Imply(if_=some[0], then=draw.choice(names), name=name),
        Together(jobs=some, name=name),
        Apart(jobs=some, name=name),
        AtMost(jobs=some, count=draw.randint(0, 3), name=name),
        AtLeast(by="team", group=team, count=draw.randint(0, 2), name=name),
        Resource(name=name, use=amounts, capacity=_capacity(draw, list(amounts.values()))),
    ]
    return draw.choice(kinds)


def written(number: float) -> Fraction:
    """Return the decimal that a number stands for."""
    return Fraction(str(number))


def best_exactly(instance: Instance, names: frozenset[str] | None = None) -> Fraction | None:
    """Return the optimum by trying every subset in rationals; None if none keeps all rules.

    Only the rules of some names are asked for, where they are given. Nothing is shared with the
    checker, nor with what solves.
    """
    night = _Night(instance)
    rules = [r for r in instance.constraints if names is None or r.name in names]
    best: Fraction | None = None
    for mask in range(1 << len(instance.jobs)):
        chosen = frozenset(j for j in range(len(instance.jobs)) if mask >> j & 1)
        if not chosen <= night.inside or night.total(chosen) > night.capacity:
            continue
        worth = sum((night.reward[j] for j in chosen), Fraction(0))
        if (best is None or worth > best) and all(night.keeps(rule, chosen) for rule in rules):
            best = worth
    return best


class _Night:
    """An instance in rationals."""

    def __init__(self, instance: Instance) -> None:
        deadline = written(instance.deadline)
        self.groups = instance.groups
        self.place = {job.name: j for j, job in enumerate(instance.jobs)}
        self.capacity = instance.processors * deadline
        self.reward = [written(job.reward) for job in instance.jobs]
        self.demand = [written(job.demand or 0.0) for job in instance.jobs]
        paths = [written(job.critical_path or 0.0) for job in instance.jobs]
        self.inside = frozenset(j for j, path in enumerate(paths) if path <= deadline)

    def total(self, jobs: frozenset[int]) -> Fraction:
        return sum((self.demand[j] for j in jobs), Fraction(0))

    def keeps(self, rule: Constraint, chosen: frozenset[int]) -> bool:
        listed = frozenset(self.place[name] for name in getattr(rule, "jobs", None) or ())
        both = listed & chosen
        match rule:
            case FairShare():
                kept = self._shares(rule, chosen)
            case Require():
                kept = both == listed
            case Forbid():
                kept = not both
            case Imply():
                kept = self.place[rule.if_] not in chosen or self.place[rule.then] in chosen
            case Together():
                kept = both in (frozenset(), listed)
            case Apart():
                kept = len(both) <= 1
            case AtMost():
                kept = len(both) <= rule.count
            case AtLeast():
                members = self.groups[rule.by or ""][rule.group or ""]
                kept = len(chosen.intersection(members)) >= rule.count
            case Resource():
                use = [a for name, a in rule.use.items() if self.place[name] in chosen]
                kept = sum(map(written, use), Fraction(0)) <= written(rule.capacity)
            case _:
                raise AssertionError(rule)
        return kept

    def _shares(self, rule: FairShare, chosen: frozenset[int]) -> bool:
        base = self.capacity if rule.of == "capacity" else self.total(chosen)
        groups = {name: frozenset(jobs) for name, jobs in self.groups[rule.by].items()}
        got = {name: self.total(chosen & jobs) for name, jobs in groups.items()}
        most = {name: self.total(self.inside & jobs) for name, jobs in groups.items()}
        return all(
            got[name] <= written(share) * base for name, share in rule.at_most.items()
        ) and all(
            got[name] >= min(written(share) * base, most[name])
            for name, share in rule.at_least.items()
        )
