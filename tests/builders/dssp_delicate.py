"""Selections whose numbers are hard for floating point, and their answers in rational numbers."""

from fractions import Fraction
from random import Random

import msgspec

from benchmarks import agree
from schedopt.instances import constraints as kinds
from schedopt.instances.dssp import Instance


def delicate(seed: int, most: int = 12) -> Instance:
    """Draw a night: near-ties from 1e-12 to 1e-6, spreads to 1e15, rules of all kinds."""
    draw = Random(seed)  # noqa: S311
    night = agree.selection(draw.choice(["none", *agree.RULES]), seed, most)
    jobs = night.jobs
    if draw.random() < 0.1:  # paths next to the deadline
        paths = [night.deadline * (1 + draw.choice((-1, 0, 1)) * 1e-13) for _ in jobs]
        replaced = zip(jobs, paths, strict=True)
        jobs = tuple(msgspec.structs.replace(job, critical_path=path) for job, path in replaced)
    rules = [
        rule
        for rule in night.constraints
        if not isinstance(rule, kinds.Seats)
        and not getattr(rule, "each", None)
        and not getattr(rule, "past", None)
    ]
    return msgspec.structs.replace(night, jobs=jobs, constraints=tuple(rules))


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
        self.deadline = deadline = written(instance.deadline)
        self.groups = instance.groups
        self.place = {job.name: j for j, job in enumerate(instance.jobs)}
        self.capacity = instance.processors * deadline
        self.reward = [written(job.reward) for job in instance.jobs]
        self.demand = [written(job.planned_demand) for job in instance.jobs]
        paths = [written(job.planned_critical_path) for job in instance.jobs]
        self.inside = frozenset(  # what can run: a floor asks for no more of a group than that
            j
            for j, path in enumerate(paths)
            if path <= deadline and self.demand[j] <= self.capacity
        )

    def total(self, jobs: frozenset[int]) -> Fraction:
        return sum((self.demand[j] for j in jobs), Fraction(0))

    def keeps(self, rule: kinds.Constraint, chosen: frozenset[int]) -> bool:
        listed = frozenset(self.place[name] for name in getattr(rule, "jobs", None) or ())
        both = listed & chosen
        match rule:
            case kinds.FairShare():
                kept = self._shares(rule, chosen)
            case kinds.Require():
                kept = both == listed
            case kinds.Forbid():
                kept = not both
            case kinds.Imply():
                kept = self.place[rule.if_] not in chosen or self.place[rule.then] in chosen
            case kinds.Together():
                kept = both in (frozenset(), listed)
            case kinds.Apart():
                kept = len(both) <= 1
            case kinds.AtMost() | kinds.AtLeast():
                members = listed or self.groups[rule.by or ""][rule.group or ""]
                count = len(chosen.intersection(members))
                kept = (
                    count <= rule.count if isinstance(rule, kinds.AtMost) else count >= rule.count
                )
            case kinds.Resource():
                use = [a for name, a in rule.use.items() if self.place[name] in chosen]
                kept = sum(map(written, use), Fraction(0)) <= written(rule.capacity)
            case kinds.Seats():
                held = [
                    rule.use.get(name, 0) * self.demand[j]
                    for name, j in self.place.items()
                    if j in chosen
                ]
                kept = sum(held, Fraction(0)) <= rule.capacity * self.deadline
            case _:
                raise AssertionError(rule)
        return kept

    def _shares(self, rule: kinds.FairShare, chosen: frozenset[int]) -> bool:
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
